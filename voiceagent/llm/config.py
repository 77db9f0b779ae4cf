"""Configuration tables of the LLM, other than its engines'.

Class variables are not keys of the file: they were measured once, and an operator has nothing to judge
another value by. Benches change them with `model_copy`.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import random
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from llmcore.cache.cached_engine import AuditSettings
from llmcore.cache.policy.semantic_cache import CacheableClass
from llmcore.cache.policy.semantic_cache import Rules as CacheRules
from llmcore.policies.circuit_breaker import Backoff, CircuitBreaker
from llmcore.policies.learned_routing import LearnedRouter, read_router
from llmcore.policies.routing import Rules
from llmcore.policies.set_answers import SetAnswer
from llmcore.policies.speculation import SpeculationLimits
from voiceagent.engines.config import EngineConfig
from voiceagent.engines.timeouts import TimeoutsConfig
from voiceagent.validation.errors import config_error
from voiceagent.validation.references import resolve_paths
from voiceagent.validation.section import Section

Seconds = Annotated[float, Field(gt=0)]


def _checked_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


def _read_learned(name: str, source: Path) -> LearnedRouter:
    try:
        path = Path(resolve_paths(name, source.absolute().parent))
        return read_router(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise config_error(source, "routing.learned", name, str(error)) from error


class LlmEngineConfig(EngineConfig):
    """`[llm]`, `[fallback]`, `[small_llm]`, `[back_llm]`: an LLM engine, its own keys, and its replicas."""

    replicas: tuple[Annotated[str, Field(pattern=r"^https?://")], ...] = ()
    """Base URLs of servers that serve the same model, used instead of `base_url`. A call stays at one replica
    and moves to another if that one fails.
    """

    images: bool | None = None
    """Set whether the model accepts images. Left out, the engine decides."""

    @property
    def sees_images(self) -> bool:
        """True if clients may send images."""
        return self.engine == "anthropic" if self.images is None else self.images

    @property
    def model_name(self) -> str:
        """The table's `model`, or the engine's name if it has none."""
        return str(self.options.get("model", self.engine))

    @field_validator("replicas")
    @classmethod
    def _check_distinct(cls, replicas: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(replicas)) < len(replicas):
            raise ValueError("the same URL twice; allowed: each replica once")
        return replicas


class ResilienceConfig(Section):
    """Failures after which an engine counts as failed, and times at which it is tried again."""

    failures: ClassVar[int] = 3
    """Consecutive failures after which requests go straight to the fallback. One or two may be chance: a
    replica that restarts, a rate limit. Until then each costs a caller the wait of `[timeouts]`.
    """
    retry_s: ClassVar[float] = 1.0
    """Time before the failed engine is tried again for the first time, about a turn of the same caller."""
    max_retry_s: ClassVar[float] = 30.0
    """Longest time before the failed engine is tried again. The wait doubles with each failed try."""

    def to_breaker(self) -> CircuitBreaker:
        """Return a new circuit breaker, closed."""
        backoff = Backoff(self.retry_s, self.max_retry_s)
        return CircuitBreaker(self.failures, backoff, random)


class PromptLimits(Section):
    """Limits of one caller's prompts."""

    max_prompt_characters: ClassVar[int] = 131_072
    """Longest prompt without its tools, about 32,000 tokens of English. A longer prompt is not sent to the
    engine.
    """


class PriorityConfig(Section):
    """`[priority]`: order of LLM requests, and admission control of calls."""

    max_running: int = Field(default=16, ge=1)
    """Requests that the engine computes concurrently: `max_running` of ctranslate2, `max_num_seqs` of vllm.
    """
    long_tokens: ClassVar[int] = 1500
    """Uncached prompt tokens from which a prompt counts as long. Long prompts are computed after short ones.
    """
    max_long: ClassVar[int] = 1
    """Long prompts that are computed concurrently: a second one would only delay the first."""
    max_utilization: float = Field(default=0.8, gt=0, le=1)
    """Largest mean share of `max_running` in use. A call with which the share would exceed nine tenths of
    this is refused, as means hide that turns coincide.
    """
    max_ttft_ms: ClassVar[float] = 1000.0
    """Longest predicted time to first token. New calls are refused from nine tenths of it."""


class SpeculationConfig(Section):
    """Limits of a draft model or n-gram that proposes tokens. vLLM can decide for each response only with
    `scheduling_policy = "priority"`; otherwise it always drafts.
    """

    min_acceptance: ClassVar[float] = 0.5
    """Lowest share of draft tokens that must be accepted. Below it, or if responses finish no sooner with the
    draft, drafting is disabled.
    """
    window: ClassVar[int] = 200
    """Draft tokens that are judged together. A clearly bad draft is disabled sooner."""
    max_streams: ClassVar[int] = 20
    """Largest number of concurrent responses for which drafting pays. 0 disables drafting."""
    min_tokens: ClassVar[int] = 50
    """Mean response length from which drafting pays."""
    retry_s: ClassVar[float] = 60.0
    """Shortest time for which a bad draft stays disabled."""
    max_retry_s: ClassVar[float] = 960.0
    """Longest time for which a bad draft stays disabled. The time doubles with each failed trial."""

    def to_limits(self) -> SpeculationLimits:
        """Convert to the policy's limits."""
        return SpeculationLimits(
            self.min_acceptance,
            self.window,
            self.max_streams,
            self.min_tokens,
            Backoff(self.retry_s, self.max_retry_s),
        )


