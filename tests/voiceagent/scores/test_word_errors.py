from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.scores.word_errors import WordErrors, comparable, edit_distance, word_errors

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8)


@pytest.mark.parametrize(
    ("spoken", "recognized"),
    [
        ("one two three four", "1234"),
        ("twelve thirty four", "1, 2, 3, 4."),
        ("twenty-three", "23"),
        ("six hundred thousand", "600,000"),
        ("two hundred and five", "205"),
        ("five oh nine", "509"),
        ("a 12% chance", "a twelve percent chance"),
        ("it is minus five outside", "It is -5 outside."),
        ("four one five, five five five, oh one two three", "(415) 555-0123"),
        ("I'm here and can't wait", "I am here, and can not wait."),
        ("fire fox", "Firefox."),
        ("montreal uh um forced <hes-al> aligner", "Montreal forced aligner."),
        ("so [adif] words <VOCNOISE> yeah", "So words, yeah"),
    ],
)
def test_the_same_words_written_otherwise_are_no_error(spoken, recognized):
    assert word_errors(spoken, recognized).errors == 0


def test_every_wrong_missing_and_additional_word_counts():
    assert word_errors("go forward ten meters", "so forward meters please") == WordErrors(4, 5)


@pytest.mark.parametrize(
    ("spoken", "recognized"), [("It is -5.", "It is 5."), ("0412", "412"), ("(415) 555-0123", "555-0123")]
)
def test_a_lost_sign_zero_or_area_code_is_an_error(spoken, recognized):
    assert word_errors(spoken, recognized).errors > 0


def test_a_word_that_stands_twice_is_an_error():
    assert word_errors("make me a coffee", "make me make me a coffee").errors == 2


def test_figures_that_follow_one_another_are_not_added_up():
    assert comparable("sixty ten") == ["6", "0", "1", "0"]


@pytest.mark.parametrize(
    ("wanted", "got", "edits"),
    [
        ("is there a pool", "is there a pool", 0),
        ("is there a pool", "is there pool", 1),
        ("a b", "a x y", 2),
        ("", "a", 1),
    ],
)
def test_edits_are_words_swapped_dropped_and_put_in(wanted, got, edits):
    assert edit_distance(wanted.split(), got.split()) == edits


@given(WORDS, WORDS, WORDS)
def test_edits_are_a_distance(one, two, three):
    assert edit_distance(one, one) == 0
    assert edit_distance(one, two) == edit_distance(two, one)
    assert edit_distance(one, three) <= edit_distance(one, two) + edit_distance(two, three)
    assert abs(len(one) - len(two)) <= edit_distance(one, two) <= max(len(one), len(two))
