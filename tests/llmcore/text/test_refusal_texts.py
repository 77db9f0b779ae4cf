"""The text of a server's error shows the refused message shape."""

from __future__ import annotations

import pytest

from llmcore.text.message_shapes import ANY_SHAPE, ORDER_SHAPES, Shape
from llmcore.text.refusals import is_about_messages, refused_shapes


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
