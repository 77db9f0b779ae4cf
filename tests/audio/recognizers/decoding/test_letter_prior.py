"""Likelihood of letters that follow each other in names."""

from __future__ import annotations

import math
import string

from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers.decoding.spelling_prior import END, LetterPrior

PRIOR = LetterPrior(["smith", "smart", "snow", "anna"])


def test_a_letter_that_follows_in_names_gains_and_another_loses() -> None:
    assert PRIOR.gain("s", "m") > PRIOR.gain("s", "n") > 0 > PRIOR.gain("s", "b")


def test_the_end_of_a_name_gains_where_names_end() -> None:
    assert PRIOR.gain("smith", END) > 0 > PRIOR.gain("smi", END)


@given(st.text(string.ascii_lowercase, max_size=8))
def test_the_probabilities_of_all_letters_and_the_end_are_bounded(before: str) -> None:
    """No letter is impossible, so that a rare name is heard too."""
    gains = [PRIOR.gain(before, letter) for letter in (*string.ascii_lowercase, END)]
    assert min(gains) >= math.log(0.15) - 1e-9
    assert sum(math.exp(gain) / 26 for gain in gains) < 1.1
