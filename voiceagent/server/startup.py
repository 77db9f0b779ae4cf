"""Composition of the services from the configuration, their start and their shutdown."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import structlog

from audio.detection.front_end import FrontEnd
from audio.detection.smart_turn import SmartTurn, TurnModelError
from audio.detection.vad import VadError
from audio.echo import EchoError
from audio.playout import LEAD_S
from audio.recognizers import Recognizer, RecognizerError
from audio.synthesizers import Synthesizer, SynthesizerError, voice_in
from audio.synthesizers.voices import USUAL_SETTINGS, VoiceSettings
from llmcore.cache.vectors import EmbeddingError
from llmcore.engine import LlmError
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.agents.load import beginning_of
from voiceagent.config.tables import Config
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.tool_names import free_names
from voiceagent.engines.engines import Engines
from voiceagent.mcp.pool import McpPool
from voiceagent.processes.threads import tune_interpreter
from voiceagent.server.context import build_context
from voiceagent.server.fixed_phrases import fixed_phrases, speak_ahead
from voiceagent.server.warm_up import WarmUpError, warm_up
from voiceagent.session.deadlines import StageLimits
from voiceagent.session.services import Answering, Hearing, Measuring, Services, Speaking
from voiceagent.session.set_phrases import SetPhrase, make_phrase
from voiceagent.session.text_languages import TextLanguages
from voiceagent.session.timers import Pacer
from voiceagent.telemetry.metrics import Metrics
from voiceagent.validation.errors import CommandFailed, config_error
from voiceagent.webhooks.message import WebhookEvent
from voiceagent.webhooks.sender import WebhookSender

log = structlog.get_logger()

KNOWN_ENGINES_TIMEOUT_S = 3.0
"""Timeout of the warm-up if the engines are known to work."""
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
"""Tick of the front end in one worker among several. Each worker has fewer calls, whose windows coincide less
often, and a batch of few costs nearly as much as one of many. It is shorter than the tick in which
connections are read, even one of 8 ms after a late one: audio read in a tick is processed in it, without a
second wake-up.
"""


@asynccontextmanager
async def started(
    config: Config,
    engines: Engines,
    metrics: Metrics,
    shedder: LoadShedder | None = None,
    engines_work: bool = False,
) -> AsyncIterator[tuple[Services, dict[str, float]]]:
    """Yield the services around started engines, and the seconds of each stage of a warm-up turn.

    shedder: controls load shedding; without one there is none. engines_work: the engines are known to work,
    so a failing warm-up is only logged. Everything is closed at the end of the block. Raises CommandFailed if
    an engine does not start or work, and ConfigError.
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
                latency = await _warm_up(_with_prompt(config, services, mcp), engines_work)
        except _CANNOT_START as error:
            raise CommandFailed(f"cannot start: {error}") from error
        ahead = asyncio.create_task(speak_ahead(engines.synthesizer, fixed_phrases(config)))
        closing.push_async_callback(_cancel, ahead)
        tune_interpreter()
        yield services, latency


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _with_prompt(config: Config, services: Services, mcp: McpPool) -> Services:
    """Return services whose prompt begins as the agent's, so that the warm-up fills the prefix cache. Tools
    of the agent and of MCP servers are added as a client's tools, as they are not run. Raises ConfigError.
    """
    prompt, own = beginning_of(config.agent, services.settings.instructions, config.source)
    owned = [
        *(("agent", tool) for tool in own),
        *((tool.config.label, tool.mcp.tool) for tool in mcp.configured()),
    ]
    names = free_names((owner, tool.name) for owner, tool in owned)  # same rule as in calls
    tools = tuple(replace(tool, name=name) for name, (_, tool) in zip(names, owned, strict=True))
    return replace(services, settings=replace(services.settings, instructions=prompt, tools=tools), mcp=None)


async def _warm_up(services: Services, engines_work: bool) -> dict[str, float]:
    """Return the warm-up turn's latencies. Raises WarmUpError, SynthesizerError, unless `engines_work`."""
    if not engines_work:
        return await warm_up(services)
    try:
        return await warm_up(services, KNOWN_ENGINES_TIMEOUT_S)
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
    """Compose the services around started engines. clock: must be the event loop's own.

    Raises ConfigError, VadError, TurnModelError, SynthesizerError.
    """
    return Services(
        hearing=await _hearing(config, engines.recognizer),
        speaking=await _speaking(config, engines.synthesizer, Pacer(clock, in_rounds=True)),
        answering=Answering(
            engines.llm,
            policy=config.turn.to_policy(
                config.agent,
                config.history,
                config.limits,
                reviews=config.back_llm is not None,
                others=config.agents_in_languages(),
            ),
            preemptive_tokens=config.turn.preemptive_tokens,
            history=config.history,
        ),
        measuring=Measuring(metrics, config.budget.to_budget(), clock),
        settings=config.call_settings(),
        shedder=shedder,
        limits=StageLimits.of(config.timeouts),
        text_languages=await _text_languages(config),
    )


