"""The tables of the configuration about what is said, by whom and when, and how long a turn may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from audio.endpoint import EndpointConfig
from llmcore.compression.history_budget import HistoryBudget
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.llm_end import LlmEnd
from voiceagent.conversation.history import HistoryLimits
from voiceagent.conversation.latency import STAGES, UNBUDGETED_STAGES, LatencyBudget
from voiceagent.conversation.set_phrases import ENGLISH, SET_PHRASES, SetPhrases
from voiceagent.conversation.settings import Eagerness, TurnDetection
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.words import BACKCHANNELS, MISHEARD_BACKCHANNELS, STOP_WORDS, words_of
from voiceagent.validation.section import Duration, Seconds, Section

Milliseconds = Annotated[float, Field(gt=0)]


def _said(phrase: Callable[[SetPhrases], Any]) -> Callable[[Mapping[str, Any]], Any]:
    """The default of a phrase, which depends on the language."""
    return lambda given: phrase(SET_PHRASES.get(given.get("language", ""), ENGLISH))


class AgentConfig(Section):
    """`[agent]`: who the agent is. A client may set its own instructions a call."""

    instructions: str = ""
    """The system prompt."""
    instructions_from: str | None = None
    """Where the system prompt is read from instead: a text file (`./prompt.md`), or `package.module:name` of
    a text or of a function that gives one."""
    python: str | None = None
    """An agent in code instead, `module:Class`: its instructions, greeting, voice, tools and hooks. Modules
    beside the configuration are found too."""
    others: dict[str, str] = Field(default_factory=dict)
    """More agents in code, by name: a client gives it as `model`, a phone line as the end of its URL's path,
    or as `agent` in the query or among the call's parameters. All other calls are this table's."""
    chosen_by: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Which of these takes a phone call, by what is known of it: a parameter's name (the called number's, a
    SIP header's), and for its values the agent's name."""
    about: str = ""
    """What the page tells whoever opens it: who answers, and what to ask; "" for nothing of that."""
    greeting: str = ""
    """What the agent says first; "" waits for the caller."""
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}$")
    """ISO 639 code of the language that is spoken: how sentences are split and numbers read, what is
    said where no model writes it, and what engines are to hear and speak."""
    apology: str = Field(default_factory=_said(attrgetter("apology")))
    """What the caller hears when a stage fails in mid-turn. The default of this and the other set phrases is
    the language's, if there is one (`SET_PHRASES`)."""
    refusal: str = Field(default_factory=_said(attrgetter("refusal")))
    """Phrase for the caller if a filter or moderation of the LLM server refused the answer."""
    filler: str = Field(default_factory=_said(attrgetter("filler")))
    """What the caller hears when the answer takes long."""
    filler_after_s: float = Field(default=1.5, gt=0)
    """How long after the turn's end the caller hears it; with `filler = ""` he never does."""
    idle_prompts: tuple[str, ...] = Field(default_factory=_said(attrgetter("idle_prompts")))
    """What a silent caller is asked, one after the other, at each `turn.idle_timeout_s`."""
    goodbye: str = Field(default_factory=_said(attrgetter("goodbye")))
    """What a caller who stays silent hears before the agent hangs up."""
    max_output_tokens: int = Field(default=200, ge=1)
    """Cap on one response, unless the client sets its own."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=(), max_length=4)
    """Texts that end a spoken response where the model writes them, such as the blank line before a list. At
    most four: hosted APIs take no more."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """Sampling temperature, unless the client sets its own; 0 is greedy."""
    max_tool_rounds: int = Field(default=8, ge=1)
    """Maximum number of responses with tool calls within one answer. The next response may call none; if it
    has no words either, the caller hears the apology.
    """

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.instructions and self.instructions_from is not None:
            raise PydanticCustomError("two_prompts", "set instructions or instructions_from, not both")
        if self.python is not None and (self.instructions or self.instructions_from or self.greeting):
            message = "with python, instructions and greeting are the class's: leave them out here"
            raise PydanticCustomError("two_agents", message)
        return self


class HistoryConfig(Section):
    """`[history]`: what becomes of old turns and of long tool outputs in prompts."""

    max_tokens: int = Field(default=2000, ge=0)
    """Tokens that the conversation may take in a prompt, beside system prompt and tools; beyond that the
    oldest turns are replaced by a summary. 0 for no limit: the engine drops turns where its context ends."""
    kept_tokens: int = Field(default=600, ge=0)
    """Tokens of the newest turns, which then stay word for word."""
    summary_tokens: int = Field(default=200, ge=20)
    """Longest summary."""
    summaries: Literal["model", "extract"] = "model"
    """Who makes summaries: "model" is the LLM, when nobody waits for it; "extract" takes the sentences with
    names, numbers and dates, for models that cannot summarise."""
    attempts: int = Field(default=2, ge=1)
    """Summaries of the model in a row that may come to nothing (invented facts, no time), before the
    sentences are taken instead."""
    tool_output_tokens: int = Field(default=600, ge=0)
    """Longest output of a tool; a longer one is cut to what the caller's last turn is about. 0: no limit."""

    @model_validator(mode="after")
    def _room_is_made(self) -> Self:
        if self.max_tokens and self.kept_tokens + self.summary_tokens >= self.max_tokens:
            raise PydanticCustomError(
                "no_room",
                "max_tokens is {most}; allowed: more than kept_tokens and summary_tokens together, {other}",
                {"most": self.max_tokens, "other": self.kept_tokens + self.summary_tokens},
            )
        return self

    def to_budget(self) -> HistoryBudget:
        """The same for the conversation."""
        return HistoryBudget(self.max_tokens, self.kept_tokens, self.tool_output_tokens)


