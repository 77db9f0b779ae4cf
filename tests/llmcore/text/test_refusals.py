"""The field of a request that an error text calls unknown, and the request without it."""

from __future__ import annotations

from collections.abc import Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Message, Request, ToolCall
from llmcore.text.message_shapes import ANY_SHAPE, ORDER_SHAPES, Shape
from llmcore.text.refusals import (
    ContextLimit,
    describe_refused_field,
    is_about_messages,
    refused_field,
    refused_shapes,
    without_fields,
)

BODY = {"messages": [], "max_tokens": 9, "temperature": 0.5, "stop": ["#"], "stream_options": {}}


@pytest.mark.parametrize(
    ("error", "field"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens"),
        ("Unsupported value: 'temperature' does not support 0.7 with this model.", "temperature"),
        (
            "[{'type': 'extra_forbidden', 'loc': ['body', 'stream_options'], "
            "'msg': 'Extra inputs are not permitted', 'input': {'include_usage': True}}]",
            "stream_options",
        ),
        ("property 'stream_options' is unsupported", "stream_options"),
        ('Invalid JSON payload received. Unknown name "stop": Cannot find field.', "stop"),
        ("Unrecognized request argument supplied: stream_options", "stream_options"),
        ("max_tokens is too large: 9000. This model supports at most 4096.", None),
        ("Unsupported value: 'messages[0].role' does not support 'system' with this model.", None),
        ("Unsupported parameter: 'max_completion_tokens'.", None),
        ("The server stopped.", None),
    ],
)
def test_the_field_that_an_error_calls_unknown(error: str, field: str | None) -> None:
    assert refused_field(error, BODY) == field


@given(
    st.sets(st.sampled_from(["max_tokens", "max_completion_tokens", "temperature", "stop", "stream_options"]))
)
def test_without_its_refused_fields_a_body_has_the_rest_and_a_limit_if_any_name_is_known(
    refused: Set[str],
) -> None:
    body = without_fields(BODY, refused)
    assert not refused & set(body)
    assert {key: body[key] for key in body if key in BODY} == {
        key: BODY[key] for key in BODY if key not in refused
    }
    assert (9 in body.values()) == (not {"max_tokens", "max_completion_tokens"} <= refused)


def test_the_log_says_what_is_sent_in_its_place() -> None:
    assert describe_refused_field("max_tokens", {"max_tokens"}) == (
        "it refuses max_tokens: sent as max_completion_tokens"
    )
    assert describe_refused_field("stop", {"stop"}) == "it refuses stop: left out"


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


@pytest.mark.parametrize(
    ("error", "shapes"),
    [
        ("the system message has to stand at the beginning", {"later_system"}),
        ("Jinja: system role not supported", {"system", "later_system"}),
        ("expected last role user or tool but got assistant", {"assistant_last", "later_system"}),
        ("tool call id was call_1 but must be a-zA-Z0-9, with a length of 9", {"odd_ids", "long_ids"}),
        ("Invalid 'messages[2].tool_calls[0].id': string too long", {"odd_ids", "long_ids"}),
        ("only single tool-calls at once in this template", {"parallel_calls"}),
        ("unexpected role 'user' after role 'tool'", {"user_after_tool"}),
        ("a message must have either content or tool calls, not both", {"words_with_calls"}),
        ("no user query in the messages", {"assistant_first"}),
        ("can only concatenate str (not NoneType) to str in the template's content", {"empty_content"}),
        ("auto tool choice requires --enable-auto-tool-choice", {"tools"}),
        ("conversation roles have to alternate", ORDER_SHAPES),
    ],
)
def test_the_text_of_a_refusal_tells_the_shape(error: str, shapes: set[Shape]) -> None:
    assert is_about_messages(error)
    assert refused_shapes(error, ANY_SHAPE).refused == shapes


@pytest.mark.parametrize(
    "error",
    [
        "the messages exceed the context window",
        "This model's maximum context length is 2048 tokens; the messages have 3000",
        "max_tokens must be at least 16",
        "temperature is not supported",
    ],
)
def test_other_refusals_are_not_about_shapes(error: str) -> None:
    assert not is_about_messages(error)
