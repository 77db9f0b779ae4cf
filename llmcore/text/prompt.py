"""The layout of a prompt: static text first, then the history, the newest turn last.

Prefix caches depend on it: the text before the first difference is not computed again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from llmcore.engine import Message, Tool

TURNS_DROPPED_AT_ONCE = 4
"""Turns dropped together. Each drop changes the prefix, so a larger one keeps it for the next prompts."""


SHOWN_CHARACTERS = 60
"""Characters of each text shown from the first difference on."""


class PromptTooLong(ValueError):
    """The static part and the newest turn alone exceed the token budget."""


def split_turns(messages: Sequence[Message]) -> tuple[tuple[Message, ...], list[tuple[Message, ...]]]:
    """Split messages into the static part (leading system messages) and turns; a user message begins each."""
    static = tuple(takewhile(lambda message: message.role == "system", messages))
    turns: list[list[Message]] = []
    for message in messages[len(static) :]:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return static, [tuple(turn) for turn in turns]


def fit_to_budget(
    messages: Sequence[Message], budget_tokens: int, count_tokens: Callable[[tuple[Message, ...]], int]
) -> tuple[Message, ...]:
    """Drop the oldest whole turns until the prompt has at most `budget_tokens`.

    The static part and the newest turn stay. Turns go `TURNS_DROPPED_AT_ONCE` at a time. Raises
    PromptTooLong.
    """
    static, turns = split_turns(messages)
    drops = [*range(0, max(len(turns) - 1, 0), TURNS_DROPPED_AT_ONCE), max(len(turns) - 1, 0)]

    def kept(dropped: int) -> tuple[Message, ...]:
        return (*static, *(message for turn in turns[dropped:] for message in turn))

    if count_tokens(kept(0)) <= budget_tokens:
        return kept(0)
    # Binary search, as counting the tokens of thousands of turns is slow.
    index = bisect_left(drops, True, lo=1, key=lambda dropped: count_tokens(kept(dropped)) <= budget_tokens)
    fitting = kept(drops[min(index, len(drops) - 1)])
    needed = count_tokens(fitting)  # last, for callers that keep the tokens of the last count
    if needed > budget_tokens:
        raise PromptTooLong(
            f"the system prompt and the newest turn are {needed} tokens, at most {budget_tokens} fit"
        )
    return fitting


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of leading tokens that two prompts share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@dataclass(frozen=True, slots=True)
class PrefixChange:
    """First difference of a prompt from the previous one, in the part that a prefix cache should hold.

    part: "instructions" and "tools" may change on purpose, while a history should only grow. place: "tools",
    or the message as its index and role. character: position in its text, from 0. before, now: the texts from
    there.
    """

    part: Literal["tools", "instructions", "history"]
    place: str
    character: int
    before: str
    now: str


class PromptLayout:
    """Check of a call's successive prompts: each must begin with the previous one up to its last turn.

    The last turn may change: a caller continues after a pause, and only the played part of a reply is kept.
    """

    def __init__(self) -> None:
        self._messages: tuple[Message, ...] = ()
        self._tools: tuple[Tool, ...] = ()

    def check(self, messages: tuple[Message, ...], tools: tuple[Tool, ...]) -> PrefixChange | None:
        """Return the first difference within the stable part of the previous prompt, or None."""
        before, tools_before = self._messages, self._tools
        self._messages, self._tools = messages, tools
        if not before:
            return None
        if tools != tools_before:
            return PrefixChange("tools", "tools", *_difference(repr(tools_before), repr(tools)))
        static, turns = split_turns(before)
        stable = len(static) + sum(map(len, turns[:-1]))
        for index in range(stable):
            now = messages[index] if index < len(messages) else Message(before[index].role, "")
            if now != before[index]:
                part: Literal["instructions", "history"] = (
                    "instructions" if index < len(static) else "history"
                )
                place = f"{index} ({before[index].role})"
                return PrefixChange(part, place, *_difference(before[index].content, now.content))
        return None


def _difference(before: str, now: str) -> tuple[int, str, str]:
    """Return the position of the first difference, and both texts from there."""
    # Binary search: character by character, a long message would block the event loop.
    shared = range(min(len(before), len(now)))
    at = bisect_left(shared, True, key=lambda index: before[: index + 1] != now[: index + 1])
    return at, before[at : at + SHOWN_CHARACTERS], now[at : at + SHOWN_CHARACTERS]
