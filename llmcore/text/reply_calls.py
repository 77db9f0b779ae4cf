"""The calls of one reply: recognized without marks, read, and named as the known tools are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from llmcore.engine import ToolCall
from llmcore.text.call_arguments import known_name, with_names
from llmcore.text.known_calls import Found, Known, Verdict
from llmcore.text.reply_parts import Part
from llmcore.text.tool_calls import MalformedToolCall
from llmcore.text.unmarked_calls import calls_at_end, judge
from llmcore.text.written_calls import WrittenCall, read_calls


class ReplyCalls:
    """Maker of a reply's calls. Its arguments: see `ControlText`."""

    def __init__(
        self,
        names: AbstractSet[str],
        parameters: Mapping[str, Sequence[str]],
        *,
        wanted: bool,
        any_name: bool,
        new_id: Callable[[], str],
    ) -> None:
        self._names = names
        self._parameters = parameters
        self._wanted = wanted
        self._any_name = any_name and wanted
        self._new_id = new_id
        self.may_be_unmarked = bool(names) or self._any_name
        """True if JSON and the like may be a call."""

    def judge(self, text: str, at_start: bool, after_sentence: bool) -> Verdict | Found:
        """Judge a text that may begin with a call without a mark."""
        return judge(text, Known(self._names, self._any_name, at_start, self._parameters, after_sentence))

    def at_end(self, text: str, at_start: bool, after_sentence: bool) -> list[Part]:
        """Return the calls in text that was begun when the reply ended. Raises MalformedToolCall."""
        line = self.judge(f"{text}\n", at_start, after_sentence)  # a call that fills its line
        return self.made_of(line[1] if isinstance(line, tuple) else calls_at_end(text, self._names), text)

    def between_marks(self, text: str) -> list[Part]:
        """Return the calls between two marks, if calls are wanted. Raises MalformedToolCall."""
        return self.made_of(read_calls(text, self._names), text) if self._wanted else []

    def made_of(self, written: list[WrittenCall], text: str) -> list[Part]:
        """Return the calls, if calls are wanted. Raises MalformedToolCall if the text has none."""
        if not self._wanted:
            return []
        if not written:
            raise MalformedToolCall(f"not a tool call: {text!r}")
        return [Part(calls=tuple(map(self._call, written)))]

    def _call(self, written: WrittenCall) -> ToolCall:
        name = known_name(written[0], self._names)
        return ToolCall(self._new_id(), name, with_names(written[1], self._parameters.get(name)))
