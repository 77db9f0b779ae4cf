"""Repair of surrogate pairs: JSON can hold half of one, UTF-8 cannot.

A server that counts in UTF-16 (JavaScript) may cut an emoji into two chunks (Unicode 16.0, D71 to D75).
"""

from __future__ import annotations

from dataclasses import replace

from llmcore.engine import Delta


class WholeCharacters:
    """A filter over one reply's deltas that joins surrogate halves, across deltas too. A lone half becomes
    U+FFFD.
    """

    def __init__(self) -> None:
        self._half = ""

    def push(self, delta: Delta) -> Delta:
        """Return the delta without a trailing first half, which is held for the next one."""
        calls = tuple(
            replace(call, name=join_surrogates(call.name), arguments=join_surrogates(call.arguments))
            for call in delta.tool_calls
        )
        text = self._half + delta.text
        ends = bool(delta.text) and "\ud800" <= text[-1] <= "\udbff"
        if text and not delta.text and delta.finish_reason is None:  # no text: keep holding the half
            return replace(delta, tool_calls=calls)
        self._half = text[-1] if ends else ""
        return replace(delta, text=join_surrogates(text[:-1] if ends else text), tool_calls=calls)


def join_surrogates(text: str) -> str:
    """Return the text with surrogate pairs joined, and U+FFFD for each lone half."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
