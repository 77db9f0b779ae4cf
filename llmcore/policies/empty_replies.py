"""Replies without words or calls: the request that follows, and answers that were complete before them.

Models say nothing after a tool's result if they have said everything before the call, or call a tool that
`tool_choice` "none" forbids.
"""

from __future__ import annotations

from dataclasses import replace

from llmcore.engine import Request


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
