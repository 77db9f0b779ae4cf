"""Requests that must be answered in words, because the caller would hear nothing otherwise.

A small model that has a tool's result may make the same call again, up to the limit of rounds. Other models
write nothing after a result, or call a tool that `tool_choice` "none" forbids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llmcore.engine import Message, Request

Round = tuple[tuple[tuple[str, str], ...], tuple[str, ...]]
"""Names and arguments of the calls of one message, and their results."""


def answer_repeated_calls(request: Request) -> Request:
    """Return the request with `tool_choice` "none" if the last two rounds made the same calls with the same
    results: a third would bring nothing new.

    Repeated calls whose results differ, as of polling, stay allowed.
    """
    if request.tool_choice != "auto" or len(request.messages) < 4:
        return request
    before, last = _last_round(request.messages)
    if last is None or last != _last_round(before)[1]:
        return request
    return replace(request, tool_choice="none")


def _last_round(messages: Sequence[Message]) -> tuple[Sequence[Message], Round | None]:
    """Return the messages before the round of calls at the end, and that round; None if there is none."""
    end = len(messages)
    while end and messages[end - 1].role == "tool":
        end -= 1
    if end in (0, len(messages)) or not (calls := messages[end - 1].tool_calls):
        return messages, None
    called = tuple((call.name, call.arguments) for call in calls)
    return messages[: end - 1], (called, tuple(message.content for message in messages[end:]))


def ask_for_words(request: Request) -> Request:
    """Return the request to send after an empty reply, which differs where the same one would likely be
    answered with nothing again.

    Where no call is allowed, the tools are left out: the model must have tried to call one. After a tool's
    result, no further call is allowed.
    """
    if request.tool_choice == "none":
        return replace(request, tools=())
    if request.tool_choice == "auto" and request.messages[-1:] and request.messages[-1].role == "tool":
        return replace(request, tool_choice="none")
    return request


def words_precede_result(request: Request) -> bool:
    """Return True if the newest message is a tool's result, and the agent has said words since the caller's
    last message. The answer may then be complete without more.
    """
    for message in reversed(request.messages):
        if message.role == "assistant" and any(map(str.isalnum, message.content)):
            return request.messages[-1].role == "tool"
        if message.role not in ("assistant", "tool"):
            return False
    return False
