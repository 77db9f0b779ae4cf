"""Requests to the agent: words, tool and arguments, result, and answer."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from examples.hotel_model.data.catalogue import Split, catalogue
from examples.hotel_model.data.recognizer_errors import misheard
from examples.hotel_model.data.request_slots import a_place, a_time, people
from examples.hotel_model.data.templates import expand
from voiceagent.demo import front_desk

TAXI, WAKE, BREAKFAST, COLLEAGUE, HANG_UP = front_desk.TOOLS
WHEN_TO_WAKE = "Gladly. At what time shall we wake you?"
HOW_MANY = "Gladly. For how many people?"
OFFER = "Yes, a taxi comes in about ten minutes. Shall I order one?"
ONE_MOMENT = "Of course, I am connecting you to a colleague."
_HOLES = {"at": "qqat", "people": "qqpeople"}


@dataclass(frozen=True)
class Call:
    """A tool and its arguments. Texts begin with a space, so that their tokens equal those of the
    caller's words.
    """

    name: str
    arguments: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """A caller's words (lower-case), and the call for them; or, if something is missing, the agent's question
    and what is known so far.

    tool: of the request. said: words before the call, in the same answer.
    """

    tool: str
    words: str
    call: Call | None
    said: str = ""
    known: Mapping[str, str | int] = field(default_factory=dict)


class Requests:
    """Generator of requests with the templates and values of one split. misheard_share: share with
    recognition errors outside the arguments.
    """

    def __init__(self, split: Split, rng: Random, misheard_share: float = 0.3) -> None:
        self.split, self.rng = split, rng
        self.misheard_share = misheard_share
        self.data = _templates()

    def any(self) -> Request:
        """Return a request for a taxi, a wake-up call or breakfast, complete or not."""
        tool = self.rng.choices((TAXI, WAKE, BREAKFAST), (46, 27, 27))[0]
        return self.opening(tool) if tool != TAXI and self.rng.random() < 0.22 else self.whole(tool)

    def whole(self, tool: str) -> Request:
        """Return a complete request."""
        return self._request(tool, self._template(tool, ""), {}, wrap=True)

    def opening(self, tool: str) -> Request:
        """Return a request that lacks a required argument."""
        return self._request(tool, self._template(tool, "open_"), {}, wrap=True)

    def given(self, tool: str, known: Mapping[str, str | int]) -> Request:
        """Return the missing argument; or yes, after the offer of a taxi."""
        source = (
            WAKE if tool == BREAKFAST and "people" in known else tool
        )  # it is the time that was asked for
        return self._request(tool, self._template(source, "follow_" if tool == TAXI else "give_"), known)

    def changed(self, tool: str, known: Mapping[str, str | int]) -> Request:
        """Return a change of the time, or of the number of people."""
        source = WAKE if tool == BREAKFAST and self.rng.random() < 0.5 else tool
        return self._request(tool, self._template(source, "change_"), known)

    def _template(self, tool: str, kind: str) -> str:
        templates: list[str] = self.data[tool][kind + self.split]
        return self.rng.choice(templates)

    def _request(
        self, tool: str, template: str, known: Mapping[str, str | int], *, wrap: bool = False
    ) -> Request:
        slots = {**_HOLES, "place": a_place(self.split, self.rng)}
        words = self._around(expand(template, self.rng, catalogue().lexicon, slots), wrap=wrap)
        given: dict[str, str | int] = {}
        if _HOLES["at"] in words:
            time = a_time(self.split, self.rng, _HOURS[tool] if self.rng.random() < 0.9 else (1, 12))
            given["time"] = f" {time}"
            words = words.replace(_HOLES["at"], time)
        if _HOLES["people"] in words:
            guests, given["people"] = people(self.split, self.rng)
            words = words.replace(_HOLES["people"], guests)
        arguments = {
            name: value for name in _ORDER if (value := given.get(name, known.get(name))) is not None
        }
        if tool == WAKE and "time" not in arguments:
            return Request(tool, words, None, WHEN_TO_WAKE, arguments)
        if tool == BREAKFAST and "people" not in arguments:
            return Request(tool, words, None, HOW_MANY, arguments)
        return Request(tool, words, Call(tool, arguments), "", arguments)

    def _around(self, text: str, *, wrap: bool) -> str:
        """Return the words, perhaps with additions and recognition errors. Arguments are still
        placeholders.
        """
        lexicon, rng = catalogue().lexicon, self.rng
        if wrap and rng.random() < 0.28:
            text = f"{rng.choice(lexicon['before'])} {text}"
        if wrap and rng.random() < 0.1:
            text = f"{text} {rng.choice(lexicon['after'])}"
        return misheard(text, rng) if rng.random() < self.misheard_share else text


def result(call: Call, rng: Random) -> str:
    """Return the tool's result for the call, as the model reads it."""
    arguments = {
        name: value.strip() if isinstance(value, str) else value for name, value in call.arguments.items()
    }
    try:
        return front_desk.DO[call.name](rng, **arguments)
    except front_desk.NotDone as error:
        return str(error)


def told(tool: str, output: str) -> str:
    """Return the agent's answer about a tool's result."""
    how, _, what = output.partition(": ")
    if how in ("ordered", "set", "booked", "noted"):
        return f"I have {how} {what}."
    if tool == WAKE:
        return "I'm sorry, I did not get the time. At what time shall we wake you?"
    if tool == BREAKFAST and "seven to ten thirty" in output:
        return "I'm sorry, breakfast is from seven to ten thirty. At what time would you like to come?"
    if tool == BREAKFAST and "people" in output:
        return "I'm sorry, I can book breakfast for one to eight people. For how many shall it be?"
    return "I'm sorry, that did not work. A colleague at the front desk can help you."


_ORDER = ("people", "time")  # of arguments in a call
_HOURS = {TAXI: (1, 12), WAKE: (4, 9), BREAKFAST: (7, 10)}


@cache
def _templates() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files(__package__) / "intents" / "requests.toml").read_text())
