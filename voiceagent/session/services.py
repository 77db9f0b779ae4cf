"""Services that all calls of a server share.

The composition root (`voiceagent.server.startup`) builds each from tables of the configuration; no module
below it sees the whole configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from audio.detection.front_end import FrontEnd
from audio.detection.smart_turn import SmartTurn
from audio.endpoint import EndpointConfig
from audio.recognizers import Recognizer
from audio.synthesizers import Synthesizer
from audio.synthesizers.voices import USUAL_SETTINGS, VoiceSettings
from llmcore.engine import Llm
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.conversation.config import HistoryConfig
from voiceagent.conversation.latency import LatencyBudget
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.mcp.pool import McpPool
from voiceagent.session.config import EchoConfig
from voiceagent.session.context import ContextSources
from voiceagent.session.deadlines import StageLimits
from voiceagent.session.set_phrases import SetPhrase, VoicedPhrases
from voiceagent.session.text_languages import TextLanguages
from voiceagent.session.timers import Pacer
from voiceagent.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Hearing:
    """Services for the caller's audio.

    endpoint: settings of speech and pauses. turn_model: None without one. input_buffer_s: maximum lead of
    a client's audio over real time. second_opinions: the recognizer decodes utterances that are over once
    more, with a better model.
    """

    front_end: FrontEnd
    recognizer: Recognizer
    turn_model: SmartTurn | None
    endpoint: EndpointConfig
    echo: EchoConfig
    input_buffer_s: float
    second_opinions: bool = False


@dataclass(frozen=True, slots=True)
class Speaking:
    """Services and phrases for the agent's speech.

    language: of the fragmenter. lead_s: time ahead of real time at which audio is sent. pacer: wakes tasks
    with audio to send. greeting: "" if the caller speaks first. apology: phrase after a failure. refusal:
    phrase after a filter refused the answer; None for the apology. filler: phrase if there is no audio
    `filler_after_s` after the turn's end, if any. backchannels: said in turn while the caller pauses. voice:
    settings of the usual voice in this language. others: services in each further language of calls, by ISO
    639 code. voiced: these phrases in the voices of calls.
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
    backchannels: tuple[SetPhrase, ...] = ()
    voice: VoiceSettings = USUAL_SETTINGS
    others: Mapping[str, Speaking] = field(default_factory=dict)
    voiced: VoicedPhrases = field(init=False)

    def __post_init__(self) -> None:
        """Collect the phrases for `voiced`."""
        single = (self.apology, self.filler, self.refusal)
        phrases = [*self.backchannels, *(phrase for phrase in single if phrase is not None)]
        object.__setattr__(self, "voiced", VoicedPhrases(self.synthesizer, phrases, self.voice))

    def in_language(self, code: str) -> Speaking:
        """Return the services in a language; these for any but the further ones."""
        return self.others.get(code, self)


@dataclass(frozen=True, slots=True)
class Answering:
    """Services for responses.

    policy: rules of turn-taking. preemptive_tokens: maximum tokens of a response before its turn is over.
    history: handling of old turns. context: sources of context, None without any.
    """

    llm: Llm
    policy: TurnPolicy
    preemptive_tokens: int
    history: HistoryConfig
    context: ContextSources | None = None


@dataclass(frozen=True, slots=True)
class Measuring:
    """Metrics and clock. clock: monotonic seconds, the one clock of all stamps."""

    metrics: Metrics
    budget: LatencyBudget
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Services:
    """The dependencies of a session.

    settings: of a new call. shedder: shedding of optional work under load. limits: longest waits. mcp:
    connections to MCP servers, None without any. text_languages: None if calls serve one language.
    """

    hearing: Hearing
    speaking: Speaking
    answering: Answering
    measuring: Measuring
    settings: CallSettings
    shedder: LoadShedder
    limits: StageLimits = StageLimits()  # noqa: RUF009  it is immutable
    mcp: McpPool | None = None
    text_languages: TextLanguages | None = None
