"""Transcripts that a grammar allows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers.decoding.grammar import Grammar, Part

END, COMMA, A, B, AS, IN, JOINED = 2, 3, 10, 11, 12, 13, 20
GRAMMAR = Grammar([Part([(A,), (B,), (A, AS, IN), (AS, IN)], [(JOINED,)])], [COMMA], END)
AT, DOT = 30, 31
ADDRESS = Grammar([Part([(A,), (B,)], (), [(AT,)]), Part([(A,)], (), [(DOT,)]), Part([(B,)])], [COMMA], END)


def test_a_text_begins_with_a_word_and_has_at_least_one() -> None:
    assert GRAMMAR.allowed(()) == {A, B, AS}


def test_words_may_follow_directly_or_after_one_separator() -> None:
    assert GRAMMAR.allowed((B,)) == {A, B, AS, JOINED, COMMA, END}
    assert GRAMMAR.allowed((B, COMMA)) == {A, B, AS, JOINED, END}


def test_a_word_that_has_begun_is_finished() -> None:
    assert GRAMMAR.allowed((AS,)) == {IN}
    assert GRAMMAR.allowed((A, AS)) == {IN}
    assert END in GRAMMAR.allowed((A, AS, IN))


def test_a_word_that_begins_another_may_end_or_go_on() -> None:
    assert {AS, END} <= GRAMMAR.allowed((A,))


def test_nothing_follows_a_text_that_is_not_allowed() -> None:
    assert GRAMMAR.allowed((IN,)) == frozenset()
    assert GRAMMAR.allowed((JOINED,)) == frozenset()
    assert GRAMMAR.allowed((B, COMMA, COMMA)) == frozenset()


def test_a_text_of_several_parts_has_a_word_in_each_before_it_ends() -> None:
    assert ADDRESS.allowed((A,)) == {A, B, AT, COMMA}
    assert ADDRESS.allowed((A, AT)) == {A, COMMA}
    assert ADDRESS.allowed((A, AT, A)) == {A, DOT, COMMA}
    assert ADDRESS.allowed((A, AT, A, DOT)) == {B, COMMA}
    assert ADDRESS.allowed((A, AT, A, DOT, B)) == {B, COMMA, END}


def test_words_of_one_part_are_not_allowed_in_another() -> None:
    assert ADDRESS.allowed((A, AT, B)) == frozenset()
    assert not ADDRESS.allows((A, B, END))


@given(st.data(), st.sampled_from([GRAMMAR, ADDRESS]))
def test_each_text_can_be_finished(data: st.DataObject, grammar: Grammar) -> None:
    """Hold for each text that follows the allowed tokens: it never gets stuck, and has only known tokens."""
    text: list[int] = []
    for _ in range(data.draw(st.integers(1, 12))):
        allowed = grammar.allowed(text) - {END}
        assert allowed <= set(grammar.tokens.tolist())
        text.append(data.draw(st.sampled_from(sorted(allowed))))
    while END not in grammar.allowed(text):
        text.append(max(grammar.allowed(text) - {COMMA}))


def test_a_grammar_of_one_word_allows_one() -> None:
    one = Grammar([Part([(A,), (A, AS, IN)], [(JOINED,)])], [COMMA], END, one=True)
    assert one.allowed(()) == {A}
    assert one.allowed((A,)) == {AS, COMMA, END}
    assert one.allowed((A, COMMA)) == {END}
    assert one.allowed((A, AS, IN)) == {COMMA, END}
    assert one.allowed((A, A)) == frozenset()


def test_a_whole_text_is_allowed_if_its_words_are() -> None:
    assert GRAMMAR.allows((A, COMMA, B, END))
    assert not GRAMMAR.allows((A, AS, END))
    assert not GRAMMAR.allows((A, B))
    assert not GRAMMAR.allows((END,))
