"""Parts of a reply in order: its words, the blank text between them, and its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from llmcore.engine import ToolCall
from llmcore.text.call_arguments import known_name, with_names
from llmcore.text.known_calls import Found, Known, Verdict
from llmcore.text.tool_calls import MalformedToolCall
from llmcore.text.unmarked_calls import calls_at_end, judge
from llmcore.text.written_calls import WrittenCall, read_calls


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a reply: words to say, a thought, or complete calls."""

    words: str = ""
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()


_SENTENCE_ENDS = ".!?"


class SpokenParts:
    """Parsed parts of a reply. doubtful: hold back words at first, as in `ControlText`."""

    def __init__(self, doubtful: bool) -> None:
        self._parts: list[Part] = []
        self.last = ""
        """Last character of the words so far."""
        self._before_blanks = ""  # last character before the blanks at the end of the words
        self._blank = False  # blank text was seen since the region ended
        self.after_region = False
        """True after a region until the next words: blank text there becomes at most one space, as does
        nothing between two sentences.
        """
        self.held_words: list[str] | None = [] if doubtful else None
        """Words held back as a possible thought; None if there is no doubt."""

    def end_region(self, blank: bool = False) -> None:
        """Record the end of a marked region. blank: it ended with blank text."""
        self.after_region, self._blank = True, blank or (self._blank and self.after_region)

    def add_words(self, text: str) -> bool:
        """Add words or blank text. Return True if any words were added."""
        if self.after_region:
            words = text.lstrip()
            self._blank = self._blank or len(words) < len(text)
            if not words:
                return False
            self.after_region = False
            apart = self._blank or (self.last in _SENTENCE_ENDS and words[0].isupper())
            text = f" {words}" if apart and self.last and not self.last.isspace() else words
        if text and self.held_words is None:
            self._parts.append(Part(text))
        elif text and self.held_words is not None:
            self.held_words.append(text)
        if text:
            self.record(text)
        return bool(text)

    def record(self, words: str) -> None:
        """Record words that pass without a change; not empty."""
        if words[-1] == " ":
            before = words.rstrip(" ")[-1:]
            self._before_blanks = before or (self._before_blanks if self.last == " " else self.last)
        self.last = words[-1]

    @property
    def ends_sentence(self) -> bool:
        """True if a sentence may begin after the words so far."""
        last = self._before_blanks if self.last == " " else self.last
        return not last or last in ".!?:;…\n"

    def add(self, part: Part) -> None:
        """Add a thought or calls."""
        if part.calls:  # an unopened thought would have ended before a call
            self._parts += self.release()
        self._parts.append(part)

    def end_doubt(self) -> None:
        """Turn the words held back into a thought: its end was found."""
        held, self.held_words = self.held_words, None
        if held:
            self._parts.append(Part(thought="".join(held)))
            self.last = ""

    def release(self) -> list[Part]:
        """Return the words held back, and stop holding back."""
        held, self.held_words = self.held_words, None
        return [Part(words) for words in held or ()]

    def pop_parts(self) -> list[Part]:
        """Return and remove the parts, with neighbours of one kind joined."""
        parts, self._parts = self._parts, []
        joined: list[Part] = []
        for part in parts:
            last = joined[-1] if joined else None
            if last is not None and last.words and part.words:
                joined[-1] = Part(last.words + part.words)
            elif last is not None and last.thought and part.thought:
                joined[-1] = Part(thought=last.thought + part.thought)
            else:
                joined.append(part)
        return joined


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