class ConversationLimits(Section):
    """What a client may put into a conversation; what is said in the call itself is not held to it."""

    max_items: int = Field(default=2_000, ge=1)
    """Items of a conversation beyond which a client may create none."""
    max_item_characters: int = Field(default=100_000, ge=1)
    """Longest item that a client creates."""
    max_conversation_characters: int = Field(default=500_000, ge=1)
    """Characters of all items beyond which a client may create none."""
    max_images: int = Field(default=16, ge=0)
    """Maximum number of pictures in a conversation. Clients cannot add more."""

    def to_history_limits(self) -> HistoryLimits:
        """The same for the conversation."""
        return HistoryLimits(
            self.max_items, self.max_item_characters, self.max_conversation_characters, self.max_images
        )


_USUAL_LIMITS = ConversationLimits()


class LlmEndConfig(Section):
    """`[turn.llm_end]`: the LLM's word on the end of a turn. `voiceagent calibrate` finds the numbers."""

    model: str
    """The model of `[llm]` that they were found for: another means something else by its probabilities."""
    scale: float = Field(gt=0)
    """Factor on its log odds."""
    offset: float
    """Added to its log odds, in nats."""
    weight: float = Field(default=1.0, gt=0, le=1)
    """How much the result counts beside the other witnesses, which know part of it."""

    def to_llm_end(self) -> LlmEnd:
        """The same for the conversation."""
        return LlmEnd(self.scale, self.offset, self.weight)


