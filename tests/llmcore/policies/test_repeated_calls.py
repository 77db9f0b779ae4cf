"""Tool calls that are repeated without end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcore.engine import Message, Request, Tool, ToolCall
from llmcore.policies.must_answer import answer_repeated_calls


def called(arguments: str, result: str, name: str = "look_up") -> tuple[Message, Message]:
    call = ToolCall(f"call_{arguments}", name, arguments)
    return Message("assistant", "", tool_calls=(call,)), Message("tool", result, (), call.call_id)


def asked(*messages: Message) -> Request:
    return Request(
        (Message("system", "Be short."), Message("user", "When?"), *messages), (Tool("look_up", ""),)
    )


def test_a_call_that_was_repeated_with_the_same_result_is_answered() -> None:
    request = asked(*called("{}", "at nine"), *called("{}", "at nine"))
    assert answer_repeated_calls(request) == replace(request, tool_choice="none")


@pytest.mark.parametrize(
    "messages",
    [
        (),
        called("{}", "at nine"),
        (*called("{}", "pending"), *called("{}", "done")),
        (*called("{}", "at nine"), *called('{"day": 2}', "at nine")),
        (*called("{}", "at nine"), *called("{}", "at nine", "clock")),
        (*called("{}", "at nine"), Message("user", "Again?"), *called("{}", "at nine")),
        (*called("{}", "at nine"), *called("{}", "at nine"), Message("user", "And when does it close?")),
    ],
    ids=["none", "one", "other result", "other arguments", "other tool", "asked again", "other question"],
)
def test_other_calls_stay_allowed(messages: tuple[Message, ...]) -> None:
    request = asked(*messages)
    assert answer_repeated_calls(request) is request


def test_a_choice_of_the_client_stays() -> None:
    request = replace(asked(*called("{}", "at nine"), *called("{}", "at nine")), tool_choice="required")
    assert answer_repeated_calls(request) is request
