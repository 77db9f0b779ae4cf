from __future__ import annotations

import json
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Message, Request, Tool, ToolCall
from llmcore.text.tool_calls import BARE_JSON, MARKUPS, MalformedToolCall, Markup, ToolCallParser, call_schema

HERMES, MISTRAL = MARKUPS["hermes"], MARKUPS["mistral"]

WORDS = st.text(st.characters(exclude_characters="<[{", exclude_categories=("Cs",)), max_size=20)
VALUES = (
    st.text(max_size=10)
    | st.integers()
    | st.booleans()
    | st.none()
    | st.just("</tool_call>")
    | st.just('"}{')
)
CALLS = st.tuples(
    st.text("abc_", min_size=1, max_size=8), st.dictionaries(st.text(max_size=5), VALUES, max_size=3)
)


def parse(markup: Markup, pieces: list[str]) -> tuple[str, list[tuple[str, object]]]:
    """The words and the calls in a reply that comes in these pieces."""
    numbers = count()
    parser = ToolCallParser(markup, lambda: f"call_{next(numbers)}")
    parsed = [parser.push(piece) for piece in pieces]
    parsed.append(parser.finish())
    calls = [call for one in parsed for call in one.calls]
    assert [call.call_id for call in calls] == [f"call_{number}" for number in range(len(calls))]
    text = "".join(one.text for one in parsed)
    return text, [(call.name, json.loads(call.arguments)) for call in calls]


def split(text: str, data: st.DataObject) -> list[str]:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def body(name: str, arguments: dict[str, object], key: str = "arguments") -> str:
    return json.dumps({"name": name, key: arguments}, ensure_ascii=False)


@given(WORDS, st.lists(CALLS, max_size=3), st.data())
def test_hermes_calls_are_found_wherever_the_reply_is_cut(
    words: str, calls: list[tuple[str, dict[str, object]]], data: st.DataObject
) -> None:
    reply = words + "\n".join(f"<tool_call>\n{body(*call)}\n</tool_call>" for call in calls)
    text, found = parse(HERMES, split(reply, data))
    assert text == words
    assert found == calls


@given(WORDS, st.lists(CALLS, min_size=1, max_size=3), st.data())
def test_mistral_calls_are_found_wherever_the_reply_is_cut(
    words: str, calls: list[tuple[str, dict[str, object]]], data: st.DataObject
) -> None:
    listed = ", ".join(body(*call) for call in calls)
    text, found = parse(MISTRAL, split(f"{words}[TOOL_CALLS] [{listed}]", data))
    assert text == words
    assert found == calls


@given(st.lists(CALLS, min_size=1, max_size=3), st.data())
def test_llama_calls_are_found_wherever_the_reply_is_cut(
    calls: list[tuple[str, dict[str, object]]], data: st.DataObject
) -> None:
    reply = "; ".join(body(*call, key="parameters") for call in calls)
    text, found = parse(BARE_JSON, split(reply, data))
    assert text == ""
    assert found == calls


@given(WORDS, st.data())
def test_a_reply_without_a_call_passes_unchanged(words: str, data: st.DataObject) -> None:
    assert parse(HERMES, split(words, data)) == (words, [])


def test_only_what_may_begin_a_mark_is_held_back() -> None:
    parser = ToolCallParser(HERMES)
    assert parser.push("two < three").text == "two < three"
    assert parser.push(" <tool").text == " "
    assert parser.push("box>").text == "<toolbox>"


def test_a_call_is_out_as_soon_as_its_json_is() -> None:
    parser = ToolCallParser(HERMES)
    assert not parser.push('<tool_call>{"name": "f"').calls
    assert [call.name for call in parser.push("}").calls] == ["f"]
    assert [parser.push(piece).text for piece in ("\n</tool", "_call>", " Done")] == ["", "", "Done"]


def test_a_mark_that_is_broken_off_behind_a_call_is_not_said() -> None:
    parser = ToolCallParser(HERMES)
    parser.push('<tool_call>{"name": "f"}\n</tool_c')
    assert parser.finish().text == ""


def test_a_call_without_its_closing_mark_counts_when_the_reply_ends() -> None:
    assert parse(HERMES, ['<tool_call>{"name": "f", "arguments": {}}']) == ("", [("f", {})])


def test_arguments_that_are_already_json_text_stay() -> None:
    parser = ToolCallParser(HERMES)
    (call,) = parser.push('<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>').calls
    assert call.arguments == '{"a": 1}'


def test_a_bare_brace_in_mid_sentence_is_text() -> None:
    assert parse(BARE_JSON, ["It is ", "{", "braces}"]) == ("It is {braces}", [])


@pytest.mark.parametrize("content", ["nonsense", '{"arguments": {}}', "[1]", '{"name": 7}'])
def test_what_is_no_call_between_the_marks_is_refused(content: str) -> None:
    with pytest.raises(MalformedToolCall):
        parse(HERMES, [f"<tool_call>{content}</tool_call>"])


def test_a_reply_that_ends_inside_a_call_is_refused() -> None:
    parser = ToolCallParser(HERMES)
    parser.push('<tool_call>{"name": "f"')
    with pytest.raises(MalformedToolCall, match="ends inside"):
        parser.finish()


@pytest.mark.parametrize("call", ['{"name": "f"', '{"name": "f"}</tool_call>', "[]B4", "{}</tool_call>"])
def test_unwanted_calls_are_left_out_whatever_stands_in_them(call: str) -> None:
    parser = ToolCallParser(HERMES, wanted=False)
    parsed = [parser.push(f"Good.<tool_call>{call}"), parser.finish()]
    assert "".join(one.text for one in parsed).startswith("Good.")
    assert [one.calls for one in parsed] == [(), ()]


def test_a_call_that_the_token_limit_cut_is_forgiven() -> None:
    parser = ToolCallParser(HERMES)
    parser.push('<tool_call>{"name": "f"')
    assert not parser.finish(cut=True).calls


def test_ids_are_never_the_same_twice() -> None:
    calls: list[ToolCall] = []
    for _ in range(3):
        calls += ToolCallParser(HERMES).push('<tool_call>{"name": "f"}</tool_call>').calls
    assert len({call.call_id for call in calls}) == 3


def test_the_schema_of_a_demanded_call_allows_that_tool_alone() -> None:
    tools = (Tool("go", "", {"type": "object"}), Tool("stay", "", {"type": "object"}))
    request = Request((Message("user", "?"),), tools, tool_choice="stay")
    assert call_schema(request)["properties"]["name"] == {"const": "stay"}


def test_the_schema_of_any_call_allows_all_tools() -> None:
    tools = (Tool("go", "", {"type": "object"}), Tool("stay", "", {"type": "object"}))
    request = Request((Message("user", "?"),), tools, tool_choice="required")
    names = [shape["properties"]["name"]["const"] for shape in call_schema(request)["anyOf"]]
    assert names == ["go", "stay"]
