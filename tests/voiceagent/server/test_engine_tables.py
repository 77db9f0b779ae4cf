"""The API keys that a start needs: known from the configuration, before anything is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.config.tables import Config, load
from voiceagent.server.engine_building import build_engines
from voiceagent.server.engine_tables import check_keys
from voiceagent.validation.errors import CommandFailed

LOCAL = {"recognizer": "moonshine", "llm": "openai", "synthesizer": "espeak"}
HOSTED = {"recognizer": "deepgram", "llm": "openai", "synthesizer": "cartesia"}


def written(folder: Path, engines: dict[str, str], more: str = "") -> Config:
    tables = [f'[{stage}]\nengine = "{name}"\n' for stage, name in engines.items()]
    path = folder / "keys.toml"
    path.write_text("".join(tables).replace('"openai"\n', '"openai"\nmodel = "gpt"\n') + more)
    return load(path)


def test_a_key_that_is_not_set_is_said_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("voiceagent.server.engine_building.build_recognizer", None)
    said = (
        r"cannot start: \[llm\] the environment variable OPENAI_API_KEY \(api_key_env\) with the key is not"
    )
    with pytest.raises(CommandFailed, match=said):
        build_engines(written(tmp_path, LOCAL))


@pytest.mark.parametrize("table", ["llm", "recognizer", "synthesizer"])
def test_each_table_names_its_key(tmp_path: Path, table: str) -> None:
    keys = {"llm": "OPENAI_API_KEY", "recognizer": "DEEPGRAM_API_KEY", "synthesizer": "CARTESIA_API_KEY"}
    config = written(tmp_path, HOSTED)
    check_keys(config, dict.fromkeys(keys.values(), "k"))
    with pytest.raises(CommandFailed, match=rf"\[{table}\] .* {keys[table]} "):
        check_keys(config, dict.fromkeys((key for name, key in keys.items() if name != table), "k"))


def test_a_server_without_a_key_needs_none(tmp_path: Path) -> None:
    own = '[llm]\nengine = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\napi_key_env = ""\n'
    check_keys(written(tmp_path, {"recognizer": "moonshine", "synthesizer": "espeak"}, own), {})


def test_a_speech_engine_with_a_fallback_may_lack_its_key(tmp_path: Path) -> None:
    fallback = '[synthesizer_fallback]\nengine = "espeak"\n'
    check_keys(written(tmp_path, LOCAL | {"synthesizer": "cartesia"}, fallback), {"OPENAI_API_KEY": "k"})


def test_a_fallback_without_its_key_is_said(tmp_path: Path) -> None:
    fallback = '[fallback]\nengine = "anthropic"\nmodel = "m"\n'
    with pytest.raises(CommandFailed, match=r"\[fallback\] .* ANTHROPIC_API_KEY "):
        check_keys(written(tmp_path, LOCAL, fallback), {"OPENAI_API_KEY": "k"})
