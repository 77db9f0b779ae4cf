from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.synthesizers.pieces import (
    Piece,
    QuietEnd,
    WordPlaces,
    aligned_word_starts,
    phoneme_word_starts,
    pieces,
    text_word_starts,
)

TEXTS = st.text(st.sampled_from("ab .!?\n”é"), max_size=80)


def test_a_text_that_fits_is_one_piece() -> None:
    assert list(pieces("Dr. Who? Yes.", 13)) == [Piece("Dr. Who? Yes.", 0)]


def test_a_longer_one_is_cut_after_the_last_sentence_that_fits() -> None:
    assert [piece.text for piece in pieces("One. Two. Three. Four.", 12)] == ["One. Two. ", "Three. Four."]


def test_without_a_sentence_end_it_is_cut_after_a_word() -> None:
    assert [piece.text for piece in pieces("one two three", 9)] == ["one two ", "three"]


def test_a_word_longer_than_a_piece_is_cut() -> None:
    assert [piece.text for piece in pieces("abcdefgh", 3)] == ["abc", "def", "gh"]


def test_a_blank_text_has_no_pieces() -> None:
    assert not list(pieces(" \n", 10))


@given(TEXTS, st.integers(1, 30))
def test_pieces_are_the_text_in_order_with_nothing_but_blanks_lost(text: str, longest: int) -> None:
    found = list(pieces(text, longest))
    assert all(len(piece.text) <= longest for piece in found)
    assert all(text[piece.character :].startswith(piece.text) for piece in found)
    assert "".join(piece.text for piece in found).rstrip() == text.rstrip()


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


def test_words_that_are_run_together_begin_where_their_own_phonemes_do() -> None:
    assert aligned_word_starts(["ˈɔn", "ðə", "lˈɛft"], "ɔnðə lˈɛft") == [0, 2, 5]


def test_a_number_is_one_word_and_its_stress_belongs_to_it() -> None:
    assert aligned_word_starts(["kˈɔsts", "fˈɔːɹɾi tˈuː", "pˈaʊndz"], "kˈɔsts fˈɔːɹɾi tˈuː pˈaʊndz.") == [
        0,
        7,
        20,
    ]


def test_a_word_that_is_spoken_otherwise_has_no_place() -> None:
    assert aligned_word_starts(["ˈel", "dˈe", "sˈol"], "el ðe sˈol") == [0, None, 6]


PHONEMES = st.text("ab ˈː", max_size=12)


@given(st.lists(PHONEMES, max_size=6), PHONEMES)
def test_words_that_are_found_begin_one_after_the_other(words: list[str], phonemes: str) -> None:
    found = [index for index in aligned_word_starts(words, phonemes) if index is not None]
    assert found == sorted(set(found))
    assert all(0 <= index < len(phonemes) for index in found)


SOUNDS = st.lists(st.lists(st.sampled_from([0, 50, -99, 100, -32_768, 32_767]), max_size=5), max_size=8)


@given(SOUNDS, st.integers(0, 6))
def test_only_quiet_over_the_longest_is_lost_and_only_at_the_end(
    chunks: list[list[int]], longest: int
) -> None:
    quiet_end = QuietEnd(longest)
    passed = [quiet_end.push(np.array(chunk, np.int16)) for chunk in chunks]
    sound = np.concatenate([*passed, quiet_end.finish()])
    whole = [value for chunk in chunks for value in chunk]
    voiced = max((index + 1 for index, value in enumerate(whole) if abs(value) >= 100), default=0)
    assert sound.tolist() == whole[: voiced + longest]


def test_voice_is_passed_on_at_once() -> None:
    assert QuietEnd(10).push(np.array([500, 20, 500, 20], np.int16)).tolist() == [500, 20, 500]


def test_words_are_found_in_order_whatever_their_case_and_signs() -> None:
    places = WordPlaces("“The” room, the key.")
    assert [places.next(word) for word in ("the", "Room,", "The", "key")] == [1, 6, 12, 16]


def test_a_word_that_is_told_otherwise_is_passed_over() -> None:
    places = WordPlaces("It costs 12 euros.")
    assert [places.next(word) for word in ("It", "costs", "twelve", "euros")] == [0, 3, None, 12]


def test_a_word_that_is_far_off_is_not_taken_for_the_next() -> None:
    places = WordPlaces("one two three four five six")
    assert places.next("six") is None
    assert places.next("one") == 0


def test_signs_alone_are_no_word() -> None:
    assert WordPlaces("– yes").next("–") is None
