"""Configuration tables of the LLM, other than its engines'."""

from __future__ import annotations

import re
from pathlib import Path
from random import random
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator

from llmcore.cache.cached_engine import AuditSettings
from llmcore.cache.policy.semantic_cache import CacheableClass
from llmcore.cache.policy.semantic_cache import Rules as CacheRules
from llmcore.policies.circuit_breaker import Backoff, CircuitBreaker
from llmcore.policies.learned_routing import LearnedRouter, read_router
from llmcore.policies.routing import Rules
from llmcore.policies.speculation import SpeculationLimits
from voiceagent.engines.config import EngineConfig
from voiceagent.validation.errors import problem
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
        raise problem(source, "routing.learned", name, str(error)) from error


class LlmEngineConfig(EngineConfig):
    """`[llm]`, `[fallback]`, `[small_llm]`: an engine, its keyword arguments, and its replicas."""

    replicas: tuple[Annotated[str, Field(pattern=r"^https?://")], ...] = ()
    """Base URLs of servers with the same model, in place of `base_url`. A call stays at one of them."""

    images: bool | None = None
    """True if the model accepts images; None decides by the engine."""

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
    """`[resilience]`: when an engine with a fallback counts as failed, and the pause before it is tried
    again.
    """

    first_token_timeout_s: Seconds = 5.0
    """Longest wait for the first piece of a response, in addition to the time allowed for its prompt: its
    uncached tokens at a quarter of the measured rate. Then the fallback is asked.
    """
    stall_timeout_s: Seconds = 5.0
    """Longest silence between two pieces; then the caller hears the apology."""
    speech_timeout_s: Seconds = 2.0
    """Longest wait for the recognizer's final transcript, or the synthesizer's first audio, if it has a
    fallback; then that is asked.
    """
    failures: int = Field(default=3, ge=1)
    """Failures in a row after which requests go straight to the fallback."""
    retry_s: Seconds = 1.0
    """Shortest pause before one request tries the LLM again."""
    max_retry_s: Seconds = 30.0
    """Longest pause; it doubles with each failed attempt."""

    def to_breaker(self) -> CircuitBreaker:
        """Return a new circuit breaker, closed."""
        return CircuitBreaker(self.failures, Backoff(self.retry_s, self.max_retry_s), random)


class PromptLimits(Section):
    """Limits of one caller's prompts."""

    max_prompt_characters: int = Field(default=131_072, ge=1_000)
    """Longest prompt without its tools: about 32,000 tokens of English. A longer one is refused."""


class PriorityConfig(Section):
    """`[priority]`: order in which the LLM reads prompts, and number of calls that it can serve."""

    max_running: int = Field(default=16, ge=1)
    """Requests that the engine computes at once: `max_running` of ctranslate2, `max_num_seqs` of vllm."""
    long_tokens: int = Field(default=1500, ge=1)
    """Uncached tokens from which a prompt is long and yields to others."""
    max_long: int = Field(default=1, ge=1)
    """Long prompts in prefill at once."""
    max_utilization: float = Field(default=0.8, gt=0, le=1)
    """Largest mean share of `max_running` in use. A call that would exceed nine tenths of it is refused."""
    max_ttft_ms: float = Field(default=1000, gt=0)
    """Longest predicted time to first token. New calls are admitted up to nine tenths of it."""


