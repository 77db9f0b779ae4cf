"""Configuration tables of the history, turn-taking and latency budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from audio.endpoint import EndpointConfig
from llmcore.compression.history_budget import HistoryBudget
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.backchannels import MIN_PAUSE_S
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.llm_end import LlmEnd
from voiceagent.conversation.end_of_turn.probability import ACTING_S, MIN_ACTING_S
from voiceagent.conversation.history_room import HistoryLimits
from voiceagent.conversation.latency import STAGES, UNBUDGETED_STAGES, LatencyBudget
from voiceagent.conversation.settings import Eagerness, TurnDetection
from voiceagent.conversation.turn_policy import LanguageRules, TurnPolicy
from voiceagent.conversation.words import (
    BACKCHANNELS,
    HESITATIONS,
    MISHEARD_BACKCHANNELS,
    STOP_WORDS,
    words_of,
)
from voiceagent.validation.section import Duration, Seconds, Section

Milliseconds = Annotated[float, Field(gt=0)]
_PAUSE_S = 0.032
"""One window of the voice activity model, the shortest silence that it can tell."""
KEPT_SHARE = 1 / 3
"""Share of `history.max_tokens` that stays verbatim: more would need a summary every few turns, less would
leave out what the caller just referred to.
"""


class HistoryConfig(Section):
    """`[history]`: handling of old turns and long tool outputs in prompts."""

    max_tokens: int = Field(default=2000, ge=0)
    """Conversation tokens in a prompt, without system prompt and tools. Beyond it, a summary replaces the
    oldest turns, and the newest third stays verbatim. 0 sets no limit; the engine then drops turns at the
    end of its context.
    """
    summary_tokens: ClassVar[int] = 200
    """Longest summary."""
    summaries: Literal["model", "extract"] = "model"
    """Source of summaries: "model" uses the LLM while no caller waits for it; "extract" takes the sentences
    with names, numbers and dates and the caller's other statements, for models that cannot summarise.
    """
    attempts: ClassVar[int] = 2
    """Failed summaries in a row (invented facts, no time) after which sentences are extracted instead."""
    tool_output_tokens: ClassVar[int] = 600
    """Longest tool output in a prompt. A longer one is reduced to the parts that concern the caller's last
    turn.
    """

    @model_validator(mode="after")
    def _room_is_made(self) -> Self:
        if self.max_tokens and self.kept_tokens + self.summary_tokens >= self.max_tokens:
            raise PydanticCustomError(
                "no_room",
                "max_tokens is {most}; allowed: 0, or so much that a summary of {summary} tokens fits beside "
                "the third that stays",
                {"most": self.max_tokens, "summary": self.summary_tokens},
            )
        return self

    @property
    def kept_tokens(self) -> int:
        """Tokens of the newest turns that stay verbatim when a summary is made."""
        return round(self.max_tokens * KEPT_SHARE)

    def to_budget(self) -> HistoryBudget:
        """Return the budget for the conversation."""
        return HistoryBudget(self.max_tokens, self.kept_tokens, self.tool_output_tokens)


class ConversationLimits(Section):
    """Limits for the items that a client adds. What is said in the call is not limited by them."""

    max_items: ClassVar[int] = 2_000
    """Conversation items. Clients cannot create more."""
    max_item_characters: ClassVar[int] = 100_000
    """Longest item that a client may create: one minute of reading aloud has 1,000. A tool's longer output is
    cut, not refused.
    """
    max_conversation_characters: ClassVar[int] = 500_000
    """Characters of all items together. Beyond them the oldest tool outputs are cut; if that is not enough,
    clients cannot add more.
    """
    max_images: ClassVar[int] = 16
    """Images in a conversation. Clients cannot add more."""

    def to_history_limits(self) -> HistoryLimits:
        return HistoryLimits(
            self.max_items,
            self.max_item_characters,
            self.max_conversation_characters,
            self.max_images,
            cuts_outputs=True,
        )


_USUAL_LIMITS = ConversationLimits()


class LlmEndConfig(Section):
    """`[turn.llm_end]`: use of the LLM's end-of-turn score. `voiceagent calibrate` finds the values."""

    model: str
    """Model of `[llm]` that the numbers were calibrated for."""
    scale: float = Field(gt=0)
    """Factor on the model's log-odds that the turn is complete."""
    offset: float
    """Constant added to the log-odds, in nats."""
    weight: float = Field(default=1.0, gt=0, le=1)
    """Weight of the result among the other end-of-turn features, with which it overlaps."""

    def to_llm_end(self) -> LlmEnd:
        """Return the calibration for the conversation."""
        return LlmEnd(self.scale, self.offset, self.weight)


