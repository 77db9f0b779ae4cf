from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from people.material import first_voiced_s, last_voiced_s, read_clips
from recordings import FOLDER
from sounds import said

from audio.recognizers import SAMPLE_RATE_HZ
from audio.wav import write_wav
from voiceagent.validation.errors import CommandFailed

ROOT = Path(__file__).parents[4]
SPLIT = list(csv.DictReader((ROOT / "tests/bench/people/split.csv").read_text().splitlines()))


def folder_with(tmp_path: Path, *entries: dict[str, object]) -> Path:
    for number, entry in enumerate(entries):
        write_wav(tmp_path / str(entry["file"]), np.full(2_400, 100 + number, np.int16), 24_000)
    (tmp_path / "manifest.json").write_text(json.dumps(entries))
    return tmp_path


def test_no_speaker_is_tuned_on_and_measured():
    halves: dict[str, set[str]] = {}
    for row in SPLIT:
        halves.setdefault(row["speaker"], set()).add(row["half"])
    assert all(len(half) == 1 for half in halves.values())
    assert {row["half"] for row in SPLIT} == {"tune", "measure"}


def test_the_halves_are_those_of_the_split_by_content():
    if not (FOLDER / "people").exists():
        pytest.skip("the recordings of people are missing")
    clips = read_clips([FOLDER / "people"], "tune", ["question"], "en")
    wanted = {row["file"] for row in SPLIT if row["half"] == "tune"}
    assert clips and {f"{clip.name}.wav" for clip in clips} <= wanted


def test_a_recording_outside_the_split_is_only_measured(tmp_path):
    folder = folder_with(tmp_path, {"file": "a.wav", "kind": "digits", "text": "one two"})
    (clip,) = read_clips([folder], "measure", [], "en")
    assert (clip.name, clip.kind, clip.text, clip.is_one_turn) == ("a", "digits", "one two", True)
    with pytest.raises(CommandFailed, match="no recording of --half tune"):
        read_clips([folder], "tune", [], "en")


def test_a_question_of_a_few_words_is_an_answer(tmp_path):
    entries = [
        {"file": "no.wav", "kind": "question", "text": "no"},
        {"file": "when.wav", "kind": "question", "text": "when is breakfast today"},
        {"file": "what.wav", "kind": "question", "text": None},
    ]
    clips = read_clips([folder_with(tmp_path, *entries)], "all", [], "en")
    assert [clip.kind for clip in clips] == ["answer", "question", "question"]


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{}", "allowed: a list of objects"),
        ("no JSON", "cannot be read"),
        ('[{"file": "a.wav", "kind": "song"}]', "kind 'song'; allowed: question, answer"),
        ('[{"file": "a.wav"}]', r"a\.wav cannot be read"),
    ],
)
def test_a_manifest_that_is_wrong_is_named(manifest, message, tmp_path):
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(CommandFailed, match=message):
        read_clips([tmp_path], "all", [], "en")


async def test_a_click_after_the_voice_does_not_end_it():
    sound, rate_hz = await said("When is breakfast?"), SAMPLE_RATE_HZ
    click = np.full(rate_hz // 50, 32_000, np.int16)
    end_s = last_voiced_s(np.concatenate([sound, np.zeros(rate_hz, np.int16)]), rate_hz)
    clicked = np.concatenate([sound, np.zeros(rate_hz, np.int16), click // 2])
    assert len(sound) / rate_hz - 0.8 < end_s <= len(sound) / rate_hz
    assert last_voiced_s(clicked, rate_hz) == pytest.approx(end_s, abs=0.05)


async def test_a_knock_before_the_voice_does_not_begin_it():
    sound, rate_hz = await said("When is breakfast?"), SAMPLE_RATE_HZ
    silence, knock = np.zeros(rate_hz // 2, np.int16), np.full(rate_hz // 20, 16_000, np.int16)
    begin_s = first_voiced_s(np.concatenate([silence, sound]), rate_hz)
    assert 0.5 <= begin_s < 1.0
    knocked = np.concatenate([knock, silence, sound])
    assert first_voiced_s(knocked, rate_hz) == pytest.approx(begin_s + len(knock) / rate_hz, abs=0.05)
