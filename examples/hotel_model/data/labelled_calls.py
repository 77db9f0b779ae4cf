"""Held-out requests with the correct call: from templates and values that are not in the training data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

from examples.hotel_model.data import requests as to_do
from examples.hotel_model.data.catalogue import catalogue
from examples.hotel_model.data.conversations import as_received
from examples.hotel_model.data.exchanges import DECLINES, Caller
from examples.hotel_model.data.labelled import Labelled, labelled_set
from examples.hotel_model.data.requests import (
    BREAKFAST,
    COLLEAGUE,
    HANG_UP,
    TAXI,
    WAKE,
    Call,
    Request,
    Requests,
)
from voiceagent.demo.front_desk import minutes_of

_WHOLE = ((TAXI, 50), (WAKE, 40), (BREAKFAST, 40))
_IN_TWO, _CHANGED, _OFFERED, _ENDED = 14, 10, 10, 10

CALLED = "toolcalled"
"""Placeholder for a call in the text of an answer that is judged by facts, before the tool's name."""

Turn = Mapping[str, Any]
"""A message of a chat, as chat.render takes it."""


@dataclass(frozen=True)
class LabelledCall:
    """A request and the correct call; None if the agent must first ask for something.

    words: lower-case words. messages: earlier turns, and itself as sent to the model.
    """

    tool: str
    words: str
    messages: tuple[Turn, ...]
    call: Call | None

    def is_right(self, called: list[Call]) -> bool:
        """Return True if these calls are correct: tool, time of day, and number of people."""
        if self.call is None or len(called) != 1:
            return self.call is None and not called
        return called[0].name == self.call.name and _meant(called[0]) == _meant(self.call)


@cache
def labelled_calls() -> tuple[LabelledCall, ...]:
    """Return all labelled requests, without duplicates; deterministic."""
    found = {str(item.messages): item for item in _items(Random("labelled calls"))}
    return tuple(found.values())


def labelled_with_tools() -> tuple[Labelled, ...]:
    """Return the labelled questions for an agent with tools: requests must be executed instead of noted."""
    data = catalogue()
    taxi = data.topics["taxi"].aspects["have"].answer
    wanted = {
        taxi: f"{CALLED} {TAXI}|shall i order one",
        data.talk["human"].answer: f"{CALLED} {COLLEAGUE}",
        data.talk["goodbye"].answer: f"{CALLED} {HANG_UP}",
    }
    return tuple(
        replace(item, must=(wanted[item.canonical],), must_not=DECLINES)
        if item.canonical in wanted
        else replace(item, must_not=(*item.must_not, CALLED))
        for item in labelled_set()
    )


def _items(rng: Random) -> Iterator[LabelledCall]:
    requests, caller = Requests("heldout", rng), Caller("heldout", rng)
    for tool, number in _WHOLE:
        for _ in range(number):
            yield _label(requests.whole(tool), (), rng)
    for tool in (WAKE, BREAKFAST):
        for _ in range(_IN_TWO):
            opening = requests.opening(tool)
            yield _label(opening, (), rng)
            before = _turns(opening, rng)
            yield _label(requests.given(tool, opening.known), before, rng)
        for _ in range(_CHANGED):
            first = requests.whole(tool)
            yield _label(requests.changed(tool, first.known), _turns(first, rng), rng)
    asked = caller.aspect(caller.data.topics["taxi"].aspects["have"]).question
    for _ in range(_OFFERED):
        yield _label(requests.given(TAXI, {}), (_said("user", asked), _said("assistant", to_do.OFFER)), rng)
    for _ in range(_ENDED):
        yield _label(Request(COLLEAGUE, caller.talk("human").question, Call(COLLEAGUE)), (), rng)
        yield _label(Request(HANG_UP, caller.talk("goodbye").question, Call(HANG_UP)), (), rng)


def _label(request: Request, before: tuple[Turn, ...], rng: Random) -> LabelledCall:
    question = _said("user", as_received(request.words, request.tool, rng))
    return LabelledCall(request.tool, request.words, (*before, question), request.call)


def _turns(request: Request, rng: Random) -> tuple[Turn, ...]:
    """Return the request and all turns until it is answered."""
    asked = _said("user", as_received(request.words, request.tool, rng))
    if request.call is None:
        return (asked, _said("assistant", request.said))
    calls = [{"name": request.call.name, "arguments": dict(request.call.arguments)}]
    output = to_do.result(request.call, rng)
    return (
        asked,
        {**_said("assistant", request.said), "tool_calls": calls},
        _said("tool", output),
        _said("assistant", to_do.told(request.tool, output)),
    )


def _said(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _meant(call: Call) -> dict[str, str | int | None]:
    return {name: _value(name, value) for name, value in call.arguments.items() if value not in ("", " ")}


def _value(name: str, value: str | int) -> str | int | None:
    if not isinstance(value, str):
        return value
    return minutes_of(value.lower().strip(" .!?,"))
