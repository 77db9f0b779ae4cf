from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from audio.recognizers.decoding.beam_search import (
    WIDTH,
    BeamSearch,
    Beginning,
    Expected,
    Likeliest,
)
from audio.recognizers.decoding.names import Names
from audio.recognizers.decoding.phrase_bias import Marks, PhraseBias

BEGIN, END = 1, 2
A, B, C = 3, 4, 5
SIZE = 6
LIKELIEST, LIKELY, LESS, NOT = np.log([0.5, 0.3, 0.1, 1e-9])

logits = st.lists(st.lists(st.floats(-6, 6), min_size=SIZE, max_size=SIZE), min_size=1, max_size=5)


def row(**likely: float) -> list[float]:
    """Logits of a token each; those not named are as good as impossible."""
    tokens = {"end": END, "a": A, "b": B, "c": C}
    return [next((value for name, value in likely.items() if tokens[name] == at), NOT) for at in range(SIZE)]


def likeliest(rows: Sequence[Sequence[float]]) -> Likeliest:
    """All tokens, the likeliest first, by their logits [rows, tokens]."""
    logits = np.array(rows, np.float32)
    order = np.argsort(-logits, axis=1, kind="stable")
    logarithms = np.take_along_axis(logits, order, axis=1)
    return Likeliest(order, logarithms - np.logaddexp.reduce(logits, axis=1, keepdims=True))


def extend(search: BeamSearch, *rows: Sequence[float]) -> list[int]:
    return search.extend(likeliest(rows))


def said(search: BeamSearch) -> list[tuple[int, ...]]:
    return [one.tokens[1:] for one in search.live]


def run(table: Sequence[Sequence[float]], expected: Expected | None = None) -> Beginning:
    """The best under a model to which only the position matters, which then wants to end."""
    search = BeamSearch(BEGIN, END, expected)
    for likely in (*table, row(end=0.0)):
        if not extend(search, *[likely] * len(search.live)):
            break
    return search.best


def test_an_empty_text_does_not_win_over_words_where_it_is_not_allowed() -> None:
    empty, words = (BeamSearch(BEGIN, END, allow_empty=allowed) for allowed in (True, False))
    for search in (empty, words):
        extend(search, row(end=LIKELIEST, a=LIKELY))
    assert not empty.live
    extend(words, *[row(end=LIKELIEST, b=LIKELY)] * len(words.live))
    assert empty.best.tokens[1:] == (END,)
    assert words.best.tokens[1:] == (A, END)


def test_a_beginning_that_was_second_wins_by_what_follows() -> None:
    search = BeamSearch(BEGIN, END)
    extend(search, row(a=LIKELIEST, b=LIKELY))
    assert said(search) == [(A,), (B,)]
    extend(search, row(a=LESS, b=LESS, c=LESS, end=LESS), row(c=0.0))
    assert said(search)[0] == (B, C)


def test_each_of_the_longer_ones_tells_which_it_begins_with() -> None:
    search = BeamSearch(BEGIN, END)
    extend(search, row(a=LIKELIEST, b=LIKELY))
    assert extend(search, row(a=LESS, b=LESS, c=LESS), row(c=0.0)) == [1, 0, 0, 0]
    assert said(search)[0] == (B, C)


@pytest.mark.parametrize(("behind", "left"), [(-3.5, [(A,), (B,)]), (-4.5, [(A,)])])
def test_where_the_model_is_sure_one_beginning_is_left(behind: float, left: list[tuple[int, ...]]) -> None:
    search = BeamSearch(BEGIN, END)
    extend(search, row(a=0.0, b=behind))
    assert said(search) == left


def test_it_is_over_when_no_beginning_is_better_than_what_is_whole() -> None:
    search = BeamSearch(BEGIN, END)
    extend(search, row(a=LIKELIEST, end=LIKELY))
    assert search.best.tokens == (BEGIN, END)
    assert extend(search, row(a=LESS, b=LESS)) == []
    assert search.best.tokens == (BEGIN, END)


def test_a_beginning_better_than_what_is_whole_goes_on() -> None:
    search = BeamSearch(BEGIN, END)
    extend(search, row(a=LIKELIEST, end=LIKELY))
    assert extend(search, row(end=0.0)) == []
    assert search.best.tokens == (BEGIN, A, END)


PHRASE = [A, B, C, A, C, B]
SENTENCES = PhraseBias([PHRASE] * 20, Marks(BEGIN, END), 1000)


def misheard(*wrong: tuple[int, int]) -> list[list[float]]:
    """Logits of the phrase, with other tokens in some places, which are a little likelier."""
    tables = [row(**{"abc"[token - A]: 0.0}) for token in PHRASE]
    for at, token in wrong:
        tables[at] = row(**{"abc"[token - A]: LIKELIEST, "abc"[PHRASE[at] - A]: LIKELY})
    return tables


def test_of_what_sounds_nearly_alike_the_likelier_phrase_is_heard() -> None:
    table = misheard((2, A))
    assert run(table).tokens == (BEGIN, A, B, A, A, C, B, END)
    assert run(table, Expected(0.3, SENTENCES)).tokens == (BEGIN, *PHRASE, END)


