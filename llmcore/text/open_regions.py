"""Text within a region: a thought, a tool call, a header, or text that is left out, up to its end."""

from __future__ import annotations

from dataclasses import dataclass

from llmcore.text.control_marks import LONGEST_HEADER, Region, read_harmony_header
from llmcore.text.stop_strings import partial_mark_length
from llmcore.text.written_calls import json_start, value_end

_BETWEEN_CALLS = " \n\t;,}"
"""Characters that models write between two calls; an extra brace is a common mistake of theirs."""
_AFTER_UNMARKED = _BETWEEN_CALLS + ")]*"
"""The same after a call without a mark, and the ends of brackets around it."""
UNMARKED, FENCED, INLINE = Region("call"), Region("call", ("```",)), Region("call", ("`",))
_UNMARKED_REGIONS = (UNMARKED, FENCED, INLINE)
"""Regions after a call without a mark: bare, in a fence, or between backquotes."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step within a region.

    rest: the text behind it. text: that of a thought, or of calls between their marks. closed: the region has
    ended. into: the region that follows a closed one; None for words. waits: the rest needs more text.
    blank: blank text was left out after a call.
    """

    rest: str
    text: str | None = None
    closed: bool = False
    into: Region | None = None
    waits: bool = False
    blank: bool | None = None


class OpenRegion:
    """A region that the text is in. has_call: its call has been read."""

    def __init__(self, region: Region, has_call: bool = False) -> None:
        self.region = region
        self.has_call = has_call
        self._inner_thoughts = 0  # thoughts within this one that have no end yet

    def step(self, text: str) -> Step:
        """Read the beginning of a text."""
        match self.region.kind:
            case "call":
                return self._after_call(text) if self.has_call else self._call(text)
            case "header":
                return self._header(text)
            case _:
                return self._until_end(text)

    def _until_end(self, text: str) -> Step:
        """Read a thought, or text to remove, up to its end.

        A thought may have thoughts in it, whose opening marks begin a line: within one the mark is a word.
        """
        region = self.region
        end = region.end_pattern.search(text)
        inner = f"\n{region.opening}" if region.kind == "thought" and region.opening else ""
        begin = text.lower().find(inner, 0, end.start() if end else None) if inner else -1
        if begin >= 0 or (end is not None and self._inner_thoughts):
            self._inner_thoughts += 1 if begin >= 0 else -1
            at = begin + len(inner) if begin >= 0 or end is None else end.end()
            return Step(text[at:], text[:at])
        if end is None:
            marks = (*region.closings, *region.limits, *filter(None, (inner,)))
            settled = len(text) - partial_mark_length(text.lower(), marks)
            return Step(text[settled:], text[:settled], waits=True)
        return Step(text[region.text_start(end) :], text[: end.start()], closed=True)

    def _header(self, text: str) -> Step:
        """Read a header of the harmony format: the channel and the recipient of the following text."""
        region = self.region
        end = region.end_pattern.search(text)
        if end is None or end.end() > LONGEST_HEADER:
            too_long = len(text) > LONGEST_HEADER  # no header after all
            return Step(text, closed=too_long, waits=not too_long)
        rest = text[region.text_start(end) :]
        if end[0].lower() not in region.closings:
            return Step(rest, closed=True)
        into, recipient = read_harmony_header(text[: end.start()])
        return Step(recipient + rest, closed=True, into=into)

    def _call(self, text: str) -> Step:
        """Read a call up to the end of its JSON, or up to its closing mark if it is in another form."""
        ends = self.region.end_pattern
        start = json_start(text)
        at, whole = value_end(text, start, ends) if start >= 0 else (-1, False)
        if whole:  # without waiting for the closing mark
            self.has_call = True
            return Step(text[at:], text[:at])
        end = None if start >= 0 and at < 0 else ends.search(text, max(at, 0))
        if end is None:
            return Step(text, waits=True)
        return Step(text[self.region.text_start(end) :], text[: end.start()], closed=True)

    def _after_call(self, text: str) -> Step:
        """Read the text after a call: another call, the region's closing mark, or words."""
        unmarked = self.region in _UNMARKED_REGIONS
        rest = text.lstrip(_AFTER_UNMARKED if unmarked else _BETWEEN_CALLS + "`")
        blank = text[:1].isspace()
        end = self.region.end_pattern.match(rest)
        if end is not None:
            return Step(rest[self.region.text_start(end) :], closed=True, blank=blank)
        if any(mark.startswith(rest.lower()) for mark in (*self.region.closings, *self.region.limits, "")):
            return Step(rest, waits=True, blank=blank)
        if rest.startswith("{") and not unmarked:
            self.has_call = False
            return Step(rest, blank=blank)
        return Step(rest, closed=True, blank=blank)
