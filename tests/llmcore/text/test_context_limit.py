"""The longest prompt that a server takes is learned from its refusals."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Message, Request, ToolCall
from llmcore.text.refusals import ContextLimit

SYSTEM = Message("system", "s" * 100)


def turns(*lengths: int) -> Request:
    """Return a prompt whose turns have these lengths in characters."""
    return Request((SYSTEM, *(Message("user", "u" * length) for length in lengths)))


def test_nothing_is_left_out_before_a_refusal() -> None:
    request = turns(*[1_000] * 50)
    assert ContextLimit().fit(request) is request


def test_after_a_refusal_the_oldest_turns_are_left_out_then_and_later() -> None:
    limit, request = ContextLimit(), turns(*[1_000] * 20)
    shorter = limit.shorten(request)
    assert shorter is not None
    assert shorter.messages == (SYSTEM, *request.messages[-8:])  # 10,050 characters, four turns at once
    assert limit.fit(request) == shorter
    assert limit.fit(turns(1_000)) == turns(1_000)


def test_calls_count_by_their_arguments() -> None:
    call = Message("assistant", "", (ToolCall("a", "look", "x" * 5_000),))
    limit = ContextLimit()
    shorter = limit.shorten(Request((Message("user", "old"), call, Message("user", "new"))))
    assert shorter is not None
    assert shorter.messages == (Message("user", "new"),)


def test_a_prompt_of_one_turn_cannot_be_shorter_and_tells_nothing_about_others() -> None:
    limit = ContextLimit()
    assert limit.shorten(turns(9_000)) is None
    assert limit.characters is None


@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=40), st.integers(0, 20_000))
def test_refusals_end_with_a_prompt_that_fits_or_with_the_newest_turn(
    lengths: list[int], capacity: int
) -> None:
    limit, request = ContextLimit(), turns(*lengths)
    tries = 1
    while sum(len(message.content) for message in request.messages) > capacity:
        shorter = limit.shorten(request)
        if shorter is None:
            assert request.messages == (SYSTEM, turns(*lengths).messages[-1])
            break
        request, tries = shorter, tries + 1
    assert request.messages[-1] == turns(*lengths).messages[-1]
    assert tries <= 12