def test_words_of_a_phrase_in_a_sentence_about_other_things_are_heard_as_without_phrases() -> None:
    table = [row(c=0.0), row(c=0.0), row(a=LIKELIEST, c=LIKELY), row(c=0.0), row(b=0.0), row(b=0.0)]
    other = PhraseBias([[C, B, *range(6, 20)]] * 20, Marks(BEGIN, END), 1000)
    assert run(table, Expected(0.3, other)).tokens == run(table).tokens


def test_a_name_is_heard_in_any_sentence_if_all_of_it_is_said() -> None:
    names = Expected(0.15, names=Names({(B, C): 2}, frozenset()))
    table = [row(c=0.0), row(a=LIKELIEST, b=LESS), row(c=0.0), row(a=0.0)]
    assert run(table).tokens == (BEGIN, C, A, C, A, END)
    assert run(table, names).tokens == (BEGIN, C, B, C, A, END)
    table[2] = row(a=0.0)
    assert run(table, names).tokens == run(table).tokens


@given(logits)
def test_the_best_beginning_is_first_and_their_number_bounded(table: list[list[float]]) -> None:
    search = BeamSearch(BEGIN, END)
    for likely in table:
        before = search.live
        begins = extend(search, *[likely] * len(before))
        assert len(search.live) <= WIDTH
        assert [one.tokens[:-1] for one in search.live] == [before[at].tokens for at in begins]
        scores = [one.score for one in search.live]
        assert scores == sorted(scores, reverse=True)
        if not begins:
            break


@given(logits)
def test_what_it_finds_is_at_least_as_likely_as_the_greedy_choice(table: list[list[float]]) -> None:
    found, greedy = run(table), 0.0
    for likely in [*table, row(end=0.0)]:
        probabilities: NDArray[np.float64] = np.exp(likely) / np.exp(likely).sum()
        greedy += float(np.log(probabilities.max()))
        if int(probabilities.argmax()) == END:
            break
    assert found.logarithm >= greedy - 1e-4


def followed(draft: Sequence[int], *rows: Sequence[float]) -> tuple[int, BeamSearch]:
    """Return how far a search follows a draft, and the search."""
    search = BeamSearch(BEGIN, END)
    return search.follow(draft, likeliest(rows)), search


def test_a_draft_is_followed_to_its_end_where_each_token_is_clearly_the_likeliest() -> None:
    told, search = followed((A, END), row(a=LIKELIEST, b=LIKELY), row(end=0.0))
    assert (told, search.live, search.best.tokens) == (2, [], (BEGIN, A, END))
    assert search.best.logarithm == pytest.approx(np.log(0.5 / 0.8), abs=1e-3)


def test_from_a_token_on_that_another_comes_near_to_it_is_searched_for() -> None:
    near = row(b=LIKELIEST, c=LIKELIEST - 0.2)
    told, search = followed((A, B, C, END), row(a=0.0), near, row(c=0.0), row(end=0.0))
    assert (told, said(search)) == (1, [(A,)])
    extend(search, near)
    assert said(search) == [(A, B), (A, C)]


@pytest.mark.parametrize(("lead", "followed"), [(-0.6, 2), (-0.4, 0)])
def test_a_draft_is_followed_where_it_is_nearly_the_likeliest_if_that_is_asked_for(
    lead: float, followed: int
) -> None:
    search = BeamSearch(BEGIN, END)
    rows = [row(b=LIKELIEST, c=LIKELY), row(a=0.0)]
    assert search.follow((C, A), likeliest(rows), lead) == followed
    if followed:
        assert search.best.logarithm == pytest.approx(np.log(0.3 / 0.8), abs=1e-3)


def test_what_goes_on_where_the_draft_ends_is_searched_for() -> None:
    told, search = followed((A, END), row(a=0.0), row(end=LIKELY, b=LIKELIEST))
    assert (told, said(search)) == (1, [(A,)])


def test_of_a_draft_that_begins_with_another_word_nothing_is_followed() -> None:
    told, search = followed((A, END), row(b=0.0), row(end=0.0))
    assert (told, said(search)) == (0, [()])


def test_what_is_followed_counts_as_if_it_had_been_searched_for() -> None:
    expected = Expected(0.3, SENTENCES, Names({(B, C): 2}, frozenset()))
    table = [row(**{"abc"[token - A]: 0.0}) for token in PHRASE]
    search, along = BeamSearch(BEGIN, END, expected), BeamSearch(BEGIN, END, expected)
    for likely in table:
        extend(search, likely)
    assert along.follow(PHRASE, likeliest(table)) == len(PHRASE)
    assert along.live == search.live


@given(logits.filter(bool))
def test_a_draft_is_followed_along_the_greedy_choice(table: list[list[float]]) -> None:
    told = likeliest(table)
    clear = [first >= second + 0.3 for first, second, *_ in told.logarithms.tolist()]
    greedy = told.tokens[:, 0]
    for draft in (greedy, (greedy + 1) % SIZE):
        found = BeamSearch(BEGIN, END).follow(draft.tolist(), told)
        assert found == ([*clear, False].index(False) if draft is greedy else 0)


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 20))
def test_of_many_tokens_the_likeliest_go_on_however_near_they_are(seed: int, spread: float) -> None:
    likely = np.random.default_rng(seed).normal(0, spread, 500).astype(np.float32)
    search = BeamSearch(BEGIN, END)
    extend(search, likely.tolist())
    best = np.argsort(-likely)[:WIDTH].tolist()
    assert [one.tokens[-1] for one in search.live] == [each for each in best if each != END][
        : len(search.live)
    ]
