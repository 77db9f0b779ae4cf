from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audio.agreement import LocalAgreement

WORDS = st.sampled_from(["go", "Go", "go,", "back", "Back.", "ten", "—", "well", "“well”", "...", "naïve"])
HYPOTHESES = st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=12)


def pushed(*hypotheses: str, agreeing: int = 2, hold_n: int = 0) -> LocalAgreement:
    agreement = LocalAgreement(agreeing, hold_n)
    for hypothesis in hypotheses:
        agreement.push(hypothesis)
    return agreement


def test_nothing_is_stable_at_first() -> None:
    assert pushed().stable == ""
    assert pushed("go forward").stable == ""


def test_what_two_hypotheses_in_a_row_begin_with_is_stable() -> None:
    assert pushed("go for", "go forward ten").stable == "go"
    assert pushed("go forward can", "go forward ten").stable == "go forward"


def test_where_three_must_agree_two_are_not_enough() -> None:
    assert pushed("go for", "go for", agreeing=3).stable == ""
    assert pushed("go for", "go forward ten", "go forward ten", agreeing=3).stable == "go"


def test_what_an_earlier_hypothesis_said_does_not_count() -> None:
    assert pushed("go forward", "no", "go forward").stable == ""


def test_case_and_punctuation_do_not_matter() -> None:
    assert pushed("go forward.", "Go forward, ten").stable == "Go forward"


def test_the_newest_words_are_held_back() -> None:
    assert pushed("go forward ten meters", "go forward ten meters", hold_n=2).stable == "go forward"
    assert pushed("go", "go", hold_n=2).stable == ""


def test_punctuation_after_the_last_stable_word_stays_open() -> None:
    assert pushed("I see", "I see.").stable == "I see"


def test_stable_words_are_spelled_as_in_the_newest_hypothesis() -> None:
    assert pushed("mister Smith said", "Mister Smith, said he").stable == "Mister Smith, said"


def test_a_hypothesis_that_takes_back_stable_words_leaves_those_before_them_stable() -> None:
    agreement = pushed("the cat sat", "the cat sat", "the cap sat down")
    assert agreement.stable == "the"


@given(HYPOTHESES, st.integers(2, 4), st.integers(0, 2))
def test_the_stable_part_begins_the_newest_hypothesis(
    hypotheses: list[str], agreeing: int, hold_n: int
) -> None:
    agreement = LocalAgreement(agreeing, hold_n)
    for hypothesis in hypotheses:
        agreement.push(hypothesis)
        assert hypothesis.startswith(agreement.stable)


@given(st.lists(WORDS, max_size=8).map(" ".join), st.integers(0, 2))
def test_a_hypothesis_said_twice_is_stable_but_for_what_is_held_back(text: str, hold_n: int) -> None:
    agreement = pushed(text, text, hold_n=hold_n)
    assert agreement.stable_words == max(0, len(text.split()) - hold_n)