class TurnConfig(Section):
    """`[turn]`: turn detection and barge-in. A client may set threshold, padding, silence and idle time-out
    for its session.
    """

    threshold: float = Field(default=0.5, gt=0, lt=1)
    """Voice activity probability from which audio counts as speech."""
    prefix_padding_s: ClassVar[float] = 0.3
    """Audio before the first voiced sample that the recognizer also receives."""
    min_speech_s: ClassVar[float] = 0.064
    """Shortest voiced time that counts as speech. Shorter sounds are clicks."""
    pause_s: ClassVar[float] = _PAUSE_S
    """Silence that counts as a pause. The transcript is requested and a preemptive response starts."""
    detection: Literal["server_vad", "semantic_vad"] = "semantic_vad"
    """Rule that ends turns: "server_vad" after `silence_s`, "semantic_vad" by silence, transcript and turn
    model together.
    """
    eagerness: Eagerness = "auto"
    """Eagerness of "semantic_vad" to end a turn. "auto" is "medium"."""
    silence_s: float = Field(default=0.2, ge=_PAUSE_S)
    """Silence that ends a turn with "server_vad", from the end of speech as the voice activity model sees it.
    """
    interruption_candidate_s: ClassVar[float] = 3 * _PAUSE_S
    """Speech over the agent after which playout is held: three windows of the voice activity model. It
    resumes if the speech turns out to be no interruption.
    """
    interruption_confirmed_s: Duration = 0.9
    """Speech over the agent that always interrupts it."""
    min_interruption_words: int = Field(default=2, ge=1)
    """Words over the agent, without backchannels, that interrupt it. One word such as "stop" is enough. Fewer
    words are answered after the response.
    """
    resume_s: Seconds = 1.5
    """Time after the end of a turn within which further speech resumes that turn: the response is withdrawn
    and the turn answered as a whole. 0 treats such speech as an interruption.
    """
    distant_voice_db: float = Field(default=12.0, ge=0)
    """Level below the caller's own recent turns from which a voice over the agent counts as distant, and does
    not interrupt. 0 disables the rule.
    """
    backchannels: tuple[str, ...] | None = None
    """Words of a listener that do not claim the turn, such as "uh huh". Left out, a list for the language."""
    idle_timeout_s: float | None = Field(default=None, gt=0)
    """Silence of the caller before each idle prompt, and before the goodbye. Left out, the agent waits
    forever.
    """
    preemptive_attempts: int = Field(default=5, ge=0)
    """Preemptive responses per turn. 0 disables them."""
    preemptive_tokens: ClassVar[int] = 24
    """Tokens that a preemptive response may generate before the turn has ended."""
    prefill_while_speaking: ClassVar[bool] = True
    """Let the LLM prefill the history and the final part of the transcript while the caller still speaks.
    Benches turn it off to measure it.
    """
    llm_end: LlmEndConfig | None = None
    """End-of-turn probability from the LLM, as a feature of "semantic_vad". `voiceagent calibrate` prints
    these keys. Left out, the LLM is not asked.
    """
    model: str = ""
    """Smart Turn model, which judges from audio whether a turn is complete: "installed" (`make smart-turn`),
    or the path of its ONNX file. "" uses none; with Moonshine none is needed.
    """

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
        """Return the fixed settings of speech and pauses; `to_detection` has those a client may change."""
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
        reviews: bool = False,
        others: Sequence[AgentConfig] = (),
    ) -> TurnPolicy:
        """Return the rules of turn-taking, with the normalised word lists of the agent's language. reviews:
        True if the server has a back LLM. others: the agent's table in each further language of calls.
        """
        rules = _language_rules(agent, self.backchannels, reviews)
        policy = TurnPolicy(
            preemptive_attempts=self.preemptive_attempts,
            min_interruption_words=self.min_interruption_words,
            stop_words=rules.stop_words,
            backchannels=rules.backchannels,
            hesitations=rules.hesitations,
            misheard_backchannels=rules.misheard_backchannels,
            resume_s=self.resume_s,
            prefill_while_speaking=self.prefill_while_speaking,
            idle_prompts=rules.idle_prompts,
            goodbye=rules.goodbye,
            language=rules.language,
            max_tokens=agent.max_output_tokens,
            stop=agent.stop,
            history=history.to_budget(),
            limits=limits.to_history_limits(),
            distant_voice_db=self.distant_voice_db,
            llm_end=None if self.llm_end is None else self.llm_end.to_llm_end(),
            max_tool_rounds=agent.max_tool_rounds,
            correction=rules.correction,
            languages=_rules_by_language(rules, others, reviews),
            acting_s=ACTING_S,
            min_acting_s=MIN_ACTING_S,
            backchannel_after_s=MIN_PAUSE_S,
        )
        return _with_rules_of_this_build(policy)


