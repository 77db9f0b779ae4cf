"""The near end of a call, as a transport sees it; the far end is `voiceagent.session.client`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from audio.pcm import Samples
from voiceagent.conversation.events import ClientRequest
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.client import Client


class InputOverflow(Exception):
    """Sound came faster than real time by more than the buffer holds; none of this piece was taken."""

    def __init__(self, ahead_s: float, limit_s: float) -> None:
        super().__init__(f"sound is {ahead_s:.1f} s ahead of real time; at most {limit_s:.1f} s are buffered")
        self.ahead_s = ahead_s
        self.limit_s = limit_s


class CallRefused(Exception):
    """No call is taken now; the text says why.

    status: HTTP status that answers the attempt. retry_after_s: when another one makes sense, where that is
    known.
    """

    def __init__(self, message: str, status: int = 503, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s

    @property
    def headers(self) -> dict[str, str]:
        """Those of the HTTP answer (Retry-After: RFC 9110, 10.2.3)."""
        return {} if self.retry_after_s is None else {"retry-after": str(math.ceil(self.retry_after_s))}


class Call(Protocol):
    """What a transport asks of a session. Only `ended` and `close` wait."""

    @property
    def settings(self) -> CallSettings:
        """The settings now in force."""

    def begin(self) -> None:
        """The client is there, and may be told things from now on."""

    def hear(self, samples: Samples) -> None:
        """Take the caller's next sound, int16 mono at the rate of the input format. Raises InputOverflow."""

    def handle(self, request: ClientRequest) -> None:
        """Take a request of the client."""

    def played(self, response_id: str, heard_s: float) -> None:
        """The client has played so many seconds of the response's sound by now, where it tells."""

    async def ended(self) -> None:
        """Wait until the call has ended by itself."""

    async def close(self, reason: str) -> None:
        """Hang up: all work of the call stops. A second call does nothing."""


OpenCall = Callable[[str, Client, str], Call]
"""Opens a call by its id; the model is the name that the client asked for, or "". Raises CallRefused."""
