"""An LLM that has replicas: its table in the configuration made to one engine around those of all of them."""

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

if TYPE_CHECKING:  # openai's package takes as long to import as a quarter of all that a server does
    from llmcore.engines.openai_engine import OpenAILlm

SHARE = 0.5
"""The part of the time that `[resilience]` gives the LLM which one replica gets: another can then still
answer in time."""


def build_replicas(
    name: str,
    table: LlmEngineConfig,
    source: Path,
    priority: PriorityConfig,
    resilience: ResilienceConfig,
    observe: Callable[[Choice], None],
) -> ReplicatedLlm:
    """The engine of the table `name`, once for each of its `replicas`. Raises ConfigError.

    observe: told where each request goes, and why. `[priority] max_running` is that of all together, and
    `retries` of the table are further replicas that a request goes to.
    """
    if table.engine != "openai":
        message = "has no replicas; allowed with them: openai"
        raise problem(source, f"{name}.engine", table.engine, message)
    if "base_url" in table.options:
        message = "stands beside replicas; allowed: one of the two"
        raise problem(source, f"{name}.base_url", table.options["base_url"], message)
    limits = {
        "first_token_timeout_s": SHARE * resilience.first_token_timeout_s,
        "timeout_s": SHARE * resilience.stall_timeout_s,
    }
    replicas: dict[str, OpenAILlm] = {}
    for url in table.replicas:
        options = limits | table.options | {"base_url": url}
        one = EngineConfig.model_validate({"engine": table.engine} | options)
        replicas[url] = build_engine("llm", one, source, name)
    tries = 1 + min(replica.retries for replica in replicas.values())
    for replica in replicas.values():
        replica.retries = 0  # the next try is another's
    each = math.ceil(priority.max_running / len(replicas))
    return ReplicatedLlm(replicas, SessionAffinity(tuple(replicas), each), tries, observe)