def _with_rules_of_this_build(policy: TurnPolicy) -> TurnPolicy:
    """Return the policy with the rules that calls logged by earlier builds had not, and no key sets."""
    return replace(
        policy,
        resume_as_whole=True,
        hold_calls=True,
        preempt_without_words=True,
        idle_items=True,
        answers_over_buffer=True,
        joins_results=True,
        waits_after_acknowledgement=True,
    )


def _rules_by_language(
    first: LanguageRules, others: Sequence[AgentConfig], reviews: bool
) -> tuple[LanguageRules, ...]:
    """Return the rules of each language, the configured one first; () for one language."""
    return (first, *(_language_rules(other, None, reviews) for other in others)) if others else ()


def _language_rules(agent: AgentConfig, backchannels: tuple[str, ...] | None, reviews: bool) -> LanguageRules:
    """Return the rules in the language of an agent's table. backchannels: of the configuration, if any."""
    language = agent.language
    language_of(language)  # loaded now so that the first pause of a call does not wait for it
    phrases = BACKCHANNELS.get(language, ()) if backchannels is None else backchannels
    return LanguageRules(
        language=language,
        stop_words=frozenset(STOP_WORDS.get(language, ())),
        backchannels=frozenset(words_of(phrase) for phrase in phrases if words_of(phrase)),
        misheard_backchannels=frozenset(MISHEARD_BACKCHANNELS.get(language, ())),
        hesitations=frozenset(HESITATIONS.get(language, ())),
        idle_prompts=agent.idle_prompts,
        goodbye=agent.goodbye,
        correction=agent.correction if reviews else None,
    )


class BudgetConfig(Section):
    """`[budget]`: time budget of each stage of a turn, and of the whole. Stages over budget are logged and
    counted.
    """

    endpointing_ms: ClassVar[float] = 230
    """From the last voiced sample to the end of the turn."""
    recognition_ms: Milliseconds = 60
    """From the end of the turn to the final transcript."""
    request_ms: ClassVar[float] = 10
    """From the final transcript to the LLM request."""
    llm_ttft_ms: Milliseconds = 100
    """From the LLM request to the first token."""
    fragmenting_per_ttft: ClassVar[float] = 0.6
    """Time from the first token to the first speakable fragment, as a share of `llm_ttft_ms`: a model that is
    slow to its first token is slow to the next ones.
    """
    synthesis_ms: Milliseconds = 60
    """From the first fragment to its first audio."""
    playout_ms: ClassVar[float] = 20
    """From the first audio to the first frame sent."""
    network_ms: ClassVar[float] = 60
    """From the first frame sent to its playout at the caller, where the transport reports it."""
    total_ms: Milliseconds = 600
    """From the last voiced sample to the first frame played, or sent where the transport does not report
    playout.
    """

    @property
    def fragmenting_ms(self) -> float:
        """From the first token to the first speakable fragment."""
        return self.fragmenting_per_ttft * self.llm_ttft_ms

    def to_budget(self) -> LatencyBudget:
        """Return the budget for the latency ledger."""
        budgeted = [stage for stage in STAGES if stage not in UNBUDGETED_STAGES]
        stages = {stage: getattr(self, f"{stage}_ms") / 1000 for stage in budgeted}
        return LatencyBudget(stages, self.total_ms / 1000)
