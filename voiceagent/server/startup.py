"""From a configuration to services that are ready for calls, each part made from its tables, and to their
end."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import structlog
from prometheus_client import CollectorRegistry, Counter

from audio.detection.front_end import FrontEnd
from audio.detection.smart_turn import SmartTurn, TurnModelError
from audio.detection.vad import VadError
from audio.echo import EchoError
from audio.recognizers import Recognizer, RecognizerError
from audio.synthesizers import Synthesizer, SynthesizerError
from llmcore.cache.vectors import EmbeddingError
from llmcore.engine import LlmError
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.agents.load import beginning_of
from voiceagent.config.tables import Config
from voiceagent.conversation.tool_names import free_names
from voiceagent.engines.build import WeightsMissing, build_engine
from voiceagent.engines.catalogue import KNOWN_ENGINES, Stage
from voiceagent.engines.config import EngineConfig
from voiceagent.engines.engines import Engines
from voiceagent.engines.fallback import FailureReason, FallbackRecognizer, FallbackSynthesizer
from voiceagent.engines.phrase_cache import CachedSynthesizer, CacheResult
from voiceagent.engines.phrase_files import PhraseFiles, phrases_folder
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.llm.stack import build_llm
from voiceagent.mcp.pool import McpPool
from voiceagent.processes.rounds import ROUND_S
from voiceagent.server.context import build_context
from voiceagent.server.fixed_phrases import fixed_phrases, speak_ahead
from voiceagent.server.warm_up import WarmUpError, warm_up
from voiceagent.session.services import Answering, Hearing, Measuring, Services, Speaking, make_phrase
from voiceagent.session.timers import Pacer
from voiceagent.telemetry.llm_metrics import LlmMetrics
from voiceagent.telemetry.metrics import Metrics
from voiceagent.validation.errors import CommandFailed
from voiceagent.webhooks.message import WebhookEvent
from voiceagent.webhooks.sender import WebhookSender

log = structlog.get_logger()

AGAIN_S = 3.0
"""The longest warm-up where the engines are known to work."""
_CANNOT_START = (
    RecognizerError,
    LlmError,
    SynthesizerError,
    VadError,
    TurnModelError,
    WarmUpError,
    EmbeddingError,
    EchoError,
)
WORKER_TICK_S = 0.012
"""The tick of the front end of one worker among several: each worker has fewer calls, whose windows meet less
often, and a run for few costs nearly as much as one for many. It is shorter than a round in which connections
are read, even one that follows a late one after 8 ms: what came in a round is judged in it, and does not wake
the process a second time."""


IN_ROUNDS_LEAD_S = 3 * ROUND_S
"""Sound that is sent this far ahead is paced in rounds: at least two of them stay at the remote."""


@asynccontextmanager
async def started(
    config: Config,
    engines: Engines,
    metrics: Metrics,
    shedder: LoadShedder | None = None,
    engines_work: bool = False,
) -> AsyncIterator[tuple[Services, dict[str, float]]]:
    """Services around started engines, and the seconds each stage took in a warm-up turn.

    shedder: what is given up while there is too much to do; without one nothing ever is. engines_work:
    whether it is known that they do; if they then fail to at the moment, calls are taken all the same.
    Everything is closed in the end. Raises CommandFailed where an engine does not start or does not work, and
    ConfigError.
    """
    async with AsyncExitStack() as closing:
        closing.push_async_callback(engines.close)
        mcp = McpPool(config.mcp, config.agent.mcp, os.environ, config.source)
        closing.push_async_callback(mcp.close)
        try:
            await engines.start()
            services = replace(await compose(config, engines, metrics, shedder or LoadShedder()), mcp=mcp)
            if services.hearing.turn_model is not None:
                closing.push_async_callback(services.hearing.turn_model.close)
            await mcp.start()
            if (context := build_context(config, mcp, metrics)) is not None:
                closing.callback(context.close)
                await context.start()
                services = replace(services, answering=replace(services.answering, context=context))
            latency = {}
            if config.upstream.url is None:
                latency = await _warmed_up(_with_prompt(config, services, mcp), engines_work)
        except _CANNOT_START as error:
            raise CommandFailed(f"cannot start: {error}") from error
        if config.phrase_cache.memory_mb:
            ahead = asyncio.create_task(speak_ahead(engines.synthesizer, fixed_phrases(config)))
            closing.push_async_callback(_cancelled, ahead)
        # What was loaded so far stays: the garbage collector need not stop every call to look at it again.
        gc.collect()
        gc.freeze()
        yield services, latency


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _with_prompt(config: Config, services: Services, mcp: McpPool) -> Services:
    """Services whose calls begin as the agent's, so that its prompt gets into the prefix cache. Its tools,
    and those of MCP servers, are as if a client had brought them, for they are not run. Raises ConfigError.
    """
    prompt, own = beginning_of(config.agent, services.settings.instructions, config.source)
    owned = [
        *(("agent", tool) for tool in own),
        *((tool.config.label, tool.mcp.tool) for tool in mcp.configured()),
    ]
    names = free_names((owner, tool.name) for owner, tool in owned)  # same rule as in calls
    tools = tuple(replace(tool, name=name) for name, (_, tool) in zip(names, owned, strict=True))
    return replace(services, settings=replace(services.settings, instructions=prompt, tools=tools), mcp=None)


async def _warmed_up(services: Services, engines_work: bool) -> dict[str, float]:
    """The latencies of the warm-up turn. Raises WarmUpError, SynthesizerError, unless `engines_work`."""
    if not engines_work:
        return await warm_up(services)
    try:
        return await warm_up(services, AGAIN_S)
    except (WarmUpError, SynthesizerError) as error:
        log.warning("warm_up_failed", reason=str(error))
        return {}


async def compose(
    config: Config,
    engines: Engines,
    metrics: Metrics,
    shedder: LoadShedder,
    clock: Callable[[], float] = time.monotonic,
) -> Services:
    """Put the services together around engines that have been started. clock: the event loop's own.

    Raises ConfigError, VadError, TurnModelError, SynthesizerError.
    """
    return Services(
        hearing=await _hearing(config, engines.recognizer),
        speaking=await _speaking(config, engines.synthesizer, _pacer(config, clock)),
        answering=Answering(
            engines.llm,
            policy=config.turn.to_policy(config.agent, config.history, config.limits),
            preemptive_tokens=config.turn.preemptive_tokens,
            history=config.history,
        ),
        measuring=Measuring(metrics, config.budget.to_budget(), clock),
        settings=config.call_settings(),
        shedder=shedder,
        deadlines=config.deadlines,
    )


async def _hearing(config: Config, recognizer: Recognizer) -> Hearing:
    # Voice activity detection stays in the process that has the calls, native code though it is. A window
    # costs 59 us there, 21 where those of eight calls are run together. A process of its own adds 114 us of
    # the CPU to each (0.2 s a minute and call, two to five times the work itself), and 110 us at the median,
    # 180 at the 95th percentile, to each pause. A crash ends one worker, or the server where that is alone.
    front_end = FrontEnd() if config.server.workers == 1 else FrontEnd(tick_s=WORKER_TICK_S)
    front_end.start()
    return Hearing(
        front_end,
        recognizer,
        turn_model=await _start_turn_model(config.turn.model),
        endpoint=config.turn.to_endpointing(),
        echo=config.echo,
        input_buffer_s=config.server.input_buffer_s,
    )


async def _speaking(config: Config, synthesizer: Synthesizer, pacer: Pacer) -> Speaking:
    agent = config.agent
    apology = await make_phrase(agent.apology, agent.language, synthesizer)
    refusal = await make_phrase(agent.refusal, agent.language, synthesizer)
    filler = await make_phrase(agent.filler, agent.language, synthesizer) if agent.filler else None
    return Speaking(
        synthesizer,
        agent.language,
        lead_s=config.playout.lead_s,
        pacer=pacer,
        greeting=agent.greeting,
        apology=apology,
        filler=filler,
        filler_after_s=agent.filler_after_s,
        refusal=refusal,
    )


def _pacer(config: Config, clock: Callable[[], float]) -> Pacer:
    # with a shorter lead, a frame that is a round late could leave the remote without sound
    return Pacer(clock, in_rounds=config.playout.lead_s >= IN_ROUNDS_LEAD_S)


async def _start_turn_model(model: str) -> SmartTurn | None:
    if not model:
        return None
    turn_model = SmartTurn(None if model == "installed" else Path(model))
    await turn_model.start()
    return turn_model


def build_recognizer(config: Config, metrics: Metrics) -> Recognizer:
    """The recognizer that `config` chose, with its fallback. Raises ConfigError.

    metrics: where it is counted when the fallback is wanted.
    """
    tables = config.recognizer, config.recognizer_fallback
    return cast("Recognizer", _with_fallback(config, metrics, "recognizer", *tables, FallbackRecognizer))


def build_synthesizer(config: Config, metrics: Metrics) -> Synthesizer:
    """As `build_recognizer`, for the synthesizer."""
    tables = config.synthesizer, config.synthesizer_fallback
    return cast("Synthesizer", _with_fallback(config, metrics, "synthesizer", *tables, FallbackSynthesizer))


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
    except WeightsMissing as error:
        if fallback is None:
            raise
        log.error("weights_missing", stage=stage, instead=fallback.engine, reason=str(error))
        return _built(config, stage, fallback, f"{stage}_fallback")
    if stage == "synthesizer":
        primary = _cached(config, metrics, primary)
    if fallback is None:
        return primary
    other: Any = _built(config, stage, fallback, f"{stage}_fallback")
    breaker, timeout_s = config.resilience.to_breaker(), config.resilience.speech_timeout_s
    return both(stage, primary, other, breaker, timeout_s, count=_counting(metrics.speech_failures, stage))


def _cached(config: Config, metrics: Metrics, synthesizer: Synthesizer) -> Synthesizer:
    """Put the phrase cache before a synthesizer whose sound costs something."""
    cache, table = config.phrase_cache, config.synthesizer
    known = any(one.cached for one in KNOWN_ENGINES if (one.stage, one.name) == ("synthesizer", table.engine))
    if not known or not cache.memory_mb:
        return synthesizer
    voice = json.dumps([table.engine, table.options, config.agent.language], sort_keys=True, default=str)
    files = PhraseFiles(phrases_folder(os.environ), cache.disk_mb * 1_000_000) if cache.disk_mb else None

    def count(result: CacheResult) -> None:
        metrics.phrase_cache.labels(result).inc()

    fixed = fixed_phrases(config)
    return CachedSynthesizer(synthesizer, voice, cache.memory_mb * 1_000_000, files, fixed, count)


def _built(config: Config, stage: Stage, table: EngineConfig, name: str = "") -> object:
    supervision = config.supervision.of_engines()
    return build_engine(stage, table, config.source, name, supervision, config.agent.language)


def _counting(failures: Counter, stage: Stage) -> Callable[[FailureReason], None]:
    return lambda reason: failures.labels(stage, reason).inc()


def build_engines(
    config: Config, monitor: LlmMonitor | None = None, metrics: Metrics | None = None
) -> Engines:
    """Make the engines that `config` chose, without starting them. Raises ConfigError.

    monitor: what monitors the LLM; metrics: where failures of speech are counted; by default nobody sees
    either.
    """
    counted = metrics or Metrics()
    # CTranslate2 stays in the process that has the engines, native code though it is: the demo's model is to
    # run wherever Python does. A response of 18 pieces costs 32 ms of the CPU there; apart from it, 2.7 more
    # (0.15 a piece, some 25 ms a minute and call), 0.5 ms to the first piece after 6.8, and 44 MB. A crash
    # ends the server; who will not have that takes an LLM that is apart anyway: vLLM, or any server with
    # OpenAI's API.
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


def webhook_sender(
    config: Config, metrics: Metrics, hand_over: Callable[[WebhookEvent], bool] = lambda event: False
) -> WebhookSender | None:
    """What posts events, None where nobody is told; nothing is done before `posting`. Raises ConfigError.

    hand_over: see `WebhookSender`.
    """
    table = config.webhooks
    if table.url is None:
        return None
    secret = table.secret(os.environ, config.source)
    return WebhookSender(table, secret, metrics.registry, hand_over=hand_over)


@asynccontextmanager
async def posting(sender: WebhookSender | None) -> AsyncIterator[None]:
    """Post events, if somebody is told; what still waits in the end has some seconds."""
    if sender is None:
        yield
        return
    task = asyncio.create_task(sender.run(), name="webhooks")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
