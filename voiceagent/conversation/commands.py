"""What can be asked for: the commands that come out of `Conversation.handle` and that the session carries
out.
"""

from __future__ import annotations

from dataclasses import dataclass

from audio.synthesizers import Speech
from llmcore.engine import Message, Tool
from voiceagent.conversation.notices import Notice
from voiceagent.conversation.settings import Modality


@dataclass(frozen=True, slots=True)
class StartRecognition:
    """Recognize the turn that began at `at_s`, from a little before it."""

    item_id: str
    at_s: float


@dataclass(frozen=True, slots=True)
class FlushRecognition:
    """Ask the recognizer for a settled hypothesis of what it has heard."""

    item_id: str


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """Have the LLM read a prompt whose last message is not finished, so that less is left to read when it
    is.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Summarise:
    """Have old turns summarised; `HistorySummarised` answers, unless a reply is asked for before that.

    prompt: the conversation's prompt up to the last of these turns. said: the turns. earlier: the summary of
    those before them. tokens: what is to be replaced takes.
    """

    prompt: tuple[Message, ...]
    tools: tuple[Tool, ...]
    said: tuple[Message, ...]
    earlier: str
    tokens: int


@dataclass(frozen=True, slots=True)
class JudgeTurn:
    """Ask the turn model, if there is one, whether the turn is complete; `TurnJudged` answers."""

    item_id: str


@dataclass(frozen=True, slots=True)
class JudgePitch:
    """Hear whether the pitch falls where the pause at `paused_at_s` begins; `PitchJudged` answers."""

    item_id: str
    paused_at_s: float


@dataclass(frozen=True, slots=True)
class RequireSilence:
    """Let the pause in progress end the turn after so much silence."""

    seconds: float


@dataclass(frozen=True, slots=True)
class StopRecognition:
    """The turn needs no more recognition: close its stream."""

    item_id: str


@dataclass(frozen=True, slots=True)
class ReplyPlan:
    """What a reply is to be made from. `say`: these very words, without asking the LLM.

    own_prompt: the prompt is this reply's alone, and no part of the conversation's. replacements: how often
    old turns were replaced in the conversation's. due_s: when the LLM's first token is due; whoever carries
    the plan out knows.
    """

    reply_id: str
    messages: tuple[Message, ...]
    modality: Modality
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    max_tokens: int = 200
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    say: str = ""
    own_prompt: bool = False
    replacements: int = 0
    due_s: float | None = None


@dataclass(frozen=True, slots=True)
class StartReply:
    """Generate and synthesise a reply. `turn_id` is the caller's item it answers, None where a client asked.

    provisional: the turn is not over yet; make the first fragment's sound and hold.
    """

    plan: ReplyPlan
    turn_id: str | None = None
    provisional: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseReply:
    """The provisional reply became the reply: nothing holds it any more."""

    reply_id: str


@dataclass(frozen=True, slots=True)
class CancelReply:
    """Stop all work on a reply."""

    reply_id: str


@dataclass(frozen=True, slots=True)
class Play:
    """Queue sound of a reply for the caller."""

    reply_id: str
    speech: Speech


@dataclass(frozen=True, slots=True)
class FinishPlayout:
    """No more sound of this reply will come: report `PlayoutSent` and `PlayoutHeard`."""

    reply_id: str


@dataclass(frozen=True, slots=True)
class StopPlayout:
    """Drop all unheard sound of the reply, answer with `PlayoutStopped`."""

    reply_id: str


@dataclass(frozen=True, slots=True)
class DuckPlayout:
    """Lower the agent's voice: the caller may be interrupting."""


@dataclass(frozen=True, slots=True)
class HoldPlayout:
    """Let the agent's voice stop where it is, ready to go on."""


@dataclass(frozen=True, slots=True)
class RestorePlayout:
    """The caller did not interrupt: bring the agent's voice back."""


@dataclass(frozen=True, slots=True)
class Apologise:
    """Say the apology that was synthesised at start: as fragment and sound of this reply, then its end."""

    reply_id: str


@dataclass(frozen=True, slots=True)
class Fill:
    """Say the filler that was synthesised at start: as a fragment and sound of this reply, which goes on."""

    reply_id: str


@dataclass(frozen=True, slots=True)
class HangUp:
    """The agent ends the call."""

    reason: str


@dataclass(frozen=True, slots=True)
class ClearInput:
    """Drop the caller's sound that is buffered, and start listening afresh."""


ListenerCommand = (
    StartRecognition
    | FlushRecognition
    | JudgeTurn
    | JudgePitch
    | RequireSilence
    | StopRecognition
    | ClearInput
)

Command = (
    Notice
    | ListenerCommand
    | ReadAhead
    | Summarise
    | StartReply
    | ReleaseReply
    | CancelReply
    | Play
    | FinishPlayout
    | StopPlayout
    | DuckPlayout
    | HoldPlayout
    | RestorePlayout
    | Apologise
    | Fill
    | HangUp
)
