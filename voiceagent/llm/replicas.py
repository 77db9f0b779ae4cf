"""Construction of an LLM with replicas from its configuration table."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from llmcore.policies.session_affinity import Choice, SessionAffinity
from llmcore.serving.replicated_engine import ReplicatedLlm
from voiceagent.engines.build import build_engine
from voiceagent.engines.config import EngineConfig
from voiceagent.llm.config import LlmEngineConfig, PriorityConfig, ResilienceConfig
from voiceagent.validation.errors import problem

if TYPE_CHECKING:  # importing the openai package takes a quarter of a server's import time
    from llmcore.engines.openai_engine import OpenAILlm

TIMEOUT_SHARE = 0.5
"""Share of the time limits in `[resilience]` for one replica, so that another can still answer in time."""


def build_replicas(
    name: str,
    table: LlmEngineConfig,
    source: Path,
    priority: PriorityConfig,
    resilience: ResilienceConfig,
    observe: Callable[[Choice], None],
) -> ReplicatedLlm:
    """Build the engine of the table `name` for each of its `replicas`. Raises ConfigError.

    observe: called with each request's replica and the reason. `[priority] max_running` is shared by all
    replicas; the table's `retries` are further replicas to try.
    """
    if table.engine != "openai":
        message = "has no replicas; allowed with them: openai"
        raise problem(source, f"{name}.engine", table.engine, message)
    if "base_url" in table.options:
        message = "stands beside replicas; allowed: one of the two"
        raise problem(source, f"{name}.base_url", table.options["base_url"], message)
    limits = {
        "first_token_timeout_s": TIMEOUT_SHARE * resilience.first_token_timeout_s,
        "timeout_s": TIMEOUT_SHARE * resilience.stall_timeout_s,
    }
    replicas: dict[str, OpenAILlm] = {}
    for url in table.replicas:
        options = limits | table.options | {"base_url": url}
        config = EngineConfig.model_validate({"engine": table.engine} | options)
        replicas[url] = build_engine("llm", config, source, name)
    tries = 1 + min(replica.retries for replica in replicas.values())
    for replica in replicas.values():
        replica.retries = 0  # the next attempt is another replica's
    max_running = math.ceil(priority.max_running / len(replicas))
    return ReplicatedLlm(replicas, SessionAffinity(tuple(replicas), max_running), tries, observe)
