"""Limits on MCP servers' output: tools without fixed arguments, results cut to a budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.mcp import ListedTool
from voiceagent.mcp.results import (
    MAX_LISTED,
    TooMuch,
    as_text,
    check_listed,
    check_size,
    cut,
    with_arguments,
    without_arguments,
)

TOOL = ListedTool(
    "order",
    "Orders.",
    {
        "type": "object",
        "properties": {"what": {"type": "string"}, "tenant": {"type": "string"}},
        "required": ["what", "tenant"],
    },
)


def test_fixed_arguments_are_hidden_from_the_model() -> None:
    shown = without_arguments(TOOL, {"tenant": "7"})
    assert shown.schema["properties"].keys() == {"what"}
    assert shown.schema["required"] == ["what"]
    assert TOOL.schema["required"] == ["what", "tenant"]


def test_fixed_arguments_are_given_whatever_the_model_says() -> None:
    fixed = {"tenant": "7", "unknown": 1}
    given_ = {"what": "tea", "tenant": "8", "unknown": 2}
    assert with_arguments(TOOL, given_, fixed) == {"what": "tea", "tenant": "7"}


@given(st.text(max_size=300), st.integers(100, 200))
def test_a_result_is_within_its_budget_and_says_what_was_cut(text: str, budget: int) -> None:
    shown = cut(text, budget)
    assert len(shown) <= budget
    if len(text) <= budget:
        assert shown == text
    else:
        assert shown.endswith(f"[cut here: {len(text)} characters in all]")


@pytest.mark.parametrize(
    ("texts", "structured"),
    [
        (['{"table": 4, "at": "19:00"}'], {"at": "19:00", "table": 4}),
        (["Booked.", '{"table": 4}'], {"table": 4}),
        (["found"], {"result": "found"}),
        (["42"], {"result": 42}),
        (["a", "b"], {"result": ["a", "b"]}),
        (['{"room": 1}', '{"room": 2}'], {"result": [{"room": 1}, {"room": 2}]}),
        (["Booked."], {}),
        (["Booked."], None),
    ],
)
def test_structured_content_that_the_text_holds_is_told_once(texts: list[str], structured: object) -> None:
    content = [{"type": "text", "text": text} for text in texts]
    assert as_text(content, structured, 8_000) == "\n".join(texts)


def test_structured_content_that_the_text_does_not_hold_is_told_behind_it() -> None:
    content = [{"type": "text", "text": "Booked."}]
    assert as_text(content, {"table": 4, "at": "19:00"}, 8_000) == 'Booked.\n{"table":4,"at":"19:00"}'


@given(st.text(max_size=300), st.dictionaries(st.text(max_size=9), st.text(max_size=90), max_size=9))
def test_text_and_structured_content_share_one_budget(text: str, structured: dict[str, str]) -> None:
    assert len(as_text([{"type": "text", "text": text}], structured, 120)) <= 120


def test_parts_of_a_result_are_joined_others_named() -> None:
    content = [
        {"type": "text", "text": "one"},
        {"type": "image", "data": "AAAA"},
        {"type": "resource", "resource": {"text": "two"}},
        {"type": "resource_link", "uri": "file:///three"},
    ]
    assert as_text(content, None, 1000) == "one\n[image, which cannot be told]\ntwo\nfile:///three"


def test_a_structured_result_is_told_where_there_is_no_text() -> None:
    assert as_text([], {"stock": 4}, 1000) == '{"stock":4}'
    assert as_text([], None, 1000) == "done"


@pytest.mark.parametrize("tools", [[TOOL] * 3, [ListedTool("long", "x" * 2000)]])
def test_more_tools_than_prompts_have_room_for_are_refused(tools: list[ListedTool]) -> None:
    with pytest.raises(TooMuch, match="allowed: at most"):
        check_size(tools, 2, 1000)


def test_a_list_that_is_too_long_to_be_read_names_its_limit() -> None:
    with pytest.raises(TooMuch, match=f"at most {MAX_LISTED}$"):
        check_listed([TOOL] * (MAX_LISTED + 1), 1_000_000)
    with pytest.raises(TooMuch, match=r"allowed: at most 1000$"):
        check_listed([ListedTool("long", "x" * 2000)], 1000)
