"""Rating of spelled transcripts."""

from __future__ import annotations

import pytest

from audio.recognizers.decoding.spelling_prior import LetterPrior, SpellingPrior

NAMES = ("smith", "miller")
WORDS = ("s", "m", "n", "i", "t", "h", "smith", "snith", "dot", "mike", "november", "sierra", "for", "sam")
VOCABULARY = [b"?", b"<s>", b"</s>", *(f"\N{LOWER ONE EIGHTH BLOCK}{word}".encode() for word in WORDS)]
PRIOR = SpellingPrior(LetterPrior(NAMES), {"mike": "m", "november": "n", "sierra": "s"}, NAMES, VOCABULARY, 2)


def rate(text: str, end: bool = True) -> float:
    tokens = [VOCABULARY.index(f"\N{LOWER ONE EIGHTH BLOCK}{word}".encode()) for word in text.split()]
    return PRIOR.rate((1, *tokens, *([2] if end else [])))


@pytest.mark.parametrize(
    ("likely", "other"),
    [
        ("s m i t h", "s n i t h"),
        ("sierra mike i t h", "sierra november i t h"),
        ("smith", "snith"),
        ("s m i t h dot", "s m i dot t h"),
    ],
)
def test_a_name_is_likelier_than_letters_that_are_none(likely: str, other: str) -> None:
    assert rate(likely) > rate(other)


def test_a_letter_with_its_example_is_one_letter() -> None:
    assert rate("s for sam m i t h") == pytest.approx(rate("s m i t h"))


def test_a_word_counts_once_it_is_whole() -> None:
    assert rate("smith", end=False) == 0.0
    assert rate("smith dot", end=False) > 0.0
