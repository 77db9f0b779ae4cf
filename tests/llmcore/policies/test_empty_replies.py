"""The request after a reply without words, and answers that need no more words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmcore.engine import Message, Request, Tool, ToolCall
from llmcore.policies.must_answer import ask_for_words, words_precede_result

ASKED = Message("user", "Wake me at six.")
RESULT = Message("tool", "set", (), "c1")


def calling(words: str = "") -> Message:
    return Message("assistant", words, (ToolCall("c1", "wake", "{}"),))


def request(*messages: Message, choice: str = "auto") -> Request:
    return Request((Message("system", "Be short."), *messages), (Tool("wake", ""),), choice)


def test_after_a_tools_result_no_further_call_is_allowed() -> None:
    empty = request(ASKED, calling(), RESULT)
    assert ask_for_words(empty) == replace(empty, tool_choice="none")


@pytest.mark.parametrize("messages", [(ASKED,), (ASKED, calling(), RESULT)])
def test_where_no_call_is_allowed_no_tool_is_offered(messages: tuple[Message, ...]) -> None:
    empty = request(*messages, choice="none")
    assert ask_for_words(empty) == replace(empty, tools=())


@pytest.mark.parametrize("choice", ["auto", "required", "wake"])
def test_other_requests_are_sent_again_as_they_are(choice: str) -> None:
    empty = request(ASKED, choice=choice)
    assert ask_for_words(empty) == empty


@pytest.mark.parametrize(
    "messages",
    [
        (ASKED, calling("I'll wake you at six."), RESULT),
        (ASKED, calling("I'll wake you at six."), RESULT, calling(), RESULT),
        (ASKED, calling(), RESULT, Message("assistant", "It is set."), calling(), RESULT),
    ],
    ids=["before the call", "before an earlier call", "between two calls"],
)
def test_words_of_the_same_answer_precede_the_result(messages: tuple[Message, ...]) -> None:
    assert words_precede_result(request(*messages))


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (ASKED,),
        (ASKED, calling(), RESULT),
        (ASKED, calling("..."), RESULT),
        (Message("assistant", "Hello."), ASKED, calling(), RESULT),
        (ASKED, Message("assistant", "It is set.")),
        (ASKED, calling("I'll wake you."), RESULT, Message("system", "Say how the weather is.")),
    ],
    ids=["nothing", "question", "no words", "marks", "greeting", "no result", "guidance"],
)
def test_no_words_of_the_same_answer_precede_a_result(messages: tuple[Message, ...]) -> None:
    assert not words_precede_result(request(*messages))
