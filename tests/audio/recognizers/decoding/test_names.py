from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers.decoding.names import Names

NORD, HELM, MINI, NO, END = 3, 4, 5, 6, 2
INSIDE = frozenset({HELM})
NAMES = Names({(NORD, HELM): 2, (NORD, HELM, MINI): 3, (MINI,): 1}, INSIDE)

texts = st.lists(st.sampled_from([END, NORD, HELM, MINI, NO]), max_size=8)


def test_a_name_counts_wherever_it_is_said() -> None:
    assert NAMES.tokens_in([NO, NORD, HELM, NO, MINI, END]) == 3


def test_a_name_counts_from_its_first_token_on() -> None:
    assert NAMES.tokens_in([NO, NORD]) == 1


def test_what_the_first_tokens_counted_is_taken_back_where_the_rest_does_not_follow() -> None:
    assert NAMES.tokens_in([NO, NORD, NO]) == 0


def test_of_two_names_that_begin_alike_the_longer_counts() -> None:
    assert NAMES.tokens_in([NORD, HELM, MINI, END]) == 3
    assert NAMES.tokens_in([NORD, HELM, NO, END]) == 2


def test_the_letters_of_a_name_inside_another_word_are_none() -> None:
    assert Names({(HELM,): 1}, INSIDE).tokens_in([NORD, HELM, END]) == 0
    assert Names({(NORD,): 1}, INSIDE).tokens_in([NORD, HELM, END]) == 0


def test_a_name_may_count_as_another_number_of_tokens_than_it_has() -> None:
    even = Names({(NORD, HELM): 1.5, (NORD, HELM, MINI): 3, (MINI,): 1.5}, INSIDE)
    assert even.tokens_in([NORD, HELM, NO, MINI, END]) == 3
    assert even.tokens_in([NORD, HELM, MINI, END]) == 3  # the longer one


def test_words_of_numbers_are_names_of_which_so_many_count() -> None:
    both, one = (NAMES.and_numbers([(NO, HELM), (END,)], most) for most in (2, 1))
    for text, of_both, of_one in (
        ([NO, HELM, MINI], 2, 2),
        ([NO, HELM, NO, HELM], 2, 1),
        ([END, NO, HELM, MINI, END], 3, 2),
    ):
        assert both.tokens_in(text) == of_both
        assert one.tokens_in(text) == of_one


def test_a_beginning_counts_as_its_part_of_the_name_that_counts_most() -> None:
    assert Names({(NORD, HELM): 3.0, (NORD, HELM, MINI): 1.5}, INSIDE).tokens_in([NORD]) == 1.5


@given(texts)
def test_no_more_tokens_count_than_there_are(text: list[int]) -> None:
    assert 0 <= NAMES.tokens_in(text) <= len(text)


@given(texts)
def test_without_names_nothing_counts(text: list[int]) -> None:
    assert Names({}, INSIDE).tokens_in(text) == 0
