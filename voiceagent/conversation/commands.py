"""Outputs of `Conversation.handle`: the commands that the session executes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from audio.pcm import Samples
from audio.recognizers import Spelling
from audio.synthesizers import Speech
from llmcore.engine import LOGGED_IF_SET, Generation, Message, Tool, ToolCall
from voiceagent.conversation.causes import CallEndCode, InterruptedBy
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.notifications import Notification
from voiceagent.conversation.settings import CallSettings, Modality

ReviewOutcome = Literal["agreed", "added", "corrected", "unreadable", "failed", "dropped"]
"""Outcome of a review of an answer by the back LLM.

unreadable: the reply was no verdict. failed: there was none in time. dropped: the caller or the client cut
the answer, or the conversation continued. After these three the answer stands.
"""


@dataclass(frozen=True, slots=True)
class StartRecognition:
    """Recognize the turn that began at `at_s`, prefix padding included.

    not_before_s: end of the previous item's audio; the padding must not reach before it. continues: the item
    of the turn that it resumes, "" for none: if that turn's recognition is still open it goes on, so that
    both are decoded as a whole.
    """

    item_id: str
    at_s: float
    not_before_s: float = 0.0
    continues: str = field(default="", metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class RecognizeItem:
    """Recognize the audio of an item that the client created, [n] at 16 kHz."""

    item_id: str
    sound: Samples = field(compare=False)


@dataclass(frozen=True, slots=True)
class FlushRecognition:
    """Request a settled hypothesis of all audio so far. number: one is expected. spelling: see `Flush`."""

    item_id: str
    number: bool = False
    spelling: Spelling = field(default="", metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class Prefill:
    """Prefill the LLM with a prompt whose last message is incomplete, so that less is left to read later."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Summarise:
    """Summarise old turns; `HistorySummarised` returns the text, unless a response is requested first.

    prompt: the conversation's prompt up to the last of these turns. said: the turns. earlier: the summary of
    the turns before them. tokens: size of the turns in a prompt.
    """

    prompt: tuple[Message, ...]
    tools: tuple[Tool, ...]
    said: tuple[Message, ...]
    earlier: str
    tokens: int


@dataclass(frozen=True, slots=True)
class JudgeTurn:
    """Ask the turn model, if any, for the probability that the turn is complete; `TurnJudged` returns it."""

    item_id: str


@dataclass(frozen=True, slots=True)
class AskTurnEnd:
    """Score with the LLM whether its newest message ends after these words; `TurnEndScored` returns the
    score, if the engine supports it. messages: the prompt up to these words, without trailing punctuation.
    """

    item_id: str
    words: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True)
class RequireSilence:
    """Set the silence that ends the turn during the pause in progress.

    more_s: extension of that silence while the answer has no audio yet; `TurnDue` marks its beginning.
    """

    item_id: str
    decision: EndOfTurn
    more_s: float = 0.0

    @property
    def silence_s(self) -> float:
        """The whole silence, in seconds."""
        return self.decision.silence_s + self.more_s


