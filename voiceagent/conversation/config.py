"""Configuration tables of the agent, its history, turn-taking and latency budgets."""

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


def _phrase_default(phrase: Callable[[SetPhrases], Any]) -> Callable[[Mapping[str, Any]], Any]:
    """Return a pydantic default factory for a phrase, which depends on the configured language."""
    return lambda given: phrase(SET_PHRASES.get(given.get("language", ""), ENGLISH))


class AgentConfig(Section):
    """`[agent]`: the agent of all calls. A client may set its own instructions for a call."""

    instructions: str = ""
    """The system prompt."""
    instructions_from: str | None = None
    """Source of the system prompt instead: a text file (`./prompt.md`), or `package.module:name` of a string
    or of a function that returns one.
    """
    python: str | None = None
    """An agent class instead, `module:Class`, with instructions, greeting, voice, tools and hooks. Modules
    next to the configuration file are found too.
    """
    others: dict[str, str] = Field(default_factory=dict)
    """More agent classes by name. Clients choose one by `model`, phone calls by the end of the URL's path, or
    by `agent` in the query or the call's parameters. All other calls get this table's agent.
    """
    chosen_by: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Routing of phone calls: a call parameter (the called number, a SIP header), and the agent's name for
    each of its values.
    """
    about: str = ""
    """Text on the demo page: what the agent does and what to ask; "" for none."""
    greeting: str = ""
    """The agent's first words; "" waits for the caller."""
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}$")
    """ISO 639 code of the spoken language, for sentence splitting, number reading, fixed phrases and engines.
    """
    apology: str = Field(default_factory=_phrase_default(attrgetter("apology")))
    """Phrase after a failed stage within a turn. This and the other fixed phrases default to the language's,
    if there is one (`SET_PHRASES`).
    """
    refusal: str = Field(default_factory=_phrase_default(attrgetter("refusal")))
    """Phrase after a filter or moderation of the LLM server refused the answer."""
    filler: str = Field(default_factory=_phrase_default(attrgetter("filler")))
    """Phrase while the answer takes long."""
    filler_after_s: float = Field(default=1.5, gt=0)
    """Delay of the filler after the end of the turn; `filler = ""` disables it."""
    idle_prompts: tuple[str, ...] = Field(default_factory=_phrase_default(attrgetter("idle_prompts")))
    """Phrases for a silent caller, in order, one at each `turn.idle_timeout_s`."""
    goodbye: str = Field(default_factory=_phrase_default(attrgetter("goodbye")))
    """Phrase for a caller who stays silent, before the agent hangs up."""
    max_output_tokens: int = Field(default=200, ge=1)
    """Maximum tokens of one response, unless the client sets its own."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=(), max_length=4)
    """Texts that end a spoken response, such as the blank line before a list. Hosted APIs accept at most
    four.
    """
    temperature: float = Field(default=0.0, ge=0, le=2)
    """Sampling temperature, unless the client sets its own; 0 is greedy."""
    max_tool_rounds: int = Field(default=8, ge=1)
    """Maximum number of responses with tool calls within one answer. The next response may call none; if it
    has no text either, the caller hears the apology.
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
    """`[history]`: handling of old turns and long tool outputs in prompts."""

    max_tokens: int = Field(default=2000, ge=0)
    """Maximum tokens of the conversation in a prompt, without system prompt and tools; beyond it the oldest
    turns are replaced by a summary. 0 for no limit: the engine drops turns where its context ends.
    """
    kept_tokens: int = Field(default=600, ge=0)
    """Tokens of the newest turns that then stay verbatim."""
    summary_tokens: int = Field(default=200, ge=20)
    """Maximum tokens of a summary."""
    summaries: Literal["model", "extract"] = "model"
    """Source of summaries: "model" asks the LLM while it is idle; "extract" takes the sentences with names,
    numbers and dates, for models that cannot summarise.
    """
    attempts: int = Field(default=2, ge=1)
    """Consecutive summaries of the model that may fail (invented facts, no time) before "extract" is used."""
    tool_output_tokens: int = Field(default=600, ge=0)
    """Maximum tokens of a tool output; longer ones are cut to what concerns the caller's last turn. 0: no
    limit.
    """

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
        """Return the budget for the conversation."""
        return HistoryBudget(self.max_tokens, self.kept_tokens, self.tool_output_tokens)


class ConversationLimits(Section):
    """Limits for the items that a client adds. What is said in the call is not limited by them."""

    max_items: int = Field(default=2_000, ge=1)
    """Items of a conversation beyond which a client cannot add any."""
    max_item_characters: int = Field(default=100_000, ge=1)
    """Maximum characters of an item that a client adds."""
    max_conversation_characters: int = Field(default=500_000, ge=1)
    """Characters of all items beyond which a client cannot add any."""
    max_images: int = Field(default=16, ge=0)
    """Maximum number of pictures in a conversation. Clients cannot add more."""

    def to_history_limits(self) -> HistoryLimits:
        """Return the limits for the conversation."""
        return HistoryLimits(
            self.max_items, self.max_item_characters, self.max_conversation_characters, self.max_images
        )


