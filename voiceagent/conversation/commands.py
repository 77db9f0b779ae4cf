"""What can be asked for: the commands that come out of `Conversation.handle` and that the session carries
out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from audio.pcm import Samples
from audio.synthesizers import Speech
from llmcore.engine import LOGGED_IF_SET, Generation, Message, Tool, ToolCall
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.notifications import Notification
from voiceagent.conversation.settings import CallSettings, Modality


@dataclass(frozen=True, slots=True)
class StartRecognition:
    """Recognize the turn that began at `at_s`, prefix padding included.

    not_before_s: end of the previous item's sound; the padding must not reach before it.
    """

    item_id: str
    at_s: float
    not_before_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RecognizeItem:
    """Recognize the sound of an item that the client created, [n] at 16 kHz, and settle its transcript."""

    item_id: str
    sound: Samples = field(compare=False)


@dataclass(frozen=True, slots=True)
class FlushRecognition:
    """Ask the recognizer for a settled hypothesis of what it has received. number: a number is expected."""

    item_id: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Prefill:
    """Have the LLM read a prompt whose last message is not finished, so that less is left to read when it
    is.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Summarise:
    """Have old turns summarised; `HistorySummarised` answers, unless a response is asked for before that.

    prompt: the conversation's prompt up to the last of these turns. said: the turns. earlier: the summary of
    those before them. tokens: how many the turns take in a prompt.
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
class AskTurnEnd:
    """Ask the LLM whether its newest message ends after these words of the turn; `TurnEndTold` answers, where
    its engine can tell. messages: the prompt up to them, without the marks at their end.
    """

    item_id: str
    words: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True)
class RequireSilence:
    """Let the pause in progress end the turn after the silence that was decided.

    more_s: how long it goes on after that, as its answer is still being made; `TurnDue` comes in between.
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
    """The turn needs no more recognition: close its stream."""

    item_id: str


@dataclass(frozen=True, slots=True)
class StartResponse:
    """Generate and synthesise a response.

    request: what the LLM is to generate; whoever asks it knows for whom, and by when. turn_id: the caller's
    item that it answers, None where a client asked. preemptive: the turn is not over yet; make the first
    fragment's sound and hold. say: these very words, without asking the LLM. own_prompt: the prompt is this
    response's alone, and does not continue the conversation's. replacements, edits: how often old turns of
    the conversation's prompt were replaced, and how often the client has changed what stood there. beside: it
    is out of band: the conversation's own response neither waits for it nor ends it.
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
    beside: bool = False


@dataclass(frozen=True, slots=True)
class HurryResponse:
    """The turn only waits for its preemptive response: let that go before others in the LLM's queues."""

    response_id: str


@dataclass(frozen=True, slots=True)
class ReleaseResponse:
    """The preemptive response became the response: nothing holds it any more."""

    response_id: str


@dataclass(frozen=True, slots=True)
class CancelResponse:
    """Stop all work on a response."""

    response_id: str


@dataclass(frozen=True, slots=True)
class Play:
    """Queue sound of a response for the caller."""

    response_id: str
    speech: Speech


@dataclass(frozen=True, slots=True)
class FinishPlayout:
    """No more sound of this response will come: report `PlayoutSent` and `PlayoutPlayed`."""

    response_id: str


@dataclass(frozen=True, slots=True)
class StopPlayout:
    """Drop all sound of the response that was not played; `PlayoutStopped` answers."""

    response_id: str


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
    """Play the prepared apology as fragment and sound of this response, then end the response. refused: play
    the phrase for an answer that a filter refused instead.
    """

    response_id: str
    refused: bool = field(default=False, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class Fill:
    """Say the filler that was synthesised at start: as a fragment and sound of this response, which goes
    on."""

    response_id: str


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run a tool; `ToolFinished` answers, whatever becomes of it.

    mcp: the server that has it, under the name `mcp_name`; None for a tool of the agent.
    """

    call: ToolCall
    mcp: McpServer | None = None
    mcp_name: str = ""


@dataclass(frozen=True, slots=True)
class ListMcpTools:
    """Ask a server for its tools; `McpListed` answers, whatever becomes of it."""

    item_id: str
    server: McpServer


@dataclass(frozen=True, slots=True)
class CancelTool:
    """Nobody waits for this tool any more: stop it, if it has not ended already."""

    call_id: str


@dataclass(frozen=True, slots=True)
class TurnConcluded:
    """For the agent's code: the caller has said this, and will be answered."""

    text: str


@dataclass(frozen=True, slots=True)
class ResponseConcluded:
    """For the agent's code: a response is over. text: what was played of it. interrupted: it was cut."""

    text: str
    interrupted: bool


@dataclass(frozen=True, slots=True)
class HangUp:
    """The agent ends the call."""

    reason: str


@dataclass(frozen=True, slots=True)
class ClearInput:
    """Drop the caller's sound that is buffered, and start listening afresh."""


@dataclass(frozen=True, slots=True)
class ConfigureListening:
    """Listen by these settings from now on; the sound received so far stays."""

    settings: CallSettings


@dataclass(frozen=True, slots=True)
class ConfigureSpeaking:
    """Play by these settings from the next response on."""

    settings: CallSettings


ListenerCommand = (
    StartRecognition
    | RecognizeItem
    | FlushRecognition
    | JudgeTurn
    | RequireSilence
    | StopRecognition
    | ClearInput
    | ConfigureListening
)
"""What is to be done with the caller's sound."""

LlmCommand = (
    Prefill | AskTurnEnd | Summarise | StartResponse | HurryResponse | ReleaseResponse | CancelResponse
)
"""What the LLM has to do for the call."""

AgentCommand = RunTool | CancelTool | ListMcpTools | TurnConcluded | ResponseConcluded
"""What goes to tools and the agent's code."""

Command = (
    Notification
    | ListenerCommand
    | LlmCommand
    | Play
    | FinishPlayout
    | StopPlayout
    | DuckPlayout
    | HoldPlayout
    | RestorePlayout
    | ConfigureSpeaking
    | Apologise
    | Fill
    | AgentCommand
    | HangUp
)
