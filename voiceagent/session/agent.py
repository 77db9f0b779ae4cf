"""Interface between a session and the agent's code: tools that the session runs, and notifications.

`voiceagent.agents` implements `AgentCode` for a user's class; telephony providers offer tools of their
own.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal, Protocol

from voiceagent.conversation.commands import ResponseConcluded, TurnConcluded
from voiceagent.conversation.events import AgentEvent
from voiceagent.conversation.history import Item
from voiceagent.conversation.mcp import McpError
from voiceagent.conversation.settings import AgentTool

current_call_id: ContextVar[str] = ContextVar("current_call_id")
"""Id of the tool call in whose task, or thread, the code runs."""


class ToolFailed(Exception):
    """A tool failed; the message is for the model.

    error: the same for clients, if it is a tool of an MCP server.
    """

    def __init__(self, reason: str, error: McpError | None = None) -> None:
        super().__init__(reason)
        self.error = error


TransferFailure = Literal["busy", "declined", "no_answer", "voicemail", "failed"]
"""Reason that no colleague was connected. declined: hung up while briefed. voicemail: a machine answered."""


class TransferFailed(ToolFailed):
    """A warm transfer failed, and the caller is still there. reason: why, for the agent's code."""

    def __init__(self, reason: TransferFailure, message: str) -> None:
        super().__init__(message)
        self.reason: TransferFailure = reason


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a tool. output: for the model. reply: the model should report it."""

    output: str
    reply: bool = True


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool and the function that runs it, with the arguments as the model wrote them. `run` may raise
    ToolFailed.

    counted_as: its name in metrics if others chose its own name; "" for its own. server: label of its MCP
    server; "" for none.
    """

    tool: AgentTool
    run: Callable[[str], Awaitable[ToolResult]]
    counted_as: str = ""
    server: str = ""


class Pressed(Enum):
    """Handling of a key. IGNORED_TERMINATOR: the key ended an entry that was already complete."""

    UNASKED = auto()
    TAKEN = auto()
    IGNORED_TERMINATOR = auto()


AnsweredBy = Literal["person", "voicemail", "screener", "menu", "fax"]
"""Kind of answer to an outbound call. screener: asks for name and reason. menu: asks for keys or words."""


GREETING_SILENCE_S = 0.6
"""Silence that ends a turn while it is not known who answered. Nothing is answered yet, so that more words
after it only add to the greeting. What people say makes other turns wait longer ("give me a minute").
"""


class Answer(Protocol):
    """The answer to an outbound call, while its first words and tones are heard."""

    @property
    def wanted(self) -> bool:
        """True once `start` was called."""

    def start(self) -> None:
        """Begin to listen, at the start of the call."""

    async def kind(self) -> AnsweredBy | None:
        """Wait for the decision. None if the call ends before."""

    async def beep(self) -> None:
        """Wait for the voicemail's beep, for silence after its greeting, or for the end of the call."""


@dataclass(frozen=True, slots=True)
class OutboundDetails:
    """An outbound call: the number called, the number shown there, and the reason for calling.

    line_call: the provider's id of the call, "" if unknown. answer: decides who answered; None if the
    line does not. briefing: the call is to a colleague, who is briefed and connected to a caller: hooks of
    the agent do not run.
    """

    to: str
    caller: str
    reason: str
    line_call: str = ""
    answer: Answer | None = None
    briefing: bool = False


_KEYS = re.compile(r"(?=.*[0-9*#A-D])[0-9*#A-Dw]{1,64}")


def check_keys(digits: object) -> None:
    """Raise ToolFailed unless these are keys of a phone, with "w" for pauses."""
    if not isinstance(digits, str) or _KEYS.fullmatch(digits) is None:
        allowed = "1 to 64 of 0-9, *, #, A-D, and w for a pause"
        raise ToolFailed(f"digits are {str(digits)[:80]!r}; allowed: {allowed}")


class Line(Protocol):
    """Capabilities of a call's line other than audio."""

    @property
    def outbound(self) -> OutboundDetails | None:
        """The outbound call; None if the person at the other end called."""

    async def transfer(self, destination: str = "", number: str = "", brief: str = "") -> None:
        """Connect the caller to one of `telephony.transfers`, or to a number, and leave the call. brief: text
        spoken to the colleague first; "" connects at once.

        Raises ToolFailed, with a message for the model; TransferFailed if the colleague was not connected.
        """

    async def send_digits(self, digits: str) -> None:
        """Send keys: 0 to 9, *, #, A to D, and "w" for a pause of half a second. Return when they have
        sounded. Raises ToolFailed, with a message for the model.
        """


class AgentSession(Protocol):
    """Operations of a session for the agent's code."""

    @property
    def line(self) -> Line | None:
        """Capabilities of the line, None if it has none."""

    @property
    def language(self) -> str:
        """ISO 639 code of the spoken language."""

    @property
    def languages(self) -> Sequence[str]:
        """The languages of calls, the configured one first; () for that one alone."""

    @property
    def quiet(self) -> bool:
        """True if neither side speaks."""

    @property
    def takes_turns(self) -> bool:
        """False if another server hears the call and decides about turns."""

    @property
    def items(self) -> Sequence[Item]:
        """The conversation so far."""

    def post(self, event: AgentEvent) -> None:
        """Post an event of the agent's code."""

    def start_sound(self, name: str, volume: float) -> int:
        """Play a background sound; see `Background.start`."""

    def stop_sound(self, number: int) -> None:
        """Stop a sound."""

    def take_over(
        self, agent: str, tools: Sequence[OfferedTool], instructions: str, voice: str | None = None
    ) -> None:
        """Give the call to this agent, by its name, with these tools."""


class AgentCode(Protocol):
    """The agent's code in one call. Methods must neither wait nor raise, except `find_context`."""

    @property
    def greeting(self) -> str:
        """The agent's first words, "" for none."""

    @property
    def waits_for_answer(self) -> bool:
        """True if the agent distinguishes who answers an outbound call, before it speaks."""

    @property
    def typing_sound(self) -> str:
        """Sound while a tool runs, "" for none; see `audio.clips.check_sound`."""

    def join(self, call: AgentSession) -> None:
        """Bind this agent to a call and take it over."""

    def identify(self, parameters: Mapping[str, str]) -> None:
        """Set the call's metadata, such as the caller's number. Called before `begin`."""

    def begin(self) -> None:
        """Handle the start of the call: the client is connected."""

    def pressed(self, digit: str) -> Pressed:
        """Handle a key of the caller. The model does not see keys that the agent's code takes."""

    async def find_context(self, words: str) -> str | Sequence[str]:
        """Return texts that may help to answer these words of the caller, who may still be speaking."""
        ...

    def on_concluded(self, command: TurnConcluded | ResponseConcluded) -> None:
        """Handle a turn of the caller, or the end of a response."""

    def tool_ended(self, name: str, failure: str) -> None:
        """Handle the end of a tool. failure: the reason if it failed, else ""."""

    def end(self) -> None:
        """Handle the end of the call."""
