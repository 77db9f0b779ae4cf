"""`voiceagent voices`: the list of voices, and a text written in one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from audio.pcm import Samples
from audio.wav import read_wav
from voiceagent.cli.main import main

ONE_VOICE = Path(__file__).parents[2] / "bench" / "fixed.toml"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    pytest.importorskip("espeakng_loader", reason="pip install 'voiceagent-server[espeak]'")
    path = tmp_path / "voices.toml"
    path.write_text(
        '[synthesizer]\nengine = "espeak"\nvoices = { marin = "en-gb+f2", en = "en-us+m3" }\n'
        '[recognizer]\nengine = "moonshine"\n[llm]\nengine = "ctranslate2"\n'
        'model = "package:voiceagent.demo/weights/ct2"\n'
    )
    return path


def test_voices_are_listed_with_other_names_and_usual_voice(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["voices", "--config", str(config)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "en-us" in lines
    assert "marin = en-gb+f2" in lines
    assert "usual voice: en-us+m3" in lines


def test_engine_with_one_voice_says_so_and_takes_no_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["voices", "--config", str(ONE_VOICE)]) == 0
    assert "has one voice, without a name" in capsys.readouterr().out
    out = tmp_path / "said.wav"
    assert main(["voices", "say", "marin", "Hello.", "-o", str(out), "--config", str(ONE_VOICE)]) == 1
    assert 'allowed: "", as it has one voice' in capsys.readouterr().err
    assert main(["voices", "say", "", "Hello.", "-o", str(out), "--config", str(ONE_VOICE)]) == 0
    assert len(read_wav(out)[0])


@pytest.mark.parametrize("config_first", [True, False])
def test_text_is_written_in_the_voice_of_that_name(config: Path, tmp_path: Path, config_first: bool) -> None:
    def said(voice: str) -> Samples:
        out = tmp_path / "said.wav"
        given, words = ["--config", str(config)], ["say", voice, "Good evening.", "-o", str(out)]
        assert main(["voices", *given, *words] if config_first else ["voices", *words, *given]) == 0
        return read_wav(out)[0]

    marin, same = said("marin"), said("en-gb+f2")
    assert len(marin) > 4_000 and len(same) == pytest.approx(len(marin), rel=0.03)
    assert len(said("")) != pytest.approx(len(marin), rel=0.03)


def test_unknown_voice_is_exit_1_and_writes_nothing(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "said.wav"
    assert main(["voices", "say", "nobody", "Hello.", "-o", str(out), "--config", str(config)]) == 1
    error = capsys.readouterr().err
    assert "voice 'nobody' is not one of espeak; allowed: " in error and "marin" in error
    assert not out.exists()


def test_text_without_words_is_exit_1(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "said.wav"
    assert main(["voices", "say", "marin", " ", "-o", str(out), "--config", str(config)]) == 1
    assert "text ' ' has nothing that can be spoken" in capsys.readouterr().err
    assert not out.exists()


def test_file_that_cannot_be_written_is_exit_1_and_named(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "missing" / "said.wav"
    assert main(["voices", "say", "marin", "Hello.", "-o", str(out), "--config", str(config)]) == 1
    assert f"cannot write {out}" in capsys.readouterr().err
