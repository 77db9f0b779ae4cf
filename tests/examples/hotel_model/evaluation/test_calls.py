"""Verdicts on calls, and the scoring of a model that calls tools."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from examples.hotel_model.data.labelled import labelled_set
from examples.hotel_model.data.labelled_calls import LabelledCall, labelled_calls, labelled_with_tools
from examples.hotel_model.data.requests import Call
from examples.hotel_model.evaluation.calls import calls_in, evaluate_calls, report_calls, with_calls_as_words

RIDE = LabelledCall(
    tool="order_taxi",
    words="a cab",
    messages=({"role": "user", "content": "a cab"},),
    call=Call("order_taxi", {"time": " half past six"}),
)


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        ({"time": " half past six"}, True),
        ({"time": "6:30"}, True),
        ({"time": " half past seven"}, False),
        ({}, False),
        ({"time": " half past six", "people": 2}, False),
    ],
)
def test_a_call_is_right_if_it_means_the_same(arguments: dict[str, str], right: bool) -> None:
    assert RIDE.is_right([Call("order_taxi", arguments)]) is right


def test_another_tool_or_two_calls_are_wrong() -> None:
    assert RIDE.call is not None
    assert not RIDE.is_right([Call("hang_up")])
    assert not RIDE.is_right([RIDE.call, RIDE.call])
    assert not RIDE.is_right([])


def test_where_something_is_missing_a_call_is_wrong() -> None:
    asks = LabelledCall("wake_up_call", "wake me", (), None)
    assert asks.is_right([])
    assert not asks.is_right([Call("wake_up_call", {"time": " six"})])


def test_calls_are_read_out_of_what_the_model_writes() -> None:
    text = 'Goodbye.\n<tool_call>{"name": "hang_up", "arguments": {}}</tool_call>'
    assert calls_in(text) == ("Goodbye.", [Call("hang_up")])
    assert calls_in('<tool_call>{"name": ') == ("", [Call("")])


def test_the_report_names_the_wrong_calls() -> None:
    text = StringIO()
    judged = evaluate_calls(lambda messages: "Blue bananas.", [RIDE])
    assert not report_calls(judged, Console(file=text, width=100))
    assert "Blue bananas." in text.getvalue() and "right calls: 0.0% of 1" in text.getvalue()


def test_with_the_tools_what_was_noted_is_done() -> None:
    plain, offered = labelled_set(), labelled_with_tools()
    assert [item.question for item in plain] == [item.question for item in offered]
    (taxi, *_) = [item for item in offered if item.intent == "taxi.have"]
    ordering = with_calls_as_words(lambda _: '<tool_call>{"name": "order_taxi", "arguments": {}}</tool_call>')
    assert taxi.judge(ordering([])).right
    other = next(item for item in offered if item.intent == "pool.hours")
    assert not other.judge(f"{other.canonical} {ordering([])}").right


def test_held_out_requests_are_labelled_for_every_tool() -> None:
    counts = {tool: sum(item.tool == tool for item in labelled_calls()) for tool in ("order_taxi", "hang_up")}
    assert len(labelled_calls()) > 200 and min(counts.values()) >= 5
