"""Division of a transcript among the turns whose audio it covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.turn.seam import divide

WORDS = st.lists(st.sampled_from(("do", "you", "have", "a", "pool", "or", "sauna", "two")), max_size=12)


@pytest.mark.parametrize(
    ("whole", "earlier", "parts"),
    [
        ("What is natural language processing?", ["What is natural language?"],
         ("What is natural language", "processing?")),
        ("Forced aligner", ["Four st"], ("Forced", "aligner")),
        ("Montreal, uh, uh, forced aligner", ["Montreal, huh?"], ("Montreal, uh,", "uh, forced aligner")),
        ("one two three four five", ["one two.", "three four"], ("one two", "three four", "five")),
        ("Hello", ["Hello", "there"], ("Hello", "", "")),
        ("", ["hello"], ("", "")),
        ("no turn before", [], ("no turn before",)),
    ],
)  # fmt: skip
def test_transcript_is_divided_where_the_earlier_turn_ended(
    whole: str, earlier: list[str], parts: tuple[str, ...]
) -> None:
    assert divide(whole, earlier) == parts


@given(WORDS, st.lists(WORDS, max_size=3))
def test_division_loses_and_adds_no_word(whole: list[str], earlier: list[list[str]]) -> None:
    parts = divide(" ".join(whole), [" ".join(words) for words in earlier])
    assert len(parts) == len(earlier) + 1
    assert " ".join(parts).split() == whole


@given(WORDS, WORDS)
def test_unchanged_beginning_is_the_earlier_turn(earlier: list[str], rest: list[str]) -> None:
    texts = " ".join(earlier), " ".join(rest)
    assert divide(" ".join(texts), [texts[0]]) == texts
