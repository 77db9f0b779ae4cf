"""Recognizers that favour the words of the configured agents."""

from __future__ import annotations

from typing import cast

from audio.recognizers import Recognizer
from voiceagent.agents.load import agent_vocabulary
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine
from voiceagent.engines.catalogue import KNOWN_ENGINES
from voiceagent.engines.config import EngineConfig


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
        "Recognizer", build_engine("recognizer", table, config.source, language=config.agent.language)
    )