class CacheableConfig(Section):
    """`[[semantic_cache.cacheable]]`: a kind of question that may be answered from the cache."""

    patterns: tuple[Annotated[str, AfterValidator(_checked_pattern)], ...] = Field(min_length=1)
    """Regular expressions, case-insensitive. A turn that matches one is of this kind; the first matching kind
    counts.
    """
    ttl_s: Seconds = 3600.0
    """Lifetime of an answer."""
    self_contained: bool = False
    """Set if such a question can be understood without the conversation before it. Otherwise it is answered
    from the cache only as the first turn of a call. Turns that refer back ("is it ...", "and ...") are never
    cached.
    """


class SemanticCacheConfig(Section):
    """`[semantic_cache]`: reuse of earlier answers; needs `make semantic-cache`. Off without this table.

    It pays if the LLM is slow or expensive and callers ask the same questions: a hit takes some milliseconds.
    English only. Turns with tools or personal data are not cached.
    """

    cacheable: tuple[CacheableConfig, ...] = Field(min_length=1)
    """Kinds of questions that may be cached. No others are."""
    threshold: ClassVar[float] = 0.9
    """Lowest cosine similarity at which two questions share an answer. Questions whose numbers, dates, names
    or negations differ never do.
    """
    capacity: ClassVar[int] = 10_000
    """Maximum number of entries. The oldest is removed first."""
    url: str | None = Field(default=None, pattern=r"^(redis|rediss|unix)://")
    """Redis that servers share for the entries, such as "redis://host:6379/0". Left out, the entries stay in
    memory.
    """
    audit: ClassVar[float] = 0.05
    """Share of hits that the LLM also answers, at the lowest priority, to compare the answers."""
    floor: ClassVar[float] = 0.8
    """Lowest share of the last 20 audits that must agree. Below it, the cache is emptied and disabled for
    `off_s`.
    """
    min_hits: ClassVar[float] = 0.1
    """Lowest share of the last 200 look-ups that must hit. Below it, the cache costs more than it saves and
    is disabled for `off_s`.
    """
    off_s: ClassVar[float] = 300.0
    """Time for which the cache stays disabled."""

    def to_rules(self, model: str) -> CacheRules:
        """Convert to the rules of the cache in front of `model`."""
        classes = tuple(
            CacheableClass(
                tuple(re.compile(pattern, re.IGNORECASE) for pattern in kind.patterns),
                kind.ttl_s,
                kind.self_contained,
            )
            for kind in self.cacheable
        )
        return CacheRules(classes, self.threshold, model)

    def to_audits(self) -> AuditSettings:
        """Convert to the audit plan."""
        return AuditSettings(self.audit, self.floor, self.min_hits, self.off_s)


class RoutingConfig(Section):
    """`[routing]`: turns that the small LLM answers, if there is a `[small_llm]`."""

    patterns: tuple[Annotated[str, AfterValidator(_checked_pattern)], ...] = ()
    """Regular expressions, case-insensitive. A turn that matches one goes to the small LLM. Without patterns
    and `learned`, the small LLM answers only under overload.
    """
    learned: str = ""
    """File written by `voiceagent bench routing --learn FILE`. Turns similar to those that the small LLM
    answered correctly go there.
    """
    max_characters: ClassVar[int] = 120
    """Longest turn that the small LLM answers."""
    max_context_characters: ClassVar[int] = 8000
    """Longest prompt that the small LLM answers, with system prompt and history."""
    tools: bool = False
    """Let the small LLM answer when tools are offered."""

    def to_rules(self, source: Path) -> Rules:
        """Convert to the router's rules. source: file of this table. Raises ConfigError."""
        patterns = tuple(re.compile(pattern, re.IGNORECASE) for pattern in self.patterns)
        learned = _read_learned(self.learned, source) if self.learned else None
        return Rules(patterns, self.max_characters, self.max_context_characters, self.tools, learned)


class SetAnswerConfig(Section):
    """`[[set_answers]]`: turns that are answered with a fixed text, without the LLM."""

    pattern: Annotated[str, AfterValidator(_checked_pattern)] = Field(min_length=1)
    """Regular expression, case-insensitive, searched in the caller's newest turn. The first table that
    matches counts.
    """
    answer: str = Field(min_length=1)
    """Text of the answer. `{name}` stands for the pattern's group `name`."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        try:
            self.to_answer()
        except ValueError as error:
            raise PydanticCustomError("answer", "{reason}", {"reason": str(error)}) from error
        return self

    def to_answer(self) -> SetAnswer:
        """Return the answer for the policy."""
        return SetAnswer(re.compile(self.pattern, re.IGNORECASE), self.answer)


class LlmTables(Section):
    """Configuration tables of a server's LLM."""

    llm: LlmEngineConfig
    """LLM engine, its own keys, and its replicas."""
    fallback: LlmEngineConfig | None = None
    """LLM that answers when `[llm]` fails. Left out, the caller hears the apology."""
    timeouts: TimeoutsConfig = TimeoutsConfig()
    small_llm: LlmEngineConfig | None = None
    """Smaller LLM for short, simple turns (`[routing]`), and for all short turns under overload."""
    routing: RoutingConfig = RoutingConfig()
    back_llm: LlmEngineConfig | None = None
    """Larger LLM that reviews each spoken answer of the others while the caller listens to it. It withdraws
    what is false, and adds what is missing. One more request for each answer, of few tokens if it agrees.
    """
    set_answers: tuple[SetAnswerConfig, ...] = ()
    """Turns that are answered with a fixed text, without the LLM."""
    semantic_cache: SemanticCacheConfig | None = None
    """Cache of answers by meaning of the question (English only). Turns with tools or personal data are never
    cached. Left out, the LLM answers everything.
    """
    priority: PriorityConfig = PriorityConfig()
    speculation: ClassVar[SpeculationConfig] = SpeculationConfig()
    resilience: ClassVar[ResilienceConfig] = ResilienceConfig()
