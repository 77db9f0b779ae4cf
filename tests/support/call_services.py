"""The services that a call needs, around engines that a test gives; the tables have their defaults."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from call_settings import call_settings

from audio.detection.front_end import FrontEnd
from audio.playout import LEAD_S
from audio.recognizers import Recognizer
from audio.synthesizers.voices import VoiceSettings
from llmcore.engine import Llm
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.conversation.agent_config import AgentConfig, LanguageConfig
from voiceagent.conversation.config import BudgetConfig, HistoryConfig, TurnConfig
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.config import EchoConfig
from voiceagent.session.deadlines import StageLimits
from voiceagent.session.services import Answering, Hearing, Measuring, Services, Speaking
from voiceagent.session.set_phrases import make_phrase
from voiceagent.session.timers import Pacer
from voiceagent.telemetry.metrics import Metrics

BUFFER_S = 10.0


def hearing(
    recognizer: Recognizer,
    front_end: FrontEnd | None = None,
    *,
    echo: EchoConfig | None = None,
    input_buffer_s: float = BUFFER_S,
) -> Hearing:
    """Return the input side, without a turn model."""
    if front_end is None:
        front_end = FrontEnd()
        front_end.start()
    return Hearing(
        front_end, recognizer, None, TurnConfig().to_endpointing(), echo or EchoConfig(), input_buffer_s
    )


def call_monitor() -> CallMonitor:
    """Return the monitor of a call without supervisor."""
    measuring = Measuring(Metrics(), BudgetConfig().to_budget(), time.monotonic)
    return CallMonitor("tested", measuring, StageLimits(), lambda awaited, reason: None, lambda *_: None)


async def speaking(synthesizer: Any, agent: AgentConfig, pacer: Pacer | None = None) -> Speaking:
    """Return the output side: apology and filler are synthesized once here."""
    apology = await make_phrase(agent.apology, agent.language, synthesizer)
    filler = await make_phrase(agent.filler, agent.language, synthesizer) if agent.filler else None
    return Speaking(
        synthesizer,
        agent.language,
        LEAD_S,
        pacer or Pacer(time.monotonic),
        agent.greeting,
        apology,
        filler,
        agent.filler_after_s,
    )


async def call_services(
    recognizer: Any,
    llm: Llm | Any,
    synthesizer: Any,
    *,
    agent: AgentConfig | None = None,
    history: HistoryConfig | None = None,
    metrics: Metrics | None = None,
    settings: CallSettings | None = None,
    clock: Callable[[], float] = time.monotonic,
    **of_hearing: Any,
) -> Services:
    """Services around started engines. of_hearing: of `hearing`, by name."""
    agent, history, turn = agent or AgentConfig(), history or HistoryConfig(), TurnConfig()
    return Services(
        hearing(recognizer, **of_hearing),
        await speaking(synthesizer, agent, Pacer(clock)),
        Answering(llm, turn.to_policy(agent, history), turn.preemptive_tokens, history),
        Measuring(metrics or Metrics(), BudgetConfig().to_budget(), clock),
        settings or call_settings(instructions=agent.instructions, turn_detection=turn.to_detection()),
        LoadShedder(),
    )


async def in_languages(services: Services, *languages: str) -> Services:
    """Return services whose calls are in these further languages too, with English first. The voice of each
    has its code as its name.
    """
    agent = AgentConfig()
    others = [LanguageConfig().to_agent(code, agent) for code in languages]
    answering, usual = services.answering, services.speaking
    speaking_in = {
        other.language: replace(
            await speaking(usual.synthesizer, other, usual.pacer),
            voice=VoiceSettings(other.language, language=other.language),
        )
        for other in others
    }
    policy = TurnConfig().to_policy(agent, answering.history, others=others)
    return replace(
        services,
        speaking=replace(usual, others=speaking_in),
        answering=replace(answering, policy=policy),
        settings=replace(services.settings, language=agent.language),
    )