@dataclass(frozen=True, slots=True)
class StopRecognition:
    """Close the turn's recognition stream.

    resumable_as: the item whose turn a voice may still resume, "" for none: then the stream stays open for
    `StartRecognition.continues`, up to this position of the audio.
    """

    item_id: str
    resumable_as: str = field(default="", metadata=LOGGED_IF_SET)
    resumable_until_s: float = field(default=0.0, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class StartResponse:
    """Generate and synthesise a response.

    request: the LLM request. turn_id: the caller's item that it answers, None if a client requested it.
    preemptive: the turn is not over yet; synthesise the first fragment and hold the rest. say: fixed text to
    speak without the LLM. own_prompt: the prompt does not continue the conversation's. replacements, edits:
    how often old turns of the conversation's prompt were replaced, and how often the client changed existing
    items. out_of_band: the conversation's response neither waits for it nor ends it.
    voice: name of its voice, None for the call's.
    """

    response_id: str
    request: Generation
    modality: Modality
    turn_id: str | None = None
    preemptive: bool = False
    say: str = ""
    own_prompt: bool = False
    replacements: int = 0
    edits: int = 0
    out_of_band: bool = False
    voice: str | None = None


@dataclass(frozen=True, slots=True)
class HoldCalls:
    """Post `CallsDue` after `seconds`: until then the active response makes no calls with effects, because
    the caller may go on.
    """

    response_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class HurryResponse:
    """Raise the priority of a preemptive response in the LLM's queues: the turn only waits for it."""

    response_id: str


@dataclass(frozen=True, slots=True)
class ReleaseResponse:
    """Make the preemptive response the active one; stop holding its output."""

    response_id: str


@dataclass(frozen=True, slots=True)
class CancelResponse:
    """Stop all work on a response."""

    response_id: str


@dataclass(frozen=True, slots=True)
class ReviewResponse:
    """Have the back LLM review a response; `ResponseReviewed` follows, unless it is cancelled.

    said: its whole text. request: that of the response, without tools; not logged, as `StartResponse` has it.
    """

    response_id: str
    said: str
    request: Generation = field(default=Generation(()), compare=False, metadata={"logged": False})


@dataclass(frozen=True, slots=True)
class CancelReview:
    """Stop the review of a response."""

    response_id: str


@dataclass(frozen=True, slots=True)
class ReviewConcluded:
    """Count and log the outcome of a review."""

    response_id: str
    outcome: ReviewOutcome


@dataclass(frozen=True, slots=True)
class Play:
    """Queue audio of a response for the caller."""

    response_id: str
    speech: Speech


@dataclass(frozen=True, slots=True)
class PlayClip:
    """Queue a client's audio for the caller, [n] at `CLIP_HZ`."""

    response_id: str
    sound: Samples = field(compare=False)


@dataclass(frozen=True, slots=True)
class PlayBackchannel:
    """Play a prepared backchannel, outside of any response. number: of the call, from 1. not_before_s:
    position in the caller's audio at which it begins; 0 for at once.
    """

    number: int
    not_before_s: float = field(default=0.0, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class StopBackchannel:
    """Drop the backchannel that waits, or the part of it that was not sent."""


@dataclass(frozen=True, slots=True)
class FinishPlayout:
    """Mark the response's audio as complete. `PlayoutSent` and `PlayoutPlayed` follow."""

    response_id: str


@dataclass(frozen=True, slots=True)
class StopPlayout:
    """Drop all audio of the response that was not played; `PlayoutStopped` follows."""

    response_id: str
    interrupted_by: InterruptedBy = field(default="", metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class DuckPlayout:
    """Lower the agent's volume: the caller may be interrupting."""


@dataclass(frozen=True, slots=True)
class HoldPlayout:
    """Pause the playout at its position."""


@dataclass(frozen=True, slots=True)
class RestorePlayout:
    """Resume the playout at full volume: the caller did not interrupt."""


@dataclass(frozen=True, slots=True)
class Apologise:
    """Play the prepared apology as a fragment and audio of this response, then end the response. refused:
    play the phrase for refused answers instead.
    """

    response_id: str
    refused: bool = field(default=False, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class Fill:
    """Play the prepared filler as a fragment and audio of this response, which continues afterwards."""

    response_id: str


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run a tool; `ToolFinished` always follows.

    mcp: the MCP server that offers it under `mcp_name`; None for a tool of the agent.
    """

    call: ToolCall
    mcp: McpServer | None = None
    mcp_name: str = ""


@dataclass(frozen=True, slots=True)
class ListMcpTools:
    """List the tools of a server; `McpListed` always follows."""

    item_id: str
    server: McpServer


@dataclass(frozen=True, slots=True)
class CancelTool:
    """Cancel a tool call, if it is still running. by_model: the model called the tool that cancels it."""

    call_id: str
    by_model: bool = field(default=False, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class AwaitClientResult:
    """Report a call of the client's tool as `ToolSlow` after the time at which one of the agent's is slow."""

    call_id: str


@dataclass(frozen=True, slots=True)
class TurnConcluded:
    """Notify the agent's code of a caller's turn that will be answered."""

    text: str


@dataclass(frozen=True, slots=True)
class ResponseConcluded:
    """Notify the agent's code of the end of a response. text: what was played. interrupted: it was cut."""

    text: str
    interrupted: bool


@dataclass(frozen=True, slots=True)
class HangUp:
    """End the call on the agent's request, or after the goodbye to a silent caller."""

    reason: str
    end_code: CallEndCode = "agent_hung_up"


@dataclass(frozen=True, slots=True)
class ClearInput:
    """Drop the caller's buffered audio and restart endpointing."""


@dataclass(frozen=True, slots=True)
class RestartDetection:
    """Restart endpointing: the voice in progress was an echo. A caller who speaks too is detected again."""


@dataclass(frozen=True, slots=True)
class PauseListening:
    """Withhold the caller's voice until its speech probability reaches the threshold; then `CallerWoke`."""

    speech_threshold: float


@dataclass(frozen=True, slots=True)
class ResumeListening:
    """End `PauseListening`."""


@dataclass(frozen=True, slots=True)
class ConfigureListening:
    """Apply these settings to the input; keep the audio received so far."""

    settings: CallSettings


@dataclass(frozen=True, slots=True)
class ConfigureSpeaking:
    """Apply these settings to the output, from the next response on."""

    settings: CallSettings


ListenerCommand = (
    StartRecognition
    | RecognizeItem
    | FlushRecognition
    | JudgeTurn
    | RequireSilence
    | StopRecognition
    | ClearInput
    | RestartDetection
    | PauseListening
    | ResumeListening
    | ConfigureListening
)
"""Commands about the caller's audio."""

SpeakerCommand = (
    Play
    | PlayClip
    | PlayBackchannel
    | StopBackchannel
    | FinishPlayout
    | DuckPlayout
    | HoldPlayout
    | RestorePlayout
)
"""Commands for the playout, except its end."""

LlmCommand = (
    Prefill
    | AskTurnEnd
    | Summarise
    | StartResponse
    | HoldCalls
    | HurryResponse
    | ReleaseResponse
    | CancelResponse
    | ReviewResponse
    | CancelReview
)
"""Commands for the LLM."""

AgentCommand = RunTool | CancelTool | AwaitClientResult | ListMcpTools | TurnConcluded | ResponseConcluded
"""Commands for tools and the agent's code."""

Command = (
    Notification
    | ListenerCommand
    | LlmCommand
    | SpeakerCommand
    | StopPlayout
    | ConfigureSpeaking
    | Apologise
    | Fill
    | AgentCommand
    | ReviewConcluded
    | HangUp
)