class SpeculationConfig(Section):
    """`[speculation]`: responses for which a draft proposes tokens, if the engine has one.

    vLLM needs `scheduling_policy = "priority"` for that; otherwise its draft proposes for all.
    """

    min_acceptance: float = Field(default=0.5, ge=0, le=1)
    """Smallest accepted share of the proposed tokens.

    A draft below it is turned off, and so is one with which responses were measured to end no sooner.
    """
    window: int = Field(default=200, ge=1)
    """Proposals judged together; a clearly bad draft is turned off sooner."""
    max_streams: int = Field(default=20, ge=0)
    """Largest number of concurrent responses at which it pays; 0 turns it off."""
    min_tokens: int = Field(default=50, ge=0)
    """Mean length of the responses from which it pays, in tokens."""
    retry_s: Seconds = 60.0
    """Shortest pause before a bad draft is tried again."""
    max_retry_s: Seconds = 960.0
    """Longest pause; it doubles with each failed trial."""

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
    """Regular expressions, case-insensitive.

    A turn that contains one is of this kind; the first kind that matches counts.
    """
    ttl_s: Seconds = 3600.0
    """Time for which an answer is kept."""
    self_contained: bool = False
    """True if such a question is understood without earlier turns; otherwise it is answered from the cache
    only in the first turn. Turns that refer back ("is it ...", "and ...") are never self-contained.
    """


class SemanticCacheConfig(Section):
    """`[semantic_cache]`: reuse of earlier answers; needs `make semantic-cache`. Off without this table.

    It pays if the LLM is slow or expensive and callers ask the same questions: a hit takes some milliseconds.
    English only. Turns with tools or personal data are not cached.
    """

    cacheable: tuple[CacheableConfig, ...] = Field(min_length=1)
    """Kinds of questions that may be cached."""
    threshold: float = Field(default=0.9, ge=0.85, le=1)
    """Smallest similarity (cosine) of two questions with one answer.

    Questions with different numbers, dates, names or negations never share one.
    """
    capacity: int = Field(default=10_000, ge=1)
    """Largest number of entries; beyond it the oldest is dropped."""
    url: str | None = Field(default=None, pattern=r"^(redis|rediss|unix)://")
    """Redis for entries shared among servers (redis://host:6379/0); if not set, they are in memory."""
    audit: float = Field(default=0.05, ge=0, le=1)
    """Share of hits that the LLM answers too, at low priority, for comparison."""
    floor: float = Field(default=0.8, gt=0, le=1)
    """Smallest share of the latest 20 audits that must agree; below it the cache is cleared and paused."""
    min_hits: float = Field(default=0.1, ge=0, le=1)
    """Smallest share of the latest 200 lookups that must hit; below it the cache is paused."""
    off_s: Seconds = 300.0
    """Length of that pause."""
    embedding: str = ""
    """Folder of the embedding model, of MiniLM's shape; "" is the installed English one."""

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
    """Regular expressions, case-insensitive.

    A turn that contains one is simple. Without patterns and `learned`, the small LLM answers only under
    overload.
    """
    learned: str = ""
    """File written by `voiceagent bench routing --learn`: turns like those that the small LLM answered
    correctly are simple too.
    """
    max_characters: int = Field(default=120, ge=1)
    """Longest turn that it answers."""
    max_context_characters: int = Field(default=8000, ge=1)
    """Longest prompt that it answers, system prompt and history included."""
    tools: bool = False
    """True if it may answer when tools are offered."""

    def to_rules(self, source: Path) -> Rules:
        """Convert to the router's rules. source: file of this table. Raises ConfigError."""
        patterns = tuple(re.compile(pattern, re.IGNORECASE) for pattern in self.patterns)
        learned = _read_learned(self.learned, source) if self.learned else None
        return Rules(patterns, self.max_characters, self.max_context_characters, self.tools, learned)


class LlmTables(Section):
    """Configuration tables of a server's LLM."""

    llm: LlmEngineConfig
    fallback: LlmEngineConfig | None = None
    """An LLM that answers if that of `[llm]` fails; if not set, the caller hears the apology."""
    resilience: ResilienceConfig = ResilienceConfig()
    small_llm: LlmEngineConfig | None = None
    """A smaller LLM for short simple turns (`[routing]`), or for all short ones under overload."""
    routing: RoutingConfig = RoutingConfig()
    semantic_cache: SemanticCacheConfig | None = None
    """Reuse of earlier answers; if not set, the LLM answers everything."""
    priority: PriorityConfig = PriorityConfig()
    speculation: SpeculationConfig = SpeculationConfig()
