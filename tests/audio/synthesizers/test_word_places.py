"""Where told words stand in the text."""

from __future__ import annotations

from audio.synthesizers.word_places import WordPlaces


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