async def _text_languages(config: Config) -> TextLanguages | None:
    """Load the identification of texts' languages if calls serve several. Raises ConfigError."""
    if not config.languages:
        return None
    languages = config.all_languages
    try:
        return await asyncio.to_thread(TextLanguages, languages)
    except ImportError as error:
        message = "needs the language of texts: pip install 'voiceagent-server[languages]'"
        raise config_error(config.source, "languages", list(config.languages), message) from error
    except ValueError as error:
        raise config_error(config.source, "languages", list(config.languages), str(error)) from error


async def _hearing(config: Config, recognizer: Recognizer) -> Hearing:
    # Voice activity detection runs in the process of the calls, although it is native code. A window costs 59
    # us there, 21 us in a batch of eight calls. A separate process would add 114 us of CPU to each (0.2 s a
    # minute and call, two to five times the work itself), and 110 us at the median, 180 us at the 95th
    # percentile, to each pause. A crash ends one worker, or a server without workers.
    front_end = FrontEnd() if config.server.workers == 1 else FrontEnd(tick_s=WORKER_TICK_S)
    front_end.start()
    return Hearing(
        front_end,
        recognizer,
        turn_model=await _start_turn_model(config.turn.model),
        endpoint=config.turn.to_endpointing(),
        echo=config.echo,
        input_buffer_s=config.server.input_buffer_s,
        second_opinions="second_model" in config.recognizer.options,
    )


async def _speaking(config: Config, synthesizer: Synthesizer, pacer: Pacer) -> Speaking:
    others = {
        agent.language: await _speaking_in(agent, config, synthesizer, pacer, _voice(agent, synthesizer), {})
        for agent in config.agents_in_languages()
    }
    return await _speaking_in(config.agent, config, synthesizer, pacer, USUAL_SETTINGS, others)


def _voice(agent: AgentConfig, synthesizer: Synthesizer) -> VoiceSettings:
    """Return the settings of the usual voice in a further language."""
    code = agent.language
    return VoiceSettings(voice_in(synthesizer, code, ""), language=code)


async def _speaking_in(
    agent: AgentConfig,
    config: Config,
    synthesizer: Synthesizer,
    pacer: Pacer,
    voice: VoiceSettings,
    others: Mapping[str, Speaking],
) -> Speaking:
    """Return the services in the language of an agent's table. voice: usual one there."""

    async def make(text: str) -> SetPhrase:
        return await make_phrase(text, agent.language, synthesizer, voice)

    apology, refusal = await make(agent.apology), await make(agent.refusal)
    filler = await make(agent.filler) if agent.filler else None
    wanted = () if agent.backchannels == "off" else agent.backchannel_phrases
    backchannels = [await make(text) for text in wanted]
    return Speaking(
        synthesizer,
        agent.language,
        lead_s=LEAD_S,
        pacer=pacer,
        greeting=agent.greeting,
        apology=apology,
        filler=filler,
        filler_after_s=agent.filler_after_s,
        refusal=refusal,
        backchannels=tuple(backchannels),
        voice=voice,
        others=others,
    )


async def _start_turn_model(model: str) -> SmartTurn | None:
    if not model:
        return None
    turn_model = SmartTurn(None if model == "installed" else Path(model))
    await turn_model.start()
    return turn_model


def webhook_sender(
    config: Config, metrics: Metrics, hand_over: Callable[[WebhookEvent], bool] = lambda event: False
) -> WebhookSender | None:
    """Return the sender of events, or None if not configured; it works only within `posting_webhooks`. Raises
    ConfigError.

    hand_over: see `WebhookSender`.
    """
    table = config.webhooks
    if table.url is None:
        return None
    secret = table.secret(os.environ, config.source)
    return WebhookSender(table, secret, metrics.registry, hand_over=hand_over)


@asynccontextmanager
async def posting_webhooks(sender: WebhookSender | None) -> AsyncIterator[None]:
    """Post events, if configured, for the length of the block; queued ones then have some seconds."""
    if sender is None:
        yield
        return
    task = asyncio.create_task(sender.run(), name="webhooks")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