_USUAL_LIMITS = ConversationLimits()


class LlmEndConfig(Section):
    """`[turn.llm_end]`: use of the LLM's end-of-turn score. `voiceagent calibrate` finds the values."""

    model: str
    """The model of `[llm]` that was calibrated: scores of other models mean something else."""
    scale: float = Field(gt=0)
    """Factor on its log-odds."""
    offset: float
    """Added to its log-odds, in nats."""
    weight: float = Field(default=1.0, gt=0, le=1)
    """Weight of the result next to the other features, which overlap with it."""

    def to_llm_end(self) -> LlmEnd:
        """Return the calibration for the conversation."""
        return LlmEnd(self.scale, self.offset, self.weight)


class TurnConfig(Section):
    """`[turn]`: turn-taking. A client may set threshold, padding, silence and timeout itself."""

    threshold: float = Field(default=0.5, gt=0, lt=1)
    """Speech probability from which a chunk of audio is voiced."""
    prefix_padding_s: Seconds = 0.3
    """Audio before the first voiced sample that is recognized too."""
    min_speech_s: Duration = 0.064
    """Voiced time that counts as speech: anything shorter is a click."""
    pause_s: Duration = 0.032
    """Silence that counts as a pause: the recognizer is flushed, and a preemptive response starts."""
    detection: Literal["server_vad", "semantic_vad"] = "semantic_vad"
    """"server_vad" ends a turn after `silence_s`; "semantic_vad" weighs silence, transcript and turn model.
    """
    eagerness: Eagerness = "auto"
    """How early "semantic_vad" ends a turn: "low", "medium", "high" or "auto" (medium)."""
    silence_s: Duration = 0.2
    """Silence that ends a turn with "server_vad", from the last voiced sample of the VAD model."""
    interruption_candidate_s: Duration = 0.096
    """Voiced time over the agent's speech that pauses it, ready to resume."""
    interruption_confirmed_s: Duration = 0.9
    """Voiced time over the agent's speech that interrupts it, whatever the transcript."""
    min_interruption_words: int = Field(default=2, ge=1)
    """Words over the agent's speech, backchannels excluded, that interrupt it; one is enough if it is a stop
    word. Fewer are answered after the response.
    """
    resume_s: Seconds = 1.5
    """Time after the end of a turn within which more speech resumes it: the response is taken back, and the
    whole turn is answered. 0 treats such speech as an interruption.
    """
    distant_voice_db: float = Field(default=12.0, ge=0)
    """A voice over the agent that is this much quieter than the caller's turns so far, and stays so while the
    agent is silent, comes from across the room and does not interrupt. 0 disables this, for several callers
    on one telephone.
    """
    backchannels: tuple[str, ...] | None = None
    """Phrases of a listener who does not want the turn ("uh huh"); left out, a list for the language."""
    idle_timeout_s: float | None = Field(default=None, gt=0)
    """Silence of the caller after which the agent asks again; left out, it never does."""
    preemptive_attempts: int = Field(default=5, ge=0)
    """Maximum number of preemptive responses in one turn; 0 waits for its end."""
    preemptive_tokens: int = Field(default=24, ge=1)
    """Maximum tokens of a preemptive response before the turn is over."""
    prefill_while_speaking: bool = True
    """Prefill the LLM with the history and the stable transcript while the caller speaks."""
    llm_end: LlmEndConfig | None = None
    """Calibration of the LLM's end-of-turn score in "semantic_vad"; left out, the LLM is not asked."""
    model: str = ""
    """Smart Turn, a model that detects complete turns from audio: "installed" finds it in the pipecat-ai
    wheel, anything else is the path to its ONNX file; "" for none. Moonshine detects as much without it.
    """

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
        """Return the settings with which a call begins. A client may change them."""
        return TurnDetection(
            kind=self.detection,
            eagerness=self.eagerness,
            threshold=self.threshold,
            prefix_padding_s=self.prefix_padding_s,
            silence_s=self.silence_s,
            idle_timeout_s=self.idle_timeout_s,
        )

    def to_endpointing(self) -> EndpointConfig:
        """Return the fixed settings for speech and pauses; for those that a client may change, see
        `to_detection`.
        """
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
        """Return the rules of turn-taking, with the normalised word lists of the agent's language."""
        language = agent.language
        language_of(language)  # loaded now so that the first pause of a call does not wait for it
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
    """`[budget]`: maximum duration of each stage of a turn and of the whole, in milliseconds."""

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
    """First fragment to its first audio."""
    playout_ms: Milliseconds = 20
    """First audio to first frame sent."""
    network_ms: Milliseconds = 60
    """First frame sent to playback."""
    total_ms: Milliseconds = 600
    """Last voiced sample to first frame sent, or to playback if the transport reports it."""

    def to_budget(self) -> LatencyBudget:
        """Return the budget for the latency ledger."""
        budgeted = [stage for stage in STAGES if stage not in UNBUDGETED_STAGES]
        stages = {stage: getattr(self, f"{stage}_ms") / 1000 for stage in budgeted}
        return LatencyBudget(stages, self.total_ms / 1000)
