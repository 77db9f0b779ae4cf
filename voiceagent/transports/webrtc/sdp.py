"""Session descriptions (RFC 8866) of a WebRTC call: what is taken out of the offer, and put into the
answer. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from voiceagent.transports.limits import OfferLimits

_HOST = re.compile(r"(a=candidate:\S+ \d+ \S+ \d+ )(\S+) (\d+) typ host")
_BUNDLE = "a=group:BUNDLE"
_FINGERPRINT = "a=fingerprint:"
_SECTION = re.compile(r"^m=", re.MULTILINE)
_MID = re.compile(r"^a=mid:(\S+)", re.MULTILINE)
_KIND = re.compile("(audio|video|application) ")
_OPUS = re.compile(r"^a=rtpmap:(\d+) opus/48000(?:/2)?\r?\n", re.MULTILINE | re.IGNORECASE)


class TooMuch(ValueError):
    """An offer is more than it may be; the text names the limit."""


def check_offer(offer: str, limits: OfferLimits) -> None:
    """Refuse an offer that would be costly to read. Raises TooMuch."""
    lines = offer.splitlines()
    for count, what, limit in (
        (len(offer), "bytes", "max_offer_bytes"),
        (len(lines), "lines", "max_offer_lines"),
        (sum(line.startswith("m=") for line in lines), "media sections", "max_offer_sections"),
        (sum(line.startswith("a=candidate:") for line in lines), "candidates", "max_offer_candidates"),
    ):
        if count > (allowed := getattr(limits, limit)):
            raise TooMuch(f"the offer has {count} {what}; allowed: at most {allowed} (limits.{limit})")


def has_its_bundle(offer: str) -> bool:
    """Whether the sections that share a transport (RFC 8843) name one that is there to bring it: the first
    of the group. aiortc would go on without any.
    """
    group = _bundled(offer)
    sections = _SECTION.split(offer)[1:]
    brought = [found[1] for section in sections if (found := _MID.search(section)) and _KIND.match(section)]
    return not group or group[0] in brought


def has_its_fingerprint(offer: str) -> bool:
    """Whether the sections that bring a transport say by which certificate it is known (RFC 8122, section 5),
    themselves or for all: those of a bundle go by its first.
    """
    head, *sections = _SECTION.split(offer)
    first = _bundled(offer)[:1]
    bringing = [section for section in sections if not first or _MID.findall(section)[:1] == first]
    return _FINGERPRINT in head or all(_FINGERPRINT in section for section in bringing)


def _bundled(offer: str) -> list[str]:
    """The media sections that share a transport, by their names; none where the offer has no such group."""
    return next((line.split()[1:] for line in offer.splitlines() if line.startswith(_BUNDLE)), [])


def with_callable_candidates(offer: str, may_call: Callable[[str], bool]) -> str:
    """The offer without the candidates that are not to be called, and without what feedback it wants.

    may_call: of an IP address. A call is not to send datagrams wherever its offer points; a caller who is
    reached nowhere else shows his address by his first packet, signed with a key of the call. Nor are names
    called: those in `.local` (mDNS), behind which browsers hide, are not resolved across a network or in a
    container, and each costs a second of trying. The mark of the last candidate goes, too, for that is to
    come. Feedback (`a=rtcp-fb`) is for video, and is read in as many steps as there are codecs.
    """
    lines = offer.splitlines(keepends=True)
    return "".join(line for line in lines if _is_wanted(line.rstrip(), may_call))


def _is_wanted(line: str, may_call: Callable[[str], bool]) -> bool:
    if line == "a=end-of-candidates" or line.startswith("a=rtcp-fb:"):
        return False
    fields = line.split()
    return not (line.startswith("a=candidate:") and len(fields) > 4) or may_call(fields[4])


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
