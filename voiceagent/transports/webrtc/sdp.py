"""Session descriptions (RFC 8866) of WebRTC calls: filters of the offer, additions to the answer."""

from __future__ import annotations

import re
from collections.abc import Callable

from voiceagent.transports.limits import OfferLimits
from voiceagent.transports.webrtc.telephone_events import EventFormat

_HOST = re.compile(r"(a=candidate:\S+ \d+ \S+ \d+ )(\S+) (\d+) typ host")
_BUNDLE = "a=group:BUNDLE"
_FINGERPRINT = "a=fingerprint:"
_SECTION = re.compile(r"^m=", re.MULTILINE)
_MID = re.compile(r"^a=mid:(\S+)", re.MULTILINE)
_KIND = re.compile("(audio|video|application) ")
_OPUS = re.compile(r"^a=rtpmap:(\d+) opus/48000(?:/2)?\r?\n", re.MULTILINE | re.IGNORECASE)


_EVENTS = re.compile(r"^a=rtpmap:(\d{1,3}) telephone-event/(48000|8000)\r?$", re.MULTILINE | re.IGNORECASE)
_AUDIO = re.compile(r"^(m=audio [^\r\n]*)", re.MULTILINE)
_MAX_PAYLOAD_TYPE = 127


class OfferTooLarge(ValueError):
    """An offer exceeds a limit; the text names what is allowed."""


def check_offer(offer: str, limits: OfferLimits) -> None:
    """Refuse an offer that is costly to parse. Raise OfferTooLarge."""
    lines = offer.splitlines()
    for count, what, limit in (
        (len(offer), "bytes", "max_offer_bytes"),
        (len(lines), "lines", "max_offer_lines"),
        (sum(line.startswith("m=") for line in lines), "media sections", "max_offer_sections"),
        (sum(line.startswith("a=candidate:") for line in lines), "candidates", "max_offer_candidates"),
    ):
        if count > (allowed := getattr(limits, limit)):
            raise OfferTooLarge(f"the offer has {count} {what}; allowed: at most {allowed}")


def has_bundle_transport(offer: str) -> bool:
    """Return True if the first section of the bundle (RFC 8843), which carries its transport, exists. aiortc
    would continue without any transport.
    """
    group = _bundled(offer)
    sections = _SECTION.split(offer)[1:]
    brought = [found[1] for section in sections if (found := _MID.search(section)) and _KIND.match(section)]
    return not group or group[0] in brought


def has_fingerprints(offer: str) -> bool:
    """Return True if each section with a transport has a certificate fingerprint (RFC 8122, section 5), in
    the section or for the whole session. A bundle uses its first section's.
    """
    head, *sections = _SECTION.split(offer)
    first = _bundled(offer)[:1]
    bringing = [section for section in sections if not first or _MID.findall(section)[:1] == first]
    return _FINGERPRINT in head or all(_FINGERPRINT in section for section in bringing)


def _bundled(offer: str) -> list[str]:
    """Return the names of the bundled media sections; none without a BUNDLE group."""
    return next((line.split()[1:] for line in offer.splitlines() if line.startswith(_BUNDLE)), [])


def with_callable_candidates(offer: str, may_call: Callable[[str], bool]) -> str:
    """Remove candidates that the server may not send to, and feedback attributes.

    may_call: returns True for an allowed IP address. An offer must not make the server send datagrams to
    arbitrary addresses; a caller without allowed candidates reveals their address by their first packet,
    signed with a key of the call. Names are removed, too: `.local` names (mDNS), with which browsers hide
    addresses, do not resolve across networks or in containers, and each costs a second. So is the
    end-of-candidates mark, because the caller's address is still to come. Feedback (`a=rtcp-fb`) is for
    video, and parsing it takes as many steps as there are codecs.
    """
    lines = offer.splitlines(keepends=True)
    return "".join(line for line in lines if _is_wanted(line.rstrip(), may_call))


def _is_wanted(line: str, may_call: Callable[[str], bool]) -> bool:
    if line == "a=end-of-candidates" or line.startswith("a=rtcp-fb:"):
        return False
    fields = line.split()
    return not (line.startswith("a=candidate:") and len(fields) > 4) or may_call(fields[4])


def with_speech_settings(answer: str, rate_hz: int) -> str:
    """Add Opus parameters for the caller's audio (RFC 7587, section 7): mono, at most `rate_hz`, and in-band
    FEC: a copy of each packet in the next.
    """
    settings = f"minptime=10;useinbandfec=1;stereo=0;maxplaybackrate={rate_hz}"

    def add(found: re.Match[str]) -> str:
        return f"{found[0].rstrip()}\r\na=fmtp:{found[1]} {settings}\r\n"

    return _OPUS.sub(add, answer)


def events_of(offer: str) -> EventFormat | None:
    """Return the telephone events (RFC 4733) in an offer of one voice, at the rate of Opus if it has these:
    Firefox and many gateways offer them at 8 kHz alone. None if there are none.
    """
    voices = [section for section in _SECTION.split(offer)[1:] if section.startswith("audio ")]
    found = _EVENTS.findall(voices[0]) if len(voices) == 1 else []
    offered = [EventFormat(int(kind), int(rate_hz)) for kind, rate_hz in found]
    usable = [one for one in offered if one.payload_type <= _MAX_PAYLOAD_TYPE]
    return max(usable, key=lambda one: one.rate_hz, default=None)


def with_telephone_events(answer: str, events: EventFormat) -> str:
    """Accept telephone events 0 to 15, the keys of a phone, in the answer's audio."""
    kind, rate_hz = events
    answer = _AUDIO.sub(rf"\1 {kind}", answer, count=1)
    lines = f"a=rtpmap:{kind} telephone-event/{rate_hz}\r\na=fmtp:{kind} 0-15\r\n"
    return _OPUS.sub(lambda found: f"{found[0].rstrip()}\r\n{lines}", answer, count=1)


def with_announced_address(answer: str, address: str) -> str:
    """Replace this machine's addresses by `address`: that of a router that forwards our ports."""
    lines, announced = [], set()
    for line in answer.splitlines(keepends=True):
        found = _HOST.match(line)
        if found is None:
            lines.append(line)
        elif found[3] not in announced:  # one address for all, so one candidate a port
            announced.add(found[3])
            lines.append(f"{found[1]}{address}{line[found.end(2) :]}")
    return "".join(lines)
