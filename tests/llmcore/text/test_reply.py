"""Calls that a request does not allow, in the text of a reply and beside it."""

from __future__ import annotations

from llmcore.engine import Delta, Message, Request, Tool, ToolCall, Usage
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
