"""From the text a model writes to the deltas of a reply, and what a request demands of that text."""

from __future__ import annotations

import json
from collections.abc import Callable

from llmcore.engine import Delta, FinishReason, Request, RequestError, Usage
from llmcore.text.tool_calls import MalformedToolCall, Markup, Parsed, ToolCallParser


class ReplyParser:
    """Turns the text of one reply into deltas: words to say, calls the request allows, and the last one.

    Markup is never said: calls that the request does not allow (no tools, tool_choice "none") are dropped.
    """

    def __init__(self, request: Request, markup: Markup) -> None:
        self._allowed = bool(request.tools) and request.tool_choice != "none"
        # A reply that is JSON and stands for itself is a call only where tools are offered.
        parsed = self._allowed or bool(markup.opening)
        self._parser = ToolCallParser(markup, wanted=self._allowed) if parsed else None
        self._called = False

    def push(self, text: str) -> Delta | None:
        """The delta that this text makes, None where nothing is certain yet. Raises LlmError."""
        return self._delta(lambda parser: parser.push(text)) if self._parser else _said(text)

    def finish(self, reason: FinishReason, usage: Usage) -> list[Delta]:
        """What was held back, and the last delta. Raises LlmError for an unreadable call."""
        rest = self._delta(lambda parser: parser.finish(cut=reason == "length"))
        last = Delta(finish_reason="tool_calls" if self._called else reason, usage=usage)
        return [rest, last] if rest else [last]

    def _delta(self, parse: Callable[[ToolCallParser], Parsed]) -> Delta | None:
        if self._parser is None:
            return None
        try:
            parsed = parse(self._parser)
        except MalformedToolCall as error:
            raise RequestError(f"the model wrote a tool call that cannot be read: {error}") from error
        self._called = self._called or bool(parsed.calls)
        return Delta(parsed.text, parsed.calls) if parsed.text or parsed.calls else None


def _said(text: str) -> Delta | None:
    return Delta(text) if text else None


def forced_opening(request: Request, markup: Markup) -> str:
    """What a reply must begin with to be the call that `tool_choice` asks for; "" where it asks for none.

    For engines without guided decoding: the model goes on from there.
    """
    if not forces_a_call(request):
        return ""
    if request.tool_choice == "required":
        return markup.opening + '{"name": "'
    return markup.opening + json.dumps({"name": request.tool_choice})[:-1] + ', "arguments": '


def forces_a_call(request: Request) -> bool:
    """Whether `tool_choice` leaves the model no other answer. Raises LlmError for an unknown tool."""
    names = [tool.name for tool in request.tools]
    if request.tool_choice not in ("auto", "none", "required", *names):
        allowed = ", ".join(["auto", "none", "required", *names])
        raise RequestError(f"tool_choice {request.tool_choice!r} is not one of: {allowed}")
    return bool(names) and request.tool_choice not in ("auto", "none")
