"""Conditions and verdicts of the forms of calls without a mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from llmcore.text.written_calls import ARGUMENT_KEYS, WrittenCall

Verdict = Literal["text", "open", "begun"]
""""text": no call. "open": more text is needed to decide. "begun": a known tool's call without its end."""
Found = tuple[int, list[WrittenCall]]
"""End position of the calls, and the calls: none if it names a known tool, but cannot be read."""


@dataclass(frozen=True, slots=True)
class Known:
    """Conditions of a call. names: of known tools. any_name: accept JSON with any name. at_start: the text
    begins the reply, a line or a sentence; only there is the name alone enough, as a key or before "()".
    parameters: names of the parameters of tools, in order; a tool that is not in it may have any.
    after_sentence: a sentence has ended before the text; within one a word and braces are a remark.
    """

    names: AbstractSet[str]
    any_name: bool
    at_start: bool
    parameters: Mapping[str, Sequence[str]]
    after_sentence: bool = True

    def has(self, name: str) -> bool:
        return name.removeprefix("functions.") in self.names

    def takes(self, name: str, key: str | None) -> bool:
        """Return True if the tool may have this parameter. key: None for text that no one speaks."""
        if key is None or name not in self.parameters:
            return True
        known = (parameter.lower() for parameter in self.parameters[name])
        return key.lower() in known or key in ARGUMENT_KEYS
