"""The agent of a configuration, ready to be called in virtual time, typed or by sound."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from audio.pcm import Samples
from audio.synthesizers import Synthesizer
from llmcore.engine import Llm
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.agents.agent import Agent
from voiceagent.agents.load import load_agents
from voiceagent.agents.running import RunningAgent
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine
from voiceagent.engines.config import EngineConfig
from voiceagent.engines.engines import Engines
from voiceagent.evals.caller import Caller, LlmCaller, ScriptedCaller
from voiceagent.evals.delivery import Delivery, Microphone, words_in
from voiceagent.evals.folder import SETTINGS
from voiceagent.evals.hearing import Hearing
from voiceagent.evals.record import CallRecord, Limit, Role, Said
from voiceagent.evals.scenario import EvalFile, Scenario, Times
from voiceagent.evals.sound_call import SoundCall, tools_of
from voiceagent.evals.virtual_engines import EngineThread, VirtualLlm, VirtualSynthesizer
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.llm.stack import build_llm
from voiceagent.server.engine_building import build_recognizer, build_synthesizer
from voiceagent.server.startup import compose
from voiceagent.session.services import Services
from voiceagent.telemetry.llm_metrics import LlmMetrics
from voiceagent.telemetry.metrics import Metrics
from voiceagent.testing.typed_caller import VIRTUAL_ANSWER_TIMEOUT_S, TypedCaller
from voiceagent.transports.local_call import speak

if TYPE_CHECKING:
    from voiceagent.evals.kept_runs import KeptRuns

_INSTANT = Times(first_token_s=0.0, first_audio_s=0.0)
"""Times of the caller's own engines: the caller's thinking is part of the pauses."""


@dataclass(frozen=True, slots=True)
class CallableAgent:
    """An agent with its started engines.

    services: None for typed calls. caller_llm: of callers without a script. judges: one, or two for a second
    opinion. voice: of the callers, None for typed calls. spoken: their texts so far. hearing: of the
    callers, who read the agent's words without it. kept: keeps the calls by sound, if given.
    """

    config: Config
    kind: type[Agent] | None
    services: Services | None
    llm: Llm
    caller_llm: Llm
    judges: tuple[Llm, ...]
    voice: Synthesizer | None
    spoken: dict[str, Samples]
    hearing: Hearing | None = None
    kept: KeptRuns | None = None

    async def call(self, scenario: Scenario, seed: int) -> CallRecord:
        """Make one call. seed: of the caller's random choices.

        Raises CallerError, RecognizerError, SynthesizerError.
        """
        began_s = time.thread_time()
        random = Random(f"{scenario.name} {seed}")
        language = self.config.agent.language
        caller: Caller
        if scenario.file.script:
            caller = ScriptedCaller(scenario.file, random, language, self.hearing is not None)
        else:
            caller = LlmCaller(self.caller_llm, scenario.file, random, language)
        if self.services is None:
            record = await self._typed(scenario, caller)
        else:
            record = await self._by_sound(self.services, scenario, caller, random, seed)
        return replace(record, processor_s=time.thread_time() - began_s)

    async def _by_sound(
        self, services: Services, scenario: Scenario, caller: Caller, random: Random, seed: int
    ) -> CallRecord:
        agent = None if self.kind is None else RunningAgent("eval", self.kind)
        microphone = Microphone(scenario.file.line, seed)
        delivery = Delivery(scenario.file.persona, scenario.file.line, random, self._speak)
        parts = services, agent, caller, delivery, microphone, random
        if self.kept is None:
            return await SoundCall(*parts, hearing=self.hearing).run(scenario.file.parameters, _Line())
        async with self.kept.keep(scenario.name, seed, services) as recording:
            call = SoundCall(*parts, recording.subscribe, self.hearing)
            record = await call.run(scenario.file.parameters, _Line())
        return replace(record, call_id=recording.call_id)

    async def _typed(self, scenario: Scenario, caller: Caller) -> CallRecord:
        kind = self.kind or type("Configured", (Agent,), {"instructions": self.config.instructions()})
        agent = RunningAgent("eval", kind)
        clock = asyncio.get_running_loop().time
        language = self.config.agent.language
        typed = await TypedCaller.call(
            *(self.llm, agent, scenario.file.parameters, _Line(), language, clock, VIRTUAL_ANSWER_TIMEOUT_S)
        )
        try:
            said = await _typed_lines(typed, caller)
            ended_by: Role = "agent" if typed.hung_up else "caller"
            cut_by: Limit = "max_turns" if caller.is_cut and not typed.hung_up else ""
        finally:
            await typed.close()
            await agent.hooks_over()
        return CallRecord(
            tuple(said),
            tools_of(typed.session.items),
            tuple(typed.understood),
            ended_by=ended_by,
            spoken=False,
            language=language,
            cut_by=cut_by,
        )

    async def _speak(self, text: str) -> Samples:
        if self.voice is None:
            raise ValueError("a typed call has no voice")
        if text not in self.spoken:
            self.spoken[text] = await speak(self.voice, text)
        return self.spoken[text]


async def _typed_lines(typed: TypedCaller, caller: Caller) -> list[Said]:
    """Type the caller's lines until a side hangs up; return what both said."""
    said: list[Said] = []
    heard = 0
    while True:
        answer = " ".join(typed.words[heard:])
        heard = len(typed.words)
        said += [Said("agent", answer)] if answer else []
        if typed.hung_up or (line := await caller.next(answer)) is None:
            return said
        caller.over_agent_s()
        if words := words_in(line.text):
            said.append(Said("caller", words))
            await typed.say(words)
        else:
            await typed.stay_silent()


