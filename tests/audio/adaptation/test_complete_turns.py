from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from sounds import said

from audio.adaptation.complete_turns import COMPLETE, Models, PauseExample, pause_examples
from audio.detection.smart_turn import SmartTurn
from audio.detection.vad import SileroVad
from audio.pcm import Samples
from audio.recognizers.completeness import STATES
from audio.recognizers.moonshine_decoder import EncoderDecoder
from audio.recognizers.moonshine_files import model_files
from audio.wav import write_wav

UNSURE = 0.3


class Unsure:
    """A teacher that says the same of all sounds, which are kept."""

    def __init__(self) -> None:
        self.asked: list[Samples] = []

    async def complete(self, sound: Samples) -> float:
        self.asked.append(sound)
        return UNSURE


@pytest.fixture(name="two_sentences")
async def with_a_pause_between(tmp_path: Path) -> Path:
    first, second = await said("When is breakfast?"), await said("And when is dinner?")
    write_wav(
        path := tmp_path / "two.wav", np.concatenate([first, np.zeros(8_000, np.int16), second]), 16_000
    )
    return path


async def pauses(path: Path, teacher: Unsure, whole: bool = False) -> list[PauseExample]:
    vad = SileroVad()
    vad.load()
    encoder, decoder, _ = model_files(None)
    models = Models(vad, EncoderDecoder(encoder, decoder), cast("SmartTurn", teacher))
    return [one async for one in pause_examples(path, models, np.random.default_rng(1), whole)]


async def test_a_pause_an_end_and_a_dip_are_heard_as_the_teacher_has_them(two_sentences: Path) -> None:
    teacher = Unsure()
    examples = await pauses(two_sentences, teacher)
    assert [one.complete for one in examples] == [UNSURE] * 3
    assert all(0 < len(one.states) <= STATES for one in examples)
    in_pause, at_end, _ = (len(sound) for sound in teacher.asked)
    assert in_pause < at_end


async def test_the_end_of_what_is_known_to_be_whole_is_complete_whatever_the_teacher_says(
    two_sentences: Path,
) -> None:
    assert [one.complete for one in await pauses(two_sentences, Unsure(), whole=True)] == [
        UNSURE,
        COMPLETE,
        UNSURE,
    ]
