"""Silence in whole chunks, as judged by a voice activity model."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.model_silence import ModelSilence

WINDOW_S = 0.032


def ends_at(probabilities: Sequence[float], silence_s: float) -> int | None:
    """Return the number of the chunk that ends the turn, after voice up to the first of these chunks."""
    silence = ModelSilence(perhaps_from=0.35)
    voiced = True
    for number, probability in enumerate(probabilities, 1):
        voiced = probability >= (0.35 if voiced else 0.5)
        silence.push(probability, voiced, number * WINDOW_S)
        if silence.until(number * WINDOW_S) >= silence_s - 1e-6:
            return number
    return None


@pytest.mark.parametrize(("silence_s", "chunks"), [(0.1, 5), (0.2, 8), (0.5, 17), (0.64, 21)])
def test_silence_begins_behind_the_first_chunk_that_is_no_voice(silence_s: float, chunks: int) -> None:
    assert ends_at([0.1] * 60, silence_s) == chunks


def test_a_voice_in_between_begins_it_anew() -> None:
    assert ends_at([0.1] * 6 + [0.9] + [0.1] * 60, 0.2) == 15


def test_a_chunk_that_may_be_a_voice_neither_ends_it_nor_begins_it_anew() -> None:
    assert ends_at([0.1] * 7 + [0.4] * 2 + [0.1] * 60, 0.2) == 10


@given(st.lists(st.floats(0.0, 1.0), max_size=60), st.floats(0.032, 1.0))
def test_it_ends_where_the_models_own_iterator_does(probabilities: list[float], silence_s: float) -> None:
    """Compare with silero-vad's `VADIterator`, in chunks, triggered from the beginning."""
    ended, began = None, None
    for number, probability in enumerate(probabilities, 1):
        if probability >= 0.5:
            began = None
        elif probability < 0.35:
            began = number if began is None else began
            if (number - began) * WINDOW_S >= silence_s - 1e-6:
                ended = number
                break
    assert ends_at(probabilities, silence_s) == ended