class TurnConfig(Section):
    """`[turn]`: how turns are taken; a client may set threshold, padding, silence and time-out itself."""

    threshold: float = Field(default=0.5, gt=0, lt=1)
    """Speech probability from which a chunk of sound is voiced."""
    prefix_padding_s: Seconds = 0.3
    """Sound before the first voiced sample that the recognizer hears too."""
    min_speech_s: Duration = 0.064
    """Voiced time from which it is speech: shorter is a click."""
    pause_s: Duration = 0.032
    """Silence that is a pause: the recognizer is asked for its best guess, and a preemptive response
    begins."""
    detection: Literal["server_vad", "semantic_vad"] = "semantic_vad"
    """"server_vad" ends a turn after `silence_s`; "semantic_vad" weighs silence, words and the turn model."""
    eagerness: Eagerness = "auto"
    """How soon "semantic_vad" takes a turn for complete: "low", "medium", "high" or "auto" (medium)."""
    silence_s: Duration = 0.2
    """Silence that ends a turn with "server_vad", counted from where the voice model ends speech."""
    interruption_candidate_s: Duration = 0.096
    """Voiced time over the agent's speech that silences it, ready to go on."""
    interruption_confirmed_s: Duration = 0.9
    """Voiced time over the agent's speech that interrupts it for good, whatever is said."""
    min_interruption_words: int = Field(default=2, ge=1)
    """Words over the agent's speech, beside backchannels, that interrupt it; one, where it is "stop" or the
    like. Fewer are answered when the agent has finished."""
    resume_s: Seconds = 1.5
    """A caller who speaks again within such a time of a turn's end had not finished: the response is taken
    back, and the turn is answered as a whole; 0 takes it for an interruption."""
    distant_voice_db: float = Field(default=12.0, ge=0)
    """A voice over the agent's that is so many decibels lower than this caller's turns so far, and stays so
    when the agent is silent for it, comes from across the room, and does not interrupt; 0 where all callers
    of a telephone may."""
    backchannels: tuple[str, ...] | None = None
    """What a listener says without wanting the turn ("uh huh"); left out, a list for the language."""
    idle_timeout_s: float | None = Field(default=None, gt=0)
    """Silence of the caller after which the agent asks again; left out, it never does."""
    preemptive_attempts: int = Field(default=5, ge=0)
    """Responses that may be begun at pauses, before the turn is surely over; 0 waits for its end."""
    preemptive_tokens: int = Field(default=24, ge=1)
    """Tokens that such a response may cost before the turn is over."""
    prefill_while_speaking: bool = True
    """Let the LLM read the history and the words that are certain while the caller still speaks."""
    llm_end: LlmEndConfig | None = None
    """How the LLM's word on the end of a turn is taken in "semantic_vad"; left out, it is not asked."""
    model: str = ""
    """Smart Turn, which hears whether a turn is complete: "installed" finds the one in the pipecat-ai wheel,
    anything else is the path to its ONNX file; "" for none. Moonshine hears as much without it."""

    @model_validator(mode="after")
    def _pause_before_end(self) -> Self:
        if self.pause_s > self.silence_s:
            raise PydanticCustomError(
                "pause_after_end",
                "pause_s is {pause}; allowed: at most silence_s, {silence}",
                {"pause": self.pause_s, "silence": self.silence_s},
            )
        return self

    def to_detection(self) -> TurnDetection:
        """What a call begins with: a client may change it."""
        return TurnDetection(
            kind=self.detection,
            eagerness=self.eagerness,
            threshold=self.threshold,
            prefix_padding_s=self.prefix_padding_s,
            silence_s=self.silence_s,
            idle_timeout_s=self.idle_timeout_s,
        )

    def to_endpointing(self) -> EndpointConfig:
        """What counts as speech and as a pause; the rest of it a client may change, see `to_detection`."""
        return EndpointConfig(
            start_s=self.min_speech_s,
            pause_s=self.pause_s,
            interruption_candidate_s=self.interruption_candidate_s,
            interruption_confirmed_s=self.interruption_confirmed_s,
        )

    def to_policy(
        self,
        agent: AgentConfig,
        history: HistoryConfig,
        limits: ConversationLimits = _USUAL_LIMITS,
    ) -> TurnPolicy:
        """How the conversation takes turns: word lists of the agent's language, normalised."""
        language = agent.language
        language_of(language)  # read now, and not in the first pause of a call
        phrases = BACKCHANNELS.get(language, ()) if self.backchannels is None else self.backchannels
        return TurnPolicy(
            preemptive_attempts=self.preemptive_attempts,
            min_interruption_words=self.min_interruption_words,
            stop_words=frozenset(STOP_WORDS.get(language, ())),
            backchannels=frozenset(words_of(phrase) for phrase in phrases if words_of(phrase)),
            misheard_backchannels=frozenset(MISHEARD_BACKCHANNELS.get(language, ())),
            resume_s=self.resume_s,
            prefill_while_speaking=self.prefill_while_speaking,
            idle_prompts=agent.idle_prompts,
            goodbye=agent.goodbye,
            language=language,
            max_tokens=agent.max_output_tokens,
            stop=agent.stop,
            history=history.to_budget(),
            limits=limits.to_history_limits(),
            distant_voice_db=self.distant_voice_db,
            llm_end=None if self.llm_end is None else self.llm_end.to_llm_end(),
            max_tool_rounds=agent.max_tool_rounds,
        )


class BudgetConfig(Section):
    """`[budget]`: how long each stage of a turn may take, in milliseconds, and the whole."""

    endpointing_ms: Milliseconds = 230
    """Last voiced sample to turn decided."""
    recognition_ms: Milliseconds = 60
    """Turn decided to final transcript."""
    request_ms: Milliseconds = 10
    """Final transcript to LLM request."""
    llm_ttft_ms: Milliseconds = 100
    """LLM request to first token."""
    fragmenting_ms: Milliseconds = 60
    """First token to first speakable fragment."""
    synthesis_ms: Milliseconds = 60
    """First fragment to its first sound."""
    playout_ms: Milliseconds = 20
    """First sound to first frame sent."""
    network_ms: Milliseconds = 60
    """First frame sent to heard."""
    total_ms: Milliseconds = 600
    """Last voiced sample to first frame sent, or to heard where the transport tells when."""

    def to_budget(self) -> LatencyBudget:
        """The same for the latency ledger."""
        budgeted = [stage for stage in STAGES if stage not in UNBUDGETED_STAGES]
        stages = {stage: getattr(self, f"{stage}_ms") / 1000 for stage in budgeted}
        return LatencyBudget(stages, self.total_ms / 1000)
