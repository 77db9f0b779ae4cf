from __future__ import annotations

from audio.synthesizers.word_starts import phoneme_word_starts, text_word_starts


def test_a_word_begins_with_its_first_letter_or_digit() -> None:
    text = "“Well” – it's 9 o'clock..."
    assert [text[start:].split(maxsplit=1)[0] for start in text_word_starts(text)] == [
        *("Well”", "it's", "9", "o'clock...")
    ]


def test_signs_alone_are_no_words() -> None:
    assert text_word_starts("– ... !") == []
    assert phoneme_word_starts(list(" , . ")) == []


def test_words_of_phonemes_stand_between_blanks() -> None:
    assert phoneme_word_starts(list("həlˈoʊ, — ðˈɛɹ.")) == [0, 10]
