"""The tables of a configuration that choose engines, and the API keys that these need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from voiceagent.config.tables import Config
from voiceagent.engines import silent
from voiceagent.engines.build import missing_key
from voiceagent.engines.catalogue import Stage
from voiceagent.engines.config import EngineConfig
from voiceagent.validation.errors import CommandFailed

VOICE_TABLE = "languages.{}.synthesizer"
"""Name of the table of a further language's voice."""


def engine_tables(config: Config) -> Iterator[tuple[str, Stage, EngineConfig]]:
    """Yield the tables that choose engines, with their stages."""
    chosen: tuple[tuple[Stage, EngineConfig], ...] = (
        ("recognizer", config.recognizer),
        ("llm", config.llm),
        ("synthesizer", config.synthesizer),
    )
    for stage, engine in chosen:
        if not engine.engine.startswith(silent.MODULE):  # replaced by an upstream
            yield stage, stage, engine
    others: tuple[tuple[str, Stage, EngineConfig | None], ...] = (
        ("recognizer_fallback", "recognizer", config.recognizer_fallback),
        ("small_llm", "llm", config.small_llm),
        ("back_llm", "llm", config.back_llm),
        ("fallback", "llm", config.fallback),
        ("synthesizer_fallback", "synthesizer", config.synthesizer_fallback),
        *(
            (VOICE_TABLE.format(code), "synthesizer", one.synthesizer)
            for code, one in config.languages.items()
        ),
    )
    for name, stage, table in others:
        if table is not None:
            yield name, stage, table


def check_keys(config: Config, environ: Mapping[str, str]) -> None:
    """Raise CommandFailed if the start must fail as the environment variable of an engine's API key is not
    set: before weights are downloaded and models are loaded. A speech engine with a fallback is left out, as
    the server starts with the fallback alone.
    """
    replaced = {
        stage
        for stage, fallback in (
            ("recognizer", config.recognizer_fallback),
            ("synthesizer", config.synthesizer_fallback),
        )
        if fallback is not None
    }
    for name, stage, table in engine_tables(config):
        if name not in replaced and (variable := missing_key(stage, table, config.source, environ)):
            missing = f"the environment variable {variable} (api_key_env) with the key is not set"
            raise CommandFailed(f"cannot start: [{name}] {missing}")
