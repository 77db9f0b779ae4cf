"""Text that came in pieces can be sent on, wherever it was cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Delta, ToolCall
from llmcore.text.whole_characters import WholeCharacters, join_surrogates

LAST = Delta(finish_reason="stop")


def told(*pieces: str) -> str:
    characters = WholeCharacters()
    return "".join(characters.push(delta).text for delta in [*map(Delta, pieces), LAST])


def test_the_halves_of_a_pair_in_two_pieces_are_one_character():
    assert told("hi \ud83d", "\ude00!") == "hi 😀!"


def test_a_half_waits_for_the_other_over_a_piece_without_words():
    assert told("hi \ud83d", "", "\ude00!") == "hi 😀!"


def test_a_half_that_stays_alone_is_replaced():
    assert told("half \ud800 of", "\udc00", "\ud800") == "half \ufffd of\ufffd\ufffd"


def test_what_a_tool_is_called_with_can_be_sent():
    call = ToolCall("1", "no\ud800te", '{"text": "\ud83d\ude00\ud800"}')
    told_call = WholeCharacters().push(Delta(tool_calls=(call,))).tool_calls[0]
    assert (told_call.name, told_call.arguments) == ("no\ufffdte", '{"text": "😀\ufffd"}')


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_whole_characters_come_as_they_are(pieces: list[str]):
    assert told(*pieces) == "".join(pieces)


@given(st.text(st.sampled_from("a\ud83d\ude00\ud800\udc00😀")), st.integers(0, 10))
def test_it_makes_no_difference_where_a_text_is_cut(text: str, at: int):
    assert told(text[:at], text[at:]) == join_surrogates(text)
    told(text).encode()
