"""Interface of a provider that places calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from voiceagent.transports.telephony.control import RestRequest
from voiceagent.transports.telephony.outbound.policies.progress import Status

CONNECT = "connect"
"""Last part of the path of the webhook that asks for instructions when the call is answered."""
STATUS = "status"
"""Last part of the path of the webhook that reports the status."""
STREAM = "stream"
"""Last part of the path of the webhook that reports about the audio stream alone."""
AGAIN = 3
"""Times that a provider opens a call's stream again after its loss."""


class NotGenuine(Exception):
    """A webhook that the provider did not sign, or signed too long ago. The text is the reason."""


class InvalidReport(Exception):
    """A signed webhook whose content is not as documented; the text names the field."""


@dataclass(frozen=True, slots=True)
class Dial:
    """A call to place. url: base of this call's webhooks (https). stream_url: its audio stream (wss).

    ring_s: maximum time of ringing.
    """

    call_id: str
    to: str
    caller: str
    url: str
    stream_url: str
    ring_s: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """A webhook as received. url: as the provider wrote it. headers: in lower case. now_s: Unix seconds."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    now_s: float


@dataclass(frozen=True, slots=True)
class Report:
    """The content of a webhook. line_call: the provider's id of the call. status: None if it reports
    something else. identity: the same in every replay, however URL and headers are written: made of what the
    signature covers, not of what was received. answered: a call that is over was answered before.
    stream_lost: the audio stream is over, and the call may go on.
    """

    line_call: str
    status: Status | None
    cause: str
    identity: str
    answered: bool = False
    stream_lost: bool = False


class Carrier(Protocol):
    """A provider that places calls."""

    def request(self, dial: Dial) -> RestRequest:
        """Return the request that places a call."""

    def line_call(self, answer: Mapping[str, Any]) -> str:
        """Return the provider's id of the call from the answer to the request, "" if it has none."""

    def hang_up(self, line_call: str) -> RestRequest:
        """Return the request that ends a call, ringing or answered."""

    def read(self, delivery: Delivery) -> Report:
        """Return the report in a webhook. Raise NotGenuine or InvalidReport."""

    def instructions(self, dial: Dial) -> str:
        """Return the XML that connects an answered call to its stream; "" if the request had it already."""

    def reopen(self, dial: Dial, line_call: str) -> RestRequest | str:
        """Return what opens the stream again that the provider reported as lost: a request, or the answer to
        the report. "" if the instructions for the call have it already.
        """
