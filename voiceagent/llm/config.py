"""The tables of the configuration about the LLM beside its engines."""

from __future__ import annotations

import re
from pathlib import Path
from random import random
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from llmcore.cache.cached_engine import AuditPlan
from llmcore.cache.policy.semantic_cache import CacheableClass
from llmcore.cache.policy.semantic_cache import Rules as CacheRules
from llmcore.policies.circuit_breaker import Backoff, CircuitBreaker
from llmcore.policies.learned_routing import LearnedRouter, read_router
from llmcore.policies.routing import Rules
from llmcore.policies.set_answers import SetAnswer
from llmcore.policies.speculation import SpeculationLimits
from voiceagent.engines.config import EngineConfig
from voiceagent.validation.errors import problem
from voiceagent.validation.references import resolve_paths
from voiceagent.validation.section import Section

Seconds = Annotated[float, Field(gt=0)]


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return pattern


def _read_learned(name: str, source: Path) -> LearnedRouter:
    try:
        path = Path(resolve_paths(name, source.absolute().parent))
        return read_router(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise problem(source, "routing.learned", name, str(error)) from error


class LlmEngineConfig(EngineConfig):
    """`[llm]`, `[fallback]`, `[small_llm]`: an engine, its keyword arguments, and where it has replicas."""

    replicas: tuple[Annotated[str, Field(pattern=r"^https?://")], ...] = ()
    """Base URLs of servers that all have the model, in place of `base_url`: a call stays at one of them."""

    images: bool | None = None
    """True if the model sees pictures; None leaves it to the engine."""

    @property
    def sees_images(self) -> bool:
        """True if clients may send pictures."""
        return self.engine == "anthropic" if self.images is None else self.images

    @property
    def model_name(self) -> str:
        """What the table names as its model; the engine's own name where it names none."""
        return str(self.options.get("model", self.engine))

    @field_validator("replicas")
    @classmethod
    def _each_once(cls, replicas: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(replicas)) < len(replicas):
            raise ValueError("the same URL twice; allowed: each replica once")
        return replicas


class ResilienceConfig(Section):
    """`[resilience]`: when an engine with a fallback counts as failed, and how long it is left alone then."""

    first_token_timeout_s: Seconds = 5.0
    """Longest wait for the first piece of a response, on top of the time in which its prompt may be read: its
    new tokens by a quarter of the measured rate. After that the fallback is asked."""
    stall_timeout_s: Seconds = 5.0
    """Longest silence between two pieces; after that the caller hears the apology."""
    speech_timeout_s: Seconds = 2.0
    """Longest wait for the recognizer's settled words, or the synthesizer's first sound, where it has a
    fallback; after that this is asked."""
    failures: int = Field(default=3, ge=1)
    """Failures in a row after which requests go straight to the fallback."""
    retry_s: Seconds = 1.0
    """How long, at least, before one request tries the LLM again."""
    max_retry_s: Seconds = 30.0
    """How long at most: the wait doubles with each try that fails."""

    def to_breaker(self) -> CircuitBreaker:
        """A new circuit breaker, closed."""
        return CircuitBreaker(self.failures, Backoff(self.retry_s, self.max_retry_s), random)


class PromptLimits(Section):
    """What the LLM is given to read for one caller."""

    max_prompt_characters: int = Field(default=131_072, ge=1_000)
    """Longest prompt, beside its tools: some 32,000 tokens of English; a longer one never comes to the
    engine."""


class PriorityConfig(Section):
    """`[priority]`: in which order the LLM reads prompts, and how many calls it can serve."""

    max_running: int = Field(default=16, ge=1)
    """Requests that the engine computes at once: `max_running` of ctranslate2, `max_num_seqs` of vllm."""
    long_tokens: int = Field(default=1500, ge=1)
    """New tokens, beside what is cached, from which a prompt is long: it comes after the others."""
    max_long: int = Field(default=1, ge=1)
    """Long prompts that are read at once."""
    max_utilization: float = Field(default=0.8, gt=0, le=1)
    """Part of `max_running` that may be taken in the mean; a call that would bring it within a tenth of that,
    or beyond, is refused."""
    max_ttft_ms: float = Field(default=1000, gt=0)
    """Longest predicted time to first token; a new call is taken up to nine tenths of it."""


class SpeculationConfig(Section):
    """`[speculation]`: for which responses a draft proposes tokens, where the engine has one.

    vLLM can be told for each response with `scheduling_policy = "priority"`; otherwise it proposes for all.
    """

    min_acceptance: float = Field(default=0.5, ge=0, le=1)
    """Part of the proposed tokens that must be right; a draft under it is left out, and so is one with which
    responses were measured to end no sooner."""
    window: int = Field(default=200, ge=1)
    """Proposals that are judged together; a draft that is clearly bad is given up sooner."""
    max_streams: int = Field(default=20, ge=0)
    """Responses written at once, up to which it pays; 0 leaves the draft out always."""
    min_tokens: int = Field(default=50, ge=0)
    """Mean length of the responses from which it pays, tokens."""
    retry_s: Seconds = 60.0
    """How long a bad draft is left out at least, before it is tried again."""
    max_retry_s: Seconds = 960.0
    """How long at most: the wait doubles with each trial that fails."""

    def to_limits(self) -> SpeculationLimits:
        """The same for the policy."""
        return SpeculationLimits(
            self.min_acceptance,
            self.window,
            self.max_streams,
            self.min_tokens,
            Backoff(self.retry_s, self.max_retry_s),
        )


class CacheableConfig(Section):
    """`[[semantic_cache.cacheable]]`: one kind of question that may be answered from the cache."""

    patterns: tuple[Annotated[str, AfterValidator(_compiles)], ...] = Field(min_length=1)
    """Regular expressions, case ignored: turns in which one is found are of this kind; the first counts."""
    ttl_s: Seconds = 3600.0
    """How long an answer is kept."""
    self_contained: bool = False
    """Whether such a question is understood without what was said before; else it is answered from the cache
    only where nothing was. Turns that point back ("is it ...", "and ...") are never understood alone."""


class SemanticCacheConfig(Section):
    """`[semantic_cache]`: answers that were given before; needs `make semantic-cache`. Without this table
    there is none.

    It pays where the LLM is slow or dear, and callers ask the same things: an answer takes some milliseconds.
    It is English only. Turns with tools or personal data are not cached.
    """

    cacheable: tuple[CacheableConfig, ...] = Field(min_length=1)
    """The kinds of questions that may be cached; no others are."""
    threshold: float = Field(default=0.9, ge=0.85, le=1)
    """Least likeness (cosine) of two questions with one answer; those whose numbers, dates, names or
    negations differ never have one."""
    capacity: int = Field(default=10_000, ge=1)
    """Entries at most; beyond that the oldest goes."""
    url: str | None = Field(default=None, pattern=r"^(redis|rediss|unix)://")
    """A Redis for the entries, which servers share (redis://host:6379/0); left out, they are in memory."""
    audit: float = Field(default=0.05, ge=0, le=1)
    """Part of the hits that the LLM answers as well, with nothing else to do, and compares."""
    floor: float = Field(default=0.8, gt=0, le=1)
    """Least part of the latest 20 audits that must agree; below it the cache is emptied and off a while."""
    min_hits: float = Field(default=0.1, ge=0, le=1)
    """Least part of the latest 200 look-ups that must be answered; below it the cache is off a while."""
    off_s: Seconds = 300.0
    """How long that is."""
    embedding: str = ""
    """Folder of the model that tells what questions mean, of MiniLM's shape; "" is the English one that is
    installed."""

    def to_rules(self, model: str) -> CacheRules:
        """The same for the cache in front of `model`."""
        classes = tuple(
            CacheableClass(
                tuple(re.compile(pattern, re.IGNORECASE) for pattern in kind.patterns),
                kind.ttl_s,
                kind.self_contained,
            )
            for kind in self.cacheable
        )
        return CacheRules(classes, self.threshold, model)

    def to_audits(self) -> AuditPlan:
        """The same for its audit."""
        return AuditPlan(self.audit, self.floor, self.min_hits, self.off_s)


class RoutingConfig(Section):
    """`[routing]`: which turns the small LLM answers, where there is a `[small_llm]`."""

    patterns: tuple[Annotated[str, AfterValidator(_compiles)], ...] = ()
    """Regular expressions, case ignored: turns in which one is found are simple. Without any, and with
    nothing learned, the small LLM answers only while there is too much to do."""
    learned: str = ""
    """File that `voiceagent bench routing --learn` wrote: turns like those that the small LLM answered
    rightly are simple too."""
    max_characters: int = Field(default=120, ge=1)
    """Longest turn that it answers."""
    max_context_characters: int = Field(default=8000, ge=1)
    """Longest prompt that it answers, system prompt and history included."""
    tools: bool = False
    """Whether it answers where tools are offered."""

    def to_rules(self, source: Path) -> Rules:
        """The same for the router. source: the file that this is from. Raises ConfigError."""
        patterns = tuple(re.compile(pattern, re.IGNORECASE) for pattern in self.patterns)
        learned = _read_learned(self.learned, source) if self.learned else None
        return Rules(patterns, self.max_characters, self.max_context_characters, self.tools, learned)


class SetAnswerConfig(Section):
    """`[[set_answers]]`: words of callers that are always answered in the same way, without the model."""

    pattern: Annotated[str, AfterValidator(_compiles)] = Field(min_length=1)
    """Regular expression, case ignored, found in the caller's newest words."""
    answer: str = Field(min_length=1)
    """What is said; `{name}` stands for what the pattern's group `name` found."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        try:
            self.to_answer()
        except ValueError as error:
            raise PydanticCustomError("answer", "{reason}", {"reason": str(error)}) from error
        return self

    def to_answer(self) -> SetAnswer:
        """The same for the policy."""
        return SetAnswer(re.compile(self.pattern, re.IGNORECASE), self.answer)


class LlmTables(Section):
    """The tables of the file that the LLM of a server is made from."""

    llm: LlmEngineConfig
    fallback: LlmEngineConfig | None = None
    """An LLM that answers when that of `[llm]` cannot; left out, the caller hears the apology."""
    resilience: ResilienceConfig = ResilienceConfig()
    small_llm: LlmEngineConfig | None = None
    """A smaller LLM for short simple turns (`[routing]`), or all short ones while there is too much to do."""
    routing: RoutingConfig = RoutingConfig()
    set_answers: tuple[SetAnswerConfig, ...] = ()
    """Answers in set words, for which the LLM is not asked; the first that fits counts."""
    semantic_cache: SemanticCacheConfig | None = None
    """Answers that were given before; left out, the LLM answers everything."""
    priority: PriorityConfig = PriorityConfig()
    speculation: SpeculationConfig = SpeculationConfig()
