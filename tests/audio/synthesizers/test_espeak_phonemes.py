"""Letters to sounds by espeak-ng: each word has its phonemes, in Kokoro's alphabet, and its punctuation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("espeakng_loader", reason="pip install 'voiceagent-server[espeak]'")

from audio.synthesizers.espeak_phonemes import EspeakPhonemes
from audio.synthesizers.pieces import text_word_starts


@pytest.fixture
def spanish() -> EspeakPhonemes:
    return EspeakPhonemes("es")


def test_words_have_phonemes_and_punctuation_at_their_first_letter(spanish: EspeakPhonemes) -> None:
    text = "Buenos días, ¿qué hace usted?"
    assert spanish(text) == [
        (0, "bwˈenos"),
        (7, "ðˈias,"),
        (14, "kˈe"),
        (18, "ˈaθe"),
        (23, "ustˈed?"),
    ]


def test_number_of_several_words_has_the_phonemes_of_all(spanish: EspeakPhonemes) -> None:
    before, number, after = spanish("En 2026 abrimos.")
    assert number.character == 3 and number.phonemes.startswith("dˈos mˈil")
    assert (before.phonemes, after.phonemes) == ("en", "aβɾˈimos.")


def test_words_that_are_run_together_lose_no_phoneme() -> None:
    words = EspeakPhonemes("hi")("मैं आपकी मदद")
    assert "".join(word.phonemes for word in words).replace(" ", "").endswith("mˈʌdəd")


@settings(max_examples=60)
@given(text=st.text(max_size=40))
def test_every_word_of_any_text_is_placed_once(text: str) -> None:
    assert [word.character for word in EspeakPhonemes("es")(text)] == text_word_starts(text)
