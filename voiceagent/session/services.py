"""What all calls of a server share, by concern: what hears, what speaks, what answers, what measures.

The composition root (`voiceagent.server.startup`) makes each part from tables of the configuration; below it
nobody sees the whole configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from audio.detection.front_end import FrontEnd
from audio.detection.smart_turn import SmartTurn
from audio.echo import EchoCanceller
from audio.endpoint import EndpointConfig
from audio.recognizers import Recognizer
from audio.synthesizers import Speech, Synthesizer
from llmcore.engine import Llm
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.conversation.config import HistoryConfig
from voiceagent.conversation.fragments import Fragment
from voiceagent.conversation.latency import LatencyBudget
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.mcp.pool import McpPool
from voiceagent.session.config import DeadlinesConfig, EchoConfig
from voiceagent.session.context import ContextSources
from voiceagent.session.timers import Pacer
from voiceagent.telemetry.metrics import Metrics
from voiceagent.text_normalization import normalize


@dataclass(frozen=True, slots=True)
class SetPhrase:
    """Words whose sound was made at start: saying them needs no engine."""

    fragment: Fragment
    sound: tuple[Speech, ...]


@dataclass(frozen=True, slots=True)
class Hearing:
    """What hears the callers.

    endpoint: what counts as speech and as a pause. turn_model: None where there is none.
    input_buffer_s: how far ahead of real time a client may send the caller's sound.
    """

    front_end: FrontEnd
    recognizer: Recognizer
    turn_model: SmartTurn | None
    endpoint: EndpointConfig
    echo: EchoConfig
    input_buffer_s: float

    def new_echo_canceller(self) -> EchoCanceller | None:
        """What cleans one caller's sound, if the configuration wants it. Raises EchoError."""
        echo = self.echo
        return EchoCanceller(echo.cancel, echo.suppress_noise) if echo.cancel or echo.suppress_noise else None


@dataclass(frozen=True, slots=True)
class Speaking:
    """Services and phrases for the agent's speech.

    language: decides where text is cut into fragments. lead_s: sound is sent this far ahead of real time.
    pacer: wakes tasks with sound to send.
    greeting: "" if the caller speaks first. apology: phrase after a failure.
    refusal: phrase after a filter refused the answer; None for the apology.
    filler: phrase if there is no sound `filler_after_s` after the turn's end, if any.
    """

    synthesizer: Synthesizer
    language: str
    lead_s: float
    pacer: Pacer
    greeting: str
    apology: SetPhrase
    filler: SetPhrase | None
    filler_after_s: float
    refusal: SetPhrase | None = None


@dataclass(frozen=True, slots=True)
class Answering:
    """What finds the answers.

    policy: how turns are taken. preemptive_tokens: what a response may cost before its turn is over.
    history: how old turns are summarised. context: what is asked about each turn, None where nothing is.
    """

    llm: Llm
    policy: TurnPolicy
    preemptive_tokens: int
    history: HistoryConfig
    context: ContextSources | None = None


@dataclass(frozen=True, slots=True)
class Measuring:
    """What measures the turns. clock: monotonic seconds, the one clock of all stamps."""

    metrics: Metrics
    budget: LatencyBudget
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a session is made with.

    settings: what a call begins with. shedder: what is given up while there is too much to do. deadlines: how
    long a stage may take. mcp: what reaches MCP servers, None where nothing does.
    """

    hearing: Hearing
    speaking: Speaking
    answering: Answering
    measuring: Measuring
    settings: CallSettings
    shedder: LoadShedder
    deadlines: DeadlinesConfig = DeadlinesConfig()  # noqa: RUF009  it is immutable
    mcp: McpPool | None = None


async def make_phrase(text: str, language: str, synthesizer: Synthesizer) -> SetPhrase:
    """Have `text` spoken once, to be said at any time. Raises SynthesizerError."""
    text = f" {text} "  # it may stand before and behind other words of a response
    spoken, alignment = normalize(text, language)
    sound = []
    async with aclosing(synthesizer.speak(spoken)) as speeches:
        async for speech in speeches:
            sound.append(speech)
    return SetPhrase(Fragment(text, spoken, alignment), tuple(sound))
