"""Voices that the bundled recognizer is trained on."""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from audio.adaptation.recordings import read_recordings
from examples.hotel_model.data.labelled import is_held_out
from examples.hotel_model.evaluation import by_voice
from examples.hotel_model.recognizer import recordings


def test_no_voice_is_one_of_the_evaluation():
    rng = Random(0)
    voices = [recordings.any_voice(rng) for _ in range(2_000)]
    assert not {_name(voice) for voice in voices} & {_name(voice) for voice in by_voice.VOICES}
    assert {voice.telephone for voice in voices} == {False, True}
    assert {voice.program for voice in voices} == {"flite", "espeak-ng"}


def _name(voice: by_voice.Voice) -> str:
    """Of a voice of flite, or of a variant of espeak-ng, whatever the accent."""
    return voice.arguments[1].rpartition("+")[2]


def test_sentences_are_training_questions_and_some_are_unfinished():
    texts = list(islice(recordings.sentences(Random(0)), 400))
    whole = [text for text in texts if text[-1] in ".?!"]
    assert 0.7 < len(whole) / len(texts) < 0.95
    assert not any(is_held_out(text.lower().rstrip(".?!")) for text in whole)


def test_the_command_names_the_programs_that_are_missing(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        recordings.main([str(tmp_path / "spoken")])
    assert "not installed: espeak-ng and flite" in capsys.readouterr().err
    assert not (tmp_path / "spoken").exists()


def test_the_command_writes_recordings_and_a_table_of_them(tmp_path: Path):
    if missing := [program for program in ("flite", "espeak-ng") if shutil.which(program) is None]:
        pytest.skip(f"not installed: {' '.join(missing)} (Debian: apt-get install flite espeak-ng)")
    recordings.main([str(tmp_path / "spoken"), "--number", "4"])
    found = list(read_recordings(tmp_path / "spoken" / recordings.TABLE))
    assert len(found) == 4
    assert all(recording.text and 4_000 < len(recording.sound) < 200_000 for recording in found)
