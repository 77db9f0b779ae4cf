"""Text in pieces as whole characters: JSON can hold half a surrogate pair, and UTF-8 cannot. Pure.

A server that counts in UTF-16 (JavaScript's) cuts an emoji into two chunks (Unicode 16.0, D71 to D75).
"""

from __future__ import annotations

from dataclasses import replace

from llmcore.engine import Delta


class WholeCharacters:
    """Takes the deltas of one reply and gives them as text that can be sent: the halves of a pair are joined,
    also where they come in two deltas; one that stays alone becomes U+FFFD.
    """

    def __init__(self) -> None:
        self._half = ""

    def push(self, delta: Delta) -> Delta:
        """The delta, its text without a first half at its end, which waits for the next."""
        calls = tuple(
            replace(call, name=joined(call.name), arguments=joined(call.arguments))
            for call in delta.tool_calls
        )
        text = self._half + delta.text
        ends = bool(delta.text) and "\ud800" <= text[-1] <= "\udbff"
        if text and not delta.text and delta.finish_reason is None:  # it has no words: the half waits on
            return replace(delta, tool_calls=calls)
        self._half = text[-1] if ends else ""
        return replace(delta, text=joined(text[:-1] if ends else text), tool_calls=calls)


def joined(text: str) -> str:
    """The text with the halves of its surrogate pairs joined, and U+FFFD for each that has no other half."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
