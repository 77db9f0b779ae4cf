"""Interface between sessions and transports: `Call` is implemented by sessions, `Client` by transports."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Protocol
from uuid import uuid4

from audio.pcm import Samples
from voiceagent.conversation.causes import CallEndCode
from voiceagent.conversation.events import AgentEvent, ClientRequest
from voiceagent.conversation.history import Item
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.notifications import Notification
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.agent import Line, OfferedTool, Pressed


class InputOverflow(Exception):
    """Audio is further ahead of real time than the buffer allows; none of this piece was taken."""

    def __init__(self, ahead_s: float, limit_s: float) -> None:
        super().__init__(f"sound is {ahead_s:.1f} s ahead of real time; at most {limit_s:.1f} s are buffered")
        self.ahead_s = ahead_s
        self.limit_s = limit_s


class CallRefused(Exception):
    """The call is refused; the message says why.

    status: HTTP status of the answer. retry_after_s: time after which to retry, if known.
    """

    def __init__(self, message: str, status: int = 503, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the HTTP answer (Retry-After: RFC 9110, 10.2.3)."""
        return {} if self.retry_after_s is None else {"retry-after": str(math.ceil(self.retry_after_s))}


class ControlledCall(Protocol):
    """Operations of a call for connections without its audio. Only `ended` and `close` wait."""

    @property
    def settings(self) -> CallSettings:
        """The settings now in force."""

    @property
    def items(self) -> Sequence[Item]:
        """The conversation so far."""

    def begin(self, greet: bool = True) -> None:
        """Start the call. The client is notified from now on. greet: speak the greeting, if there is one."""

    def hear(self, samples: Samples, filler: bool = False) -> None:
        """Push the caller's next audio, int16 mono at the rate of the input format. filler: audio for a gap
        that the line reported; silence may have filled it in part already, and filler is exempt from the
        input rate limit. Raises InputOverflow.
        """

    def handle(self, request: ClientRequest) -> None:
        """Handle a client's request."""

    def mcp_refusal(self, server: McpServer) -> str | None:
        """Return the reason why the client may not name this MCP server; None if it may."""

    async def ended(self) -> str:
        """Wait until the call has ended. Return the reason for hanging up, "" if the connection broke off."""

    async def close(self, reason: str, end_code: CallEndCode = "") -> None:
        """Hang up: stop all work of the call. A second call does nothing. end_code: the reason, for programs;
        that of a call that ended itself comes first.
        """


class Call(ControlledCall, Protocol):
    """Operations of a session for a transport. Only `ended`, `close` and `stopped` wait."""

    @property
    def private(self) -> bool:
        """True while the caller's input is for the agent's code alone: no copy of it may be sent."""

    @property
    def background_sounds(self) -> Sequence[str]:
        """Names of the background sounds that play now."""

    def join_trace(self, traceparent: str) -> None:
        """Make the call part of its caller's trace. Call before `begin`.

        traceparent: header of the caller's request; "" if there is none.
        """

    def identify(self, parameters: Mapping[str, str], line: Line | None = None, line_call: str = "") -> None:
        """Set the call's metadata, its line's capabilities, the provider's call id. Call before `begin`."""

    def use_line(self, line: Line | None) -> None:
        """Set the capabilities of a line without metadata. Call before `begin`."""

    def press(self, digit: str, received_at: int) -> Pressed:
        """Handle a key that the caller pressed, at Unix seconds. Return how it was handled."""

    def offer(self, tools: Sequence[OfferedTool]) -> None:
        """Offer the agent tools of this call's line, in addition to its own."""

    def post(self, event: AgentEvent) -> None:
        """Post an event of the agent's code."""

    def played(self, response_id: str, played_s: float, all_along: bool = False) -> None:
        """Record how many seconds of the response the client has played. all_along: the client reports
        continuously, so that unreported audio was not played.
        """

    def pause_output(self, paused: bool) -> None:
        """Send none of the agent's audio, or go on with it: the client is not connected."""

    async def stopped(self) -> None:
        """Wait until the call is closed, and all its work has stopped except `tools_at_work`."""

    @property
    def tools_at_work(self) -> Set[asyncio.Task[None]]:
        """Tasks of the agent's tools that have not ended; some outlive the call."""


class Notified(Protocol):
    """Receiver of a call's notifications. Methods must not wait."""

    def notify(self, notification: Notification) -> None:
        """Send a notification to the client."""


class Client(Notified, Protocol):
    """Operations of a transport for the session. Methods must not wait: the transport queues what it
    cannot send at once.

    A client that does not read fills the transport's bounded queue; the transport then ends the call.

    A client whose protocol has no audio outside of responses says so by an attribute `only_speech`, which is
    True: it gets no background sounds (see `plays_sounds`).
    """

    def play(self, response_id: str, frame: Samples) -> None:
        """Send 20 ms of the agent's audio, int16 mono at the rate of the call's output format. response_id:
        "" for audio outside of responses.
        """

    def clear(self) -> None:
        """Drop the agent's audio that the client has received but not played, if the protocol supports it."""

    def report(self, turn: TurnReport) -> None:
        """Report the stages of a turn, if the client asked for them."""


def plays_sounds(client: Client) -> bool:
    """Return True if a client plays audio outside of responses."""
    return not getattr(client, "only_speech", False)


OpenCall = Callable[[str, Client, str], Call]
"""Opens a call by its id; the last argument is the requested model, or "". Raises CallRefused."""


def new_id(prefix: str) -> str:
    """Return a new id of a call, conversation, response or item."""
    return f"{prefix}_{uuid4().hex[:20]}"


def conversation_id(call_id: str) -> str:
    """Return the id of a call's conversation, the same on all its connections."""
    return f"conv_{call_id.partition('_')[2]}"


class Ids:
    """Source of a call's ids. created: those since the start of the current event."""

    def __init__(self) -> None:
        self.created: list[str] = []

    def new(self, prefix: str) -> str:
        """Return a new id."""
        created = new_id(prefix)
        self.created.append(created)
        return created
