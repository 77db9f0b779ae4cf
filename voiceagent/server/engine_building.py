"""Engines of a configuration, with their fallbacks, the phrase cache, and a voice for each language."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, cast

import structlog
from prometheus_client import CollectorRegistry, Counter

from audio.recognizers import Recognizer
from audio.synthesizers import Synthesizer
from voiceagent.agents.load import agent_vocabulary
from voiceagent.config.tables import Config
from voiceagent.engines.build import WeightsDamaged, WeightsMissing, build_engine
from voiceagent.engines.catalogue import KNOWN_ENGINES, Stage
from voiceagent.engines.config import EngineConfig
from voiceagent.engines.engines import Engines
from voiceagent.engines.fallback import FailureReason, FallbackRecognizer, FallbackSynthesizer
from voiceagent.engines.languages import SynthesizerByLanguage
from voiceagent.engines.phrase_cache import DISK_BYTES, MEMORY_BYTES, CachedSynthesizer, CacheResult
from voiceagent.engines.phrase_files import PhraseFiles, phrases_folder
from voiceagent.engines.timeouts import FALLBACK_SHARE
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.llm.stack import build_llm
from voiceagent.server.engine_tables import check_keys
from voiceagent.server.fixed_phrases import fixed_phrases
from voiceagent.telemetry.llm_metrics import LlmMetrics
from voiceagent.telemetry.metrics import Metrics

log = structlog.get_logger()


def build_recognizer(config: Config, metrics: Metrics) -> Recognizer:
    """Return the configured recognizer, with its fallback. Raises ConfigError.

    metrics: count failures of the primary one.
    """
    table, fallback = with_vocabulary(config, config.recognizer), config.recognizer_fallback
    tables = table, None if fallback is None else with_vocabulary(config, fallback)
    return cast("Recognizer", _with_fallback(config, metrics, "recognizer", *tables, FallbackRecognizer))


def with_vocabulary(config: Config, table: EngineConfig) -> EngineConfig:
    """Return a recognizer's table with the agents' vocabulary, if the engine takes one and the table has
    none. Raises ConfigError.
    """
    known = [one for one in KNOWN_ENGINES if (one.stage, one.name) == ("recognizer", table.engine)]
    keys = known[0].vocabulary_keys if known else ()
    if not keys or not table.options.keys().isdisjoint(keys):
        return table
    words = agent_vocabulary(config.agent, config.instructions(), config.source)
    return table.model_copy(update={keys[0]: words}) if words else table


def build_recognizer_alone(config: Config) -> Recognizer:
    """Return the configured recognizer without its fallback: it understands what calls understand.

    Raises ConfigError.
    """
    table = with_vocabulary(config, config.recognizer)
    return cast(
        "Recognizer",
        build_engine(
            "recognizer",
            table,
            config.source,
            language=config.agent.language,
            others=config.further_languages("recognizer"),
        ),
    )


def build_synthesizer(config: Config, metrics: Metrics) -> Synthesizer:
    """Return the synthesizer and its fallback. Raises ConfigError. metrics: see `build_recognizer`."""
    tables = config.synthesizer, config.synthesizer_fallback
    usual = cast("Synthesizer", _with_fallback(config, metrics, "synthesizer", *tables, FallbackSynthesizer))
    others = {
        code: _synthesizer_of(config, metrics, code, table.synthesizer)
        for code, table in config.languages.items()
        if table.synthesizer is not None
    }
    return SynthesizerByLanguage(usual, others) if others else usual


def _synthesizer_of(config: Config, metrics: Metrics, code: str, table: EngineConfig) -> Synthesizer:
    """Return the synthesizer that a language has for itself. Raises ConfigError."""
    name, supervision = f"languages.{code}.synthesizer", config.timeouts.of_engines()
    built = build_engine("synthesizer", table, config.source, name, supervision, code)
    return _cached(config, metrics, built, table, code)


def _with_fallback(
    config: Config,
    metrics: Metrics,
    stage: Stage,
    table: EngineConfig,
    fallback: EngineConfig | None,
    both: type[FallbackRecognizer | FallbackSynthesizer],
) -> object:
    try:
        primary: Any = _built(config, stage, table)
    except (WeightsMissing, WeightsDamaged) as error:
        if fallback is None:
            raise
        if isinstance(error, WeightsMissing):
            log.error("weights_missing", stage=stage, instead=fallback.engine, reason=str(error))
        else:
            log.error("weights_damaged", stage=stage, instead=fallback.engine, reason=str(error))
        return _built(config, stage, fallback, f"{stage}_fallback")
    if stage == "synthesizer":
        primary = _cached(config, metrics, primary, table, config.agent.language)
    if fallback is None:
        return primary
    other: Any = _built(config, stage, fallback, f"{stage}_fallback")
    waits, breaker = config.timeouts, config.resilience.to_breaker()
    timeout_s = FALLBACK_SHARE * (waits.transcript_s if stage == "recognizer" else waits.first_audio_s)
    return both(stage, primary, other, breaker, timeout_s, count=_counting(metrics.speech_failures, stage))


def _cached(
    config: Config, metrics: Metrics, synthesizer: Synthesizer, table: EngineConfig, language: str
) -> Synthesizer:
    """Put the phrase cache before a synthesizer whose sound costs something."""
    known = any(one.cached for one in KNOWN_ENGINES if (one.stage, one.name) == ("synthesizer", table.engine))
    if not known:
        return synthesizer
    voice = json.dumps([table.engine, table.options, language], sort_keys=True, default=str)
    files = PhraseFiles(phrases_folder(os.environ), DISK_BYTES)

    def count(result: CacheResult) -> None:
        metrics.phrase_cache.labels(result).inc()

    fixed = fixed_phrases(config)
    return CachedSynthesizer(synthesizer, voice, MEMORY_BYTES, files, fixed, count)


def _built(config: Config, stage: Stage, table: EngineConfig, name: str = "") -> object:
    supervision = config.timeouts.of_engines()
    language, others = config.agent.language, config.further_languages(stage)
    return build_engine(stage, table, config.source, name, supervision, language, others)


def _counting(failures: Counter, stage: Stage) -> Callable[[FailureReason], None]:
    return lambda reason: failures.labels(stage, reason).inc()


def build_engines(
    config: Config, monitor: LlmMonitor | None = None, metrics: Metrics | None = None
) -> Engines:
    """Return the configured engines, not started. Raises ConfigError, and CommandFailed if a key is missing.

    monitor: of the LLM; metrics: count failures of speech engines; new ones by default.
    """
    check_keys(config, os.environ)
    counted = metrics or Metrics()
    # CTranslate2 runs in the process of the engines, although it is native code: the demo's model must run
    # wherever Python does. A response of 18 pieces costs 32 ms of CPU there. A separate process would add 2.7
    # ms (0.15 a piece, some 25 ms a minute and call), 0.5 ms to the first piece after 6.8, and 44 MB. A crash
    # ends the server; to avoid that, use an LLM in a process of its own: vLLM, or any server with OpenAI's
    # API.
    return Engines(
        recognizer=build_recognizer(config, counted),
        llm=build_llm(
            config,
            config.source,
            monitor or LlmMonitor(LlmMetrics(CollectorRegistry())),
            ttft_budget_s=config.budget.llm_ttft_ms / 1000,
            max_prompt_characters=config.limits.max_prompt_characters,
        ),
        synthesizer=build_synthesizer(config, counted),
    )
