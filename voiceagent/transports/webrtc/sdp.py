"""Session descriptions (RFC 8866) of a WebRTC call: what is taken out of the offer, and put into the
answer. Pure.
"""

from __future__ import annotations

import re

_HOST = re.compile(r"(a=candidate:\S+ \d+ \S+ \d+ )(\S+) (\d+) typ host")
_OPUS = re.compile(r"^a=rtpmap:(\d+) opus/48000(?:/2)?\r?\n", re.MULTILINE | re.IGNORECASE)


def without_hidden_candidates(offer: str) -> str:
    """The offer without the candidates that browsers hide behind a name in `.local` (mDNS).

    Across a network, and in a container, such a name is not resolved, and each costs a second of trying.
    The browser's address is learned from its first packet instead. The mark of the last candidate goes,
    too, for that is to come.
    """
    lines = offer.splitlines(keepends=True)
    return "".join(line for line in lines if not _is_hidden(line.rstrip()))


def _is_hidden(line: str) -> bool:
    if line == "a=end-of-candidates":
        return True
    fields = line.split()
    return line.startswith("a=candidate:") and len(fields) > 4 and fields[4].lower().endswith(".local")


def with_speech_settings(answer: str, rate_hz: int) -> str:
    """The answer with what Opus is to send us (RFC 7587, section 7): one channel, no more than `rate_hz`,
    and a copy of each packet in the next, for what is lost.
    """
    settings = f"minptime=10;useinbandfec=1;stereo=0;maxplaybackrate={rate_hz}"

    def add(found: re.Match[str]) -> str:
        return f"{found[0].rstrip()}\r\na=fmtp:{found[1]} {settings}\r\n"

    return _OPUS.sub(add, answer)


def with_announced_address(answer: str, address: str) -> str:
    """The answer with `address` in place of this machine's own: that of a router which hands our ports on
    to us.
    """
    lines, announced = [], set()
    for line in answer.splitlines(keepends=True):
        found = _HOST.match(line)
        if found is None:
            lines.append(line)
        elif found[3] not in announced:  # one address for all, so one candidate a port
            announced.add(found[3])
            lines.append(f"{found[1]}{address}{line[found.end(2) :]}")
    return "".join(lines)