@asynccontextmanager
async def callable_agent(
    config: Config, settings: EvalFile, folder: Path, typed: bool, calls: Path | None = None
) -> AsyncIterator[CallableAgent]:
    """Yield the agent with started engines, in a virtual time loop.

    settings: of the folder. typed: without speech engines. calls: folder in which calls by sound are kept.
    Raises ConfigError, and the engines' errors.
    """
    async with AsyncExitStack() as closing:
        kept = None if calls is None or typed else _kept_runs(calls, closing)
        thread = closing.enter_context(EngineThread())
        own = _OwnEngines(closing, thread, folder / SETTINGS)
        llm = VirtualLlm(_llm_of(config), thread, settings.times)
        caller_llm = llm if settings.caller is None else await own.llm("caller", settings.caller)
        tables = (("judge", settings.judge), ("second_judge", settings.second_judge))
        judges = tuple([await own.llm(name, table) for name, table in tables if table is not None])
        kind = load_agents(config.agent, config.instructions(), config.source).usual
        services, voice, hearing = None, None, None
        if typed:
            closing.push_async_callback(llm.close)
            await llm.start()
        else:
            voice = await own.voice(config, settings.voice)
            if settings.recognizer is not None:
                hearing = await own.hearing(settings.recognizer, config.agent.language)
            services = await _services(config, closing, llm, thread, settings)
        yield CallableAgent(config, kind, services, llm, caller_llm, judges, voice, {}, hearing, kept)


def _kept_runs(folder: Path, closing: AsyncExitStack) -> KeptRuns:
    from voiceagent.evals.kept_runs import KeptRuns  # noqa: PLC0415  it needs the extra `calls`

    kept = KeptRuns(folder)
    closing.callback(kept.close)
    return kept


def _llm_of(config: Config) -> Llm:
    return build_llm(
        config,
        config.source,
        LlmMonitor(LlmMetrics(CollectorRegistry())),
        ttft_budget_s=config.budget.llm_ttft_ms / 1000,
        max_prompt_characters=config.limits.max_prompt_characters,
    )


async def _services(
    config: Config, closing: AsyncExitStack, llm: Llm, thread: EngineThread, settings: EvalFile
) -> Services:
    metrics = Metrics()
    synthesizer = VirtualSynthesizer(build_synthesizer(config, metrics), thread, settings.times)
    engines = Engines(build_recognizer(config, metrics), llm, synthesizer)
    closing.push_async_callback(engines.close)
    await engines.start()
    clock = asyncio.get_running_loop().time
    return await compose(config, engines, metrics, LoadShedder(), clock)


@dataclass(frozen=True, slots=True)
class _OwnEngines:
    """Builds and starts the engines of a folder's settings, which are closed at the end."""

    closing: AsyncExitStack
    thread: EngineThread
    source: Path

    async def llm(self, name: str, table: EngineConfig) -> VirtualLlm:
        engine = VirtualLlm(build_engine("llm", table, self.source, name), self.thread, _INSTANT)
        self.closing.push_async_callback(engine.close)
        await engine.start()
        return engine

    async def voice(self, config: Config, table: EngineConfig | None) -> VirtualSynthesizer:
        if table is None:
            built = build_synthesizer(config, Metrics())
        else:
            built = build_engine("synthesizer", table, self.source, "voice")
        engine = VirtualSynthesizer(built, self.thread, _INSTANT)
        self.closing.push_async_callback(engine.close)
        await engine.start()
        return engine

    async def hearing(self, table: EngineConfig, language: str) -> Hearing:
        hearing = Hearing(build_engine("recognizer", table, self.source, language=language), self.thread)
        self.closing.push_async_callback(hearing.close)
        await hearing.start()
        return hearing


class _Line:
    """A phone line that accepts transfers and keys."""

    outbound = None

    async def transfer(self, destination: str = "", number: str = "", brief: str = "") -> None:
        """Accept the transfer."""

    async def send_digits(self, digits: str) -> None:
        """Accept the keys."""
