"""Settings of calls for tests: what the configuration has where nothing is set, with "server_vad"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.config import TurnConfig
from voiceagent.conversation.settings import CallSettings, TurnDetection


def turn_detection(
    kind: Literal["server_vad", "semantic_vad"] = "server_vad", **changes: Any
) -> TurnDetection:
    """Return settings of turn detection, with these fields changed."""
    return replace(TurnConfig().to_detection(), kind=kind, **changes)


def call_settings(**changes: Any) -> CallSettings:
    """A call's settings, with these fields changed."""
    agent = AgentConfig()
    settings = CallSettings(agent.instructions, agent.temperature, turn_detection())
    return replace(settings, **changes)
