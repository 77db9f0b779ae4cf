"""Shapes of messages that some servers and chat templates refuse, and the replacement for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, get_args, runtime_checkable

Shape = Literal[
    "system",
    "later_system",
    "assistant_first",
    "assistant_last",
    "assistant_twice",
    "tools",
    "tool_messages",
    "words_with_calls",
    "parallel_calls",
    "user_after_tool",
    "empty_content",
    "object_arguments",
    "long_ids",
    "odd_ids",
]
"""A form of messages that a server or a template may refuse."""

OPENING = "(The call begins.)"
"""User message before an agent's greeting, for servers that require the user to begin."""
GO_ON = "(Go on.)"
"""User message between two of the agent's messages, or after its last one."""
SILENCE = "…"
"""Agent message between a tool's result and the user's next words. Text-to-speech speaks nothing for it."""
NO_RESULT = "(No result yet.)"
"""Result of a call that has none."""

REPLACEMENTS: dict[Shape, tuple[str, str]] = {
    "system": ("a system message", "as the beginning of the first user message"),
    "later_system": (
        "a system message behind the first, such as guidance for one response",
        "as a part of the user message at its place",
    ),
    "assistant_first": ("a history that does not begin with the user", f"with {OPENING!r} before it"),
    "assistant_last": ("a history that ends with the agent's words", f"with {GO_ON!r} behind it"),
    "assistant_twice": ("two messages of the agent in a row", f"with {GO_ON!r} between them"),
    "tools": ("tools", "without them: the agent's tools are never called"),
    "tool_messages": ("calls of tools and their results", "as words in user messages"),
    "words_with_calls": ("words and a tool call in one message", "as two messages"),
    "parallel_calls": ("several tool calls in one message", "one by one, each with its result"),
    "user_after_tool": ("a user message behind a tool's result", f"with {SILENCE!r} of the agent between"),
    "empty_content": ('"" as the content of a message that only calls tools', "as null"),
    "object_arguments": ("the arguments of a call as an object", "as JSON text"),
    "long_ids": ("ids of calls that are not nine letters and digits", "as such ids made of them"),
    "odd_ids": ("ids of calls with other signs or of more than 40", "as nine letters and digits"),
}
"""For each shape, text for operators: the refused form, and its replacement."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """Shapes that a server or a template refuses. If empty, messages are sent unchanged."""

    refused: frozenset[Shape] = frozenset()

    def accepts(self, shape: Shape) -> bool:
        """Return True if messages of this shape are accepted."""
        return shape not in self.refused

    def without(self, *shapes: Shape) -> Shapes:
        """Return a copy that refuses further shapes."""
        return Shapes(self.refused | frozenset(shapes))

    def describe(self) -> list[str]:
        """Return a line for each refused shape: the refused form, and its replacement."""
        return [
            f"it refuses {REPLACEMENTS[shape][0]}: sent {REPLACEMENTS[shape][1]}"
            for shape in get_args(Shape)
            if shape in self.refused
        ]


ANY_SHAPE = Shapes()
ORDER_SHAPES: frozenset[Shape] = frozenset(
    {
        "later_system",
        "assistant_first",
        "assistant_last",
        "assistant_twice",
        "words_with_calls",
        "parallel_calls",
        "user_after_tool",
        "long_ids",
    }
)
"""Shapes about the order of messages and their ids. A history without these is accepted nearly everywhere,
and still has a system prompt and tools.
"""
CALL_SHAPES: frozenset[Shape] = frozenset(
    {
        "words_with_calls",
        "parallel_calls",
        "assistant_twice",
        "user_after_tool",
        "empty_content",
        "object_arguments",
        "long_ids",
        "odd_ids",
    }
)
"""Shapes about tool calls and their results."""


@runtime_checkable
class KnowsShapes(Protocol):
    """An engine that knows the message shapes that its model's template or server refuses."""

    @property
    def shapes(self) -> Shapes:
        """Refused shapes. Known once the engine has started; never raises."""
        ...


@runtime_checkable
class AsksShapes(KnowsShapes, Protocol):
    """An engine that probes its server for accepted shapes at the start, if `asks_shapes` is set."""

    asks_shapes: bool
