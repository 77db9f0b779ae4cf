"""All engines of a server, made from its configuration."""

from __future__ import annotations

from functools import partial
from typing import cast

from prometheus_client import CollectorRegistry

from audio.recognizers import Recognizer
from audio.synthesizers import Synthesizer
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine
from voiceagent.engines.engines import Engines
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.llm.stack import build_llm
from voiceagent.telemetry.llm_metrics import LlmMetrics


def build_engines(config: Config, monitor: LlmMonitor | None = None) -> Engines:
    """Make the engines that `config` chose, without starting them. Raises ConfigError.

    monitor: what monitors the LLM; nothing to be seen by default.
    """
    build = partial(build_engine, source=config.source, supervision=config.supervision.of_engines())
    return Engines(
        recognizer=cast("Recognizer", build("recognizer", config.recognizer)),
        llm=build_llm(
            config,
            config.source,
            monitor or LlmMonitor(LlmMetrics(CollectorRegistry())),
            ttft_budget_s=config.budget.llm_ttft_ms / 1000,
            max_prompt_characters=config.limits.max_prompt_characters,
        ),
        synthesizer=cast("Synthesizer", build("synthesizer", config.synthesizer)),
    )
