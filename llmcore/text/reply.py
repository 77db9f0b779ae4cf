"""Conversion of a model's text to deltas, and the constraints that a request puts on that text."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from llmcore.engine import Delta, FinishReason, ReplyError, Request, RequestError, ToolCall, Usage
from llmcore.text.call_arguments import known_name
from llmcore.text.control_text import ControlText
from llmcore.text.reply_parts import Part
from llmcore.text.tool_calls import (
    BARE_JSON,
    MalformedToolCall,
    Markup,
    new_call_id,
    shown_parameters,
    shown_tools,
)


class ReplyParser:
    """Converter of one reply's text to deltas: words to say, thoughts, permitted calls, and the end.

    Control text is never spoken. Calls that the request does not allow (no tools, tool_choice "none") are
    dropped, also those of tools that only the prompt's earlier calls show. markup: the configured form of
    calls; all other forms are read as well. in_thought, doubtful: see `ControlText`.
    """

    def __init__(
        self,
        request: Request,
        markup: Markup | None = None,
        *,
        in_thought: bool = False,
        doubtful: bool = False,
    ) -> None:
        self._forbids_calls = request.tool_choice == "none"
        takers = (tool.name for tool in request.tools if tool.takes_unknown_calls)
        self._for_unknown = "" if self._forbids_calls else next(takers, "")
        self.text = ControlText(
            shown_tools(request),
            parameters=shown_parameters(request),
            wanted=bool(request.tools) and not self._forbids_calls,
            any_name=markup == BARE_JSON or self._for_unknown != "",
            in_thought=in_thought,
            doubtful=doubtful,
        )
        self._names = frozenset(tool.name for tool in request.tools)
        self._called = self._worded = False
        self._thoughts = 0

    def push(self, text: str) -> list[Delta]:
        """Return the deltas that this text completes. Raises ReplyError."""
        if self.text.try_pass(text):
            return [Delta(text)]
        return self._deltas(lambda: self.text.push(text))

    def read(self, delta: Delta) -> list[Delta]:
        """Convert a server's delta, in which calls and thoughts may be separate already.

        Raises ReplyError.
        """
        if self._forbids_calls:
            delta = _without_calls(delta)
        apart = delta.thought or delta.tool_calls or delta.finish_reason is not None
        if not apart and self.text.try_pass(delta.text):
            return [delta]
        if delta.finish_reason is not None:
            cut = delta.finish_reason == "length"
            held = self._deltas(lambda: self.text.finish(cut))
            return [*held, *self._unfinished_call(cut), self._last(delta)]
        if delta.tool_calls:
            self._called, delta = True, self._with_known_names(delta)
        self._thoughts += delta.pieces if delta.thought else 0
        others = [replace(delta, text="")] if delta.thought or delta.tool_calls else []
        if others:  # words before separate thoughts or calls are no unopened thought
            others = [*self.release(), *others]
        return [*others, *self.push(delta.text)] if delta.text else others

    def _unfinished_call(self, cut: bool) -> list[Delta]:
        """Return the call of the tool that takes unknown calls if the reply was cut within its only call: it
        needs no arguments, and the caller would hear nothing.
        """
        if not cut or not self._for_unknown or self._called or self._worded or self._thoughts:
            return []
        self._called = True
        return [Delta(tool_calls=(ToolCall(new_call_id(), self._for_unknown, "{}"),))]

    def _with_known_names(self, delta: Delta) -> Delta:
        calls = (replace(call, name=known_name(call.name, self._names)) for call in delta.tool_calls)
        return replace(delta, tool_calls=tuple(map(self._offered, calls)))

    def _offered(self, call: ToolCall) -> ToolCall:
        """Return the call, or that of the tool that takes calls of tools that are not offered."""
        if call.name in self._names or not self._for_unknown:
            return call
        return replace(call, name=self._for_unknown, arguments="{}")

    def release(self) -> list[Delta]:
        """Return the words held back as a possible thought."""
        return self._deltas(self.text.release)

    def finish(self, reason: FinishReason, usage: Usage) -> list[Delta]:
        """Return the text held back, and the last delta. Raises ReplyError for an unreadable call."""
        return self.read(Delta(finish_reason=reason, usage=usage))

    def _last(self, delta: Delta) -> Delta:
        """Return the last delta, with our own count of thoughts if the server does not report one."""
        usage = delta.usage
        if usage is not None and self._thoughts and not usage.thought_tokens:
            usage = replace(usage, thought_tokens=self._thoughts)
        return replace(
            delta, usage=usage, finish_reason="tool_calls" if self._called else delta.finish_reason
        )

    def _deltas(self, parse: Callable[[], list[Part]]) -> list[Delta]:
        try:
            parts = parse()
        except MalformedToolCall as error:
            raise ReplyError(f"the model wrote an unreadable tool call: {error}") from error
        return [self._delta(part) for part in parts]

    def _delta(self, part: Part) -> Delta:
        self._called = self._called or bool(part.calls)
        self._worded = self._worded or bool(part.words.strip())
        self._thoughts += bool(part.thought)
        return Delta(part.words, tuple(map(self._offered, part.calls)), thought=part.thought)


def _without_calls(delta: Delta) -> Delta:
    """Return the delta of a server that calls tools although none is allowed, without these calls."""
    reason = "stop" if delta.finish_reason == "tool_calls" else delta.finish_reason
    return replace(delta, tool_calls=(), finish_reason=reason) if delta.tool_calls or reason else delta


def forced_opening(request: Request, markup: Markup) -> str:
    """Return the beginning of the reply that makes it the call required by `tool_choice`; "" if none is.

    For engines without guided decoding: the model continues from it.
    """
    if not forces_a_call(request):
        return ""
    if request.tool_choice == "required":
        return markup.opening + '{"name": "'
    return markup.opening + json.dumps({"name": request.tool_choice})[:-1] + ', "arguments": '


def forces_a_call(request: Request) -> bool:
    """Return True if `tool_choice` requires a call. Raises LlmError for an unknown tool."""
    names = [tool.name for tool in request.tools]
    if request.tool_choice not in ("auto", "none", "required", *names):
        allowed = ", ".join(["auto", "none", "required", *names])
        raise RequestError(f"tool_choice {request.tool_choice!r} is not one of: {allowed}")
    return bool(names) and request.tool_choice not in ("auto", "none")
