"""Calls that a request does not allow, in the text of a reply and beside it."""

from __future__ import annotations

import pytest

from llmcore.engine import Delta, FinishReason, Message, Request, Tool, ToolCall, Usage
from llmcore.text.reply import ReplyParser

CALL = ToolCall("c1", "look", "{}")
HISTORY = (
    Message("user", "Is there tea?"),
    Message("assistant", "", (CALL,)),
    Message("tool", "no", (), "c1"),
)


def spoken(request: Request, *deltas: Delta) -> list[Delta]:
    parser = ReplyParser(request)
    read = [each for delta in deltas for each in parser.read(delta)]
    return [*read, *parser.finish("tool_calls", Usage())]


def test_a_call_that_is_made_again_without_any_tool_offered_is_not_spoken() -> None:
    parser = ReplyParser(Request(HISTORY))
    words = parser.push('{"name": "look", "arguments": {}} There is none.') + parser.finish("stop", Usage())
    assert "".join(delta.text for delta in words).strip() == "There is none."


def test_calls_of_a_server_that_ignores_their_ban_are_dropped_and_the_reply_just_ends() -> None:
    deltas = spoken(Request(HISTORY, (Tool("look", ""),), "none"), Delta("None."), Delta(tool_calls=(CALL,)))
    assert "".join(delta.text for delta in deltas) == "None."
    assert [(delta.tool_calls, delta.finish_reason) for delta in deltas[-1:]] == [((), "stop")]


def test_allowed_calls_beside_the_text_pass() -> None:
    deltas = spoken(Request(HISTORY, (Tool("look", ""),)), Delta(tool_calls=(CALL,)))
    assert [call for delta in deltas for call in delta.tool_calls] == [CALL]


HANDS_ON = Tool("delegate", "", takes_unknown_calls=True)
INVENTED = {
    "bare": '{"name": "bookTable", "arguments": {"table": "2"}}',
    "marked": '<tool_call>\n{"name": "bookTable", "arguments": {"table": "2"}}\n</tool_call>',
    "fenced": '```json\n{"name": "bookTable", "arguments": {"table": "2"}}\n```',
    "without arguments": '{"name": "bookTable", "arguments": {}}',
}


def called(text: str, *tools: Tool, reason: FinishReason = "stop") -> tuple[str, list[tuple[str, str]]]:
    """Return the words and the calls of a reply that comes character by character."""
    parser = ReplyParser(Request((Message("user", "Book it."),), tools))
    deltas = [delta for character in text for delta in parser.push(character)]
    deltas += parser.finish(reason, Usage())
    calls = [(call.name, call.arguments) for delta in deltas for call in delta.tool_calls]
    return "".join(delta.text for delta in deltas).strip(), calls


@pytest.mark.parametrize("written", INVENTED.values(), ids=INVENTED.keys())
def test_call_of_an_invented_tool_is_one_of_the_tool_that_hands_the_request_on(written: str) -> None:
    assert called(written, HANDS_ON) == ("", [("delegate", "{}")])
    assert called(written, Tool("look", ""), HANDS_ON) == ("", [("delegate", "{}")])


def test_calls_of_offered_tools_stay_as_they_are() -> None:
    look = '{"name": "look", "arguments": {"at": "tea"}}'
    assert called(look, Tool("look", ""), HANDS_ON) == ("", [("look", '{"at": "tea"}')])


def test_call_of_an_invented_tool_beside_the_text_is_handed_on_too() -> None:
    deltas = spoken(Request(HISTORY, (HANDS_ON,)), Delta(tool_calls=(ToolCall("c2", "book", '{"at": 7}'),)))
    assert [call for delta in deltas for call in delta.tool_calls] == [ToolCall("c2", "delegate", "{}")]


@pytest.mark.parametrize("words", ['{"name": "Peter", "age": 7}', "Name: Peter.", "{ } are braces."])
def test_json_that_is_no_call_stays_words(words: str) -> None:
    assert called(words, HANDS_ON) == (words, [])


@pytest.mark.parametrize("written", [INVENTED["bare"], INVENTED["without arguments"]])
def test_without_such_a_tool_json_of_another_name_stays_words(written: str) -> None:
    assert called(written, Tool("look", "")) == (written, [])


@pytest.mark.parametrize("written", INVENTED.values(), ids=INVENTED.keys())
def test_call_that_the_token_limit_cuts_is_handed_on_all_the_same(written: str) -> None:
    half = written[: written.index("arguments")]
    assert called(half, HANDS_ON, reason="length") == ("", [("delegate", "{}")])
    assert called(half, Tool("look", ""), reason="length")[1] == []


@pytest.mark.parametrize("written", ["I am", 'Let me see. {"name": "bookTable", "argum'])
def test_words_that_the_token_limit_cuts_hand_nothing_on(written: str) -> None:
    words, calls = called(written, HANDS_ON, reason="length")
    assert (words[:2], calls) == (written[:2], [])


@pytest.mark.parametrize("written", ["", '<tool_call>{"name": "bookTable", "argu'])
def test_cut_reply_that_may_call_no_tool_hands_nothing_on(written: str) -> None:
    parser = ReplyParser(Request(HISTORY, (HANDS_ON,), tool_choice="none"))
    deltas = parser.push(written) + parser.finish("length", Usage())
    assert not any(delta.tool_calls for delta in deltas)


def test_a_remark_that_names_no_parameter_of_the_tool_before_it_is_said() -> None:
    order = Tool("order", "", {"type": "object", "properties": {"pizza": {"type": "string"}}})
    remark = "Your order(total: 12 dollars) is ready."
    assert called(remark, order) == (remark, [])
    assert called("Let me see. order(Pizza: tuna)", order) == (
        "Let me see.",
        [("order", '{"Pizza": "tuna"}')],
    )
    free = Tool("order", "", {"type": "object", "properties": {}, "additionalProperties": True})
    assert called(remark.removesuffix(" is ready."), free)[1] == [("order", '{"total": "12 dollars"}')]
