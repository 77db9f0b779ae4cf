"""Events of tools and of the agent's code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from audio.recognizers import Spelling
from llmcore.engine import LOGGED_IF_SET
from voiceagent.conversation.mcp import ListedTool, McpError
from voiceagent.conversation.settings import AgentTool

ToolOutcome = Literal["done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call ended. output: for the model. reply: the model should report it (agent tools only). error:
    the reason for which a tool of an MCP server gave no result, None if it gave one.
    """

    call_id: str
    outcome: ToolOutcome
    output: str
    reply: bool = True
    error: McpError | None = None


@dataclass(frozen=True, slots=True)
class ToolSlow:
    """A tool call has run so long that a filler is due; a call of the client, so long that the results of the
    agent's tools no longer wait for it.
    """

    call_id: str


@dataclass(frozen=True, slots=True)
class UpdateRequested:
    """A running tool requests this text to be spoken while it runs, at the next moment in which neither side
    speaks and no answer is due. A later one of the same call replaces it.
    """

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class GuidanceRequested:
    """A running tool requests that the response about its result follow this instruction, or an earlier
    response if the tool is slow.
    """

    call_id: str
    guidance: str


ToolEvent = ToolFinished | ToolSlow | UpdateRequested | GuidanceRequested
"""Events of a tool call that runs."""


@dataclass(frozen=True, slots=True)
class McpListed:
    """The result of `ListMcpTools`. failure: the reason if it failed, else ""."""

    item_id: str
    tools: tuple[ListedTool, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class AgentChanged:
    """The call was handed to another agent, or it changed its tools or instructions. None keeps a value."""

    agent: str
    tools: tuple[AgentTool, ...]
    instructions: str | None = None
    voice: str | None = None


@dataclass(frozen=True, slots=True)
class SpeechRequested:
    """The agent's code requests this text to be spoken once neither side speaks. interruptible: the caller
    can interrupt it. result_of: the tool call whose result it is, "" for other speech. answers: phrases that
    answer it even over its last words, where they would otherwise be backchannels; () if it asks nothing.
    """

    text: str
    interruptible: bool = True
    result_of: str = ""
    answers: tuple[str, ...] = field(default=(), metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class ReplyRequested:
    """The agent's code requests a response once neither side speaks. guidance: instruction for the model,
    appended to this prompt only. words_only: it calls no tools. is_report: the answer to a turn of the
    caller, or another report that waits, serves for it too (`Reports`). fallback: text of a report to speak
    as it is if the model has no words for it.
    """

    guidance: str
    words_only: bool = field(default=False, metadata=LOGGED_IF_SET)
    is_report: bool = field(default=False, metadata=LOGGED_IF_SET)
    fallback: str = field(default="", metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class TurnsClaimed:
    """The agent's code claims the caller's turns, which are then not answered, or (claimed False) releases
    them. private: their words are for the agent's code alone: not for history, LLM, client, log or recording.
    max_silence_s: silence after which their turns end at the latest; None leaves it to what they say.
    """

    claimed: bool
    private: bool = False
    max_silence_s: float | None = field(default=None, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class HangUpRequested:
    """The agent's code ends the call once pending speech has been played."""

    reason: str


@dataclass(frozen=True, slots=True)
class DictationBegan:
    """The agent's code expects dictation: a number, name or address in groups with pauses.

    digits: possible lengths of the number; empty if it is no number or the length is unknown.
    """

    digits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SpellingExpected:
    """The agent's code expects letters or an e-mail address, until it expects "" or releases the turns."""

    expected: Spelling


@dataclass(frozen=True, slots=True)
class LanguageSet:
    """The agent's code sets the language of the call, by its ISO 639 code; "" follows the caller again."""

    language: str


@dataclass(frozen=True, slots=True)
class HookFailed:
    """A hook of the agent's code raised or timed out. For the call's log only.

    name: of the hook. place: file, line and function. reason: the exception, or the time it took.
    """

    name: str
    place: str
    reason: str


AgentEvent = (
    ToolEvent
    | McpListed
    | AgentChanged
    | SpeechRequested
    | ReplyRequested
    | TurnsClaimed
    | HangUpRequested
    | DictationBegan
    | SpellingExpected
    | LanguageSet
    | HookFailed
)
