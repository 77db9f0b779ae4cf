"""Requests: what callers ask the agent to do, and the calls that these are labelled with."""

from __future__ import annotations

from random import Random

import pytest

from examples.hotel_model.data import requests as to_do
from examples.hotel_model.data.catalogue import Split, catalogue
from examples.hotel_model.data.requests import BREAKFAST, TAXI, WAKE, Requests
from examples.hotel_model.data.templates import pattern
from examples.hotel_model.data.tool_conversations import ToolCaller
from voiceagent.demo import front_desk
from voiceagent.demo.agent import FrontDesk
from voiceagent.demo.front_desk import minutes_of


def drawn(split: Split, number: int = 300) -> list[to_do.Request]:
    requests = Requests(split, Random(1))
    return [requests.any() for _ in range(number)]


def test_the_tools_that_are_asked_for_are_the_agents() -> None:
    assert sorted(front_desk.TOOLS) == sorted(tool.spec.tool.name for tool in FrontDesk().tools)


@pytest.mark.parametrize("split", ["train", "heldout"])
def test_a_tool_is_given_words_of_the_callers(split: Split) -> None:
    for request in drawn(split):
        for value in request.call.arguments.values() if request.call else ():
            assert not isinstance(value, str) or value in f" {request.words} "


@pytest.mark.parametrize("split", ["train", "heldout"])
def test_every_time_that_is_said_is_one(split: Split) -> None:
    times = [request.known["time"] for request in drawn(split) if "time" in request.known]
    assert all(minutes_of(str(time)) is not None for time in times)


def test_what_a_tool_needs_is_asked_for_first() -> None:
    for request in drawn("train"):
        needed = {WAKE: "time", BREAKFAST: "people"}.get(request.tool)
        assert (request.call is None) == (needed is not None and needed not in request.known)


def test_what_was_asked_for_completes_the_request() -> None:
    requests = Requests("train", Random(2))
    given = requests.given(BREAKFAST, {"time": " eight"})
    assert given.call is not None and given.call.arguments["time"] == " eight"
    assert given.call.arguments["people"] in range(1, 9)


def test_a_time_that_is_not_said_is_not_given() -> None:
    requests = Requests("train", Random(3))
    for request in (requests.given(TAXI, {}) for _ in range(200)):
        assert request.call is not None
        assert str(request.call.arguments.get("time", "")) in f" {request.words} "


def test_training_knows_no_value_of_the_evaluation() -> None:
    def values(split: Split) -> set[str]:
        known = [request.known for request in drawn(split, 1500)]
        return {str(each["time"]) for each in known if "time" in each}

    assert not values("train") & values("heldout")


def test_no_training_template_says_a_held_out_request() -> None:
    slots = {"at": ("six",), "place": ("town",), "people": ("two",), "number": ("two",)}
    for table in to_do._templates().values():
        for kind in ("", "open_", "give_", "change_", "follow_"):
            train = [pattern(text, catalogue().lexicon, slots) for text in table.get(f"{kind}train", ())]
            for template in table.get(f"{kind}heldout", ()):
                said = template.replace("[at]", "six").replace("[place]", "town").replace("[people]", "two")
                assert not any(text.fullmatch(said) for text in train), said


@pytest.mark.parametrize(
    ("tool", "output", "words"),
    [
        (
            TAXI,
            "ordered: taxi nine, it comes in ten minutes",
            "I have ordered taxi nine, it comes in ten minutes.",
        ),
        (WAKE, "set: a wake-up call at six", "I have set a wake-up call at six."),
        (WAKE, "not done: it is not known when that is", "At what time shall we wake you?"),
        (BREAKFAST, front_desk.NO_BREAKFAST, "breakfast is from seven to ten thirty"),
        (to_do.COLLEAGUE, front_desk.CALLS_BACK, "I have noted that a colleague will call you back"),
        (TAXI, "not done: it failed", "that did not work"),
    ],
)
def test_what_came_of_it_is_told_to_the_caller(tool: str, output: str, words: str) -> None:
    assert words in to_do.told(tool, output)


def test_a_goodbye_is_said_and_the_call_ended_with_it() -> None:
    caller = ToolCaller("train", Random(3))
    ended = [
        talk
        for talk in (caller.conversation(tools=True, foreign=False) for _ in range(200))
        if talk[-1].get("tool_calls", [{"name": ""}])[0]["name"] == to_do.HANG_UP
    ]
    assert ended and all("Goodbye" in talk[-1]["content"] for talk in ended)


def test_without_the_tools_nothing_is_called() -> None:
    caller = ToolCaller("train", Random(4))
    for foreign in (True, False):
        talks = [caller.conversation(tools=False, foreign=foreign) for _ in range(100)]
        assert not any("tool_calls" in turn for talk in talks for turn in talk)


def test_under_foreign_instructions_the_answers_are_the_hotels() -> None:
    caller = ToolCaller("train", Random(5))
    for _ in range(50):
        first, *turns = caller.conversation(tools=False, foreign=True)
        assert first["role"] == "system" and "Lakeside" not in first["content"].split(".")[0]
        assert all(turn["learn"] == (turn["role"] == "assistant") for turn in turns if turn["learn"])
