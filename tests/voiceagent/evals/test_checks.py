"""Checks of a recorded call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from voiceagent.evals.checks import failures
from voiceagent.evals.record import CallRecord, Limit, Said, ToolUse
from voiceagent.evals.results import run_of
from voiceagent.evals.scenario import Scenario

CALL = CallRecord(
    said=(
        Said("caller", "Breakfast for two at eight, please.", 1.0, 3.0),
        Said("agent", "I have booked breakfast for two people.", 3.5, 5.5, cut=True),
        Said("caller", "Wait, make it three.", 5.0, 6.5, "interruption"),
        Said("agent", "It is fifteen dollars.", 8.0, 10.0, cut=True),
        Said("caller", "Mm-hmm.", 9.5, 9.8, "backchannel"),
        Said("caller", "Goodbye.", 11.0, 11.5),
    ),
    tools=(ToolUse("book_breakfast", {"people": 2, "time": " eight"}, "booked: table six"),),
    seconds=12.0,
)


def reasons(**expect: Any) -> list[str]:
    scenario = Scenario.of("breakfast", {"script": ["Hello."], "expect": expect})
    return [failure.reason for failure in failures(scenario, CALL)]


@pytest.mark.parametrize(
    "expect",
    [
        {"tools": [{"name": "book_breakfast", "arguments": {"people": 2, "time": "8"}, "times": 1}]},
        {"tools": [{"name": "book_breakfast", "arguments": {"people": [2, 3]}}]},
        {"tools": [{"name": "order_taxi", "times": 0}]},
        {"tools": [{"name": "book_breakfast", "result": "table five | table 6"}]},
        {"no_tools": ["order_taxi"]},
        {"says": ["15 dollars", "sixteen dollars | two people"]},
        {"never_says": ["twenty dollars"]},
        {"max_turns": 3},
        {"ends_by": "caller"},
        {"max_wait_s": 1.6},
        {"yields_within_s": 0.6},
        {"lets_finish": True},
    ],
)
def test_what_holds_has_no_failure(expect: dict[str, Any]) -> None:
    assert reasons(**expect) == []


@pytest.mark.parametrize(
    ("expect", "reason"),
    [
        (
            {"tools": [{"name": "book_breakfast", "arguments": {"people": 3}}]},
            "book_breakfast(people=3) was called 0 times, not at least once; "
            "calls: book_breakfast(people=2, time=' eight') -> 'booked: table six'",
        ),
        (
            {"tools": [{"name": "book_breakfast", "times": 2}]},
            "book_breakfast() was called 1 times, not 2 times; "
            "calls: book_breakfast(people=2, time=' eight') -> 'booked: table six'",
        ),
        (
            {"tools": [{"name": "book_breakfast", "result": "table five"}]},
            "book_breakfast() -> 'table five' was called 0 times, not at least once; "
            "calls: book_breakfast(people=2, time=' eight') -> 'booked: table six'",
        ),
        ({"no_tools": ["book_breakfast"]}, "book_breakfast(people=2, time=' eight') was called"),
        ({"says": ["thirty dollars"]}, "the agent did not say 'thirty dollars'"),
        ({"never_says": ["fifteen dollars"]}, "the agent said 'fifteen dollars'"),
        ({"max_turns": 2}, "the caller needed 3 turns, more than 2"),
        ({"ends_by": "agent"}, "the caller ended the call, not the agent"),
        ({"max_wait_s": 1.0}, "1.50 s until the answer to 'Wait, make it three.', more than 1 s"),
        (
            {"yields_within_s": 0.4},
            "the agent spoke on for 0.50 s over 'Wait, make it three.', more than 0.4 s",
        ),
        ({"answers_every_turn": True}, "no answer to 'Goodbye.'"),
        ({"ignores_backchannels": True}, "the agent stopped at 'Mm-hmm.'"),
    ],
)
def test_what_does_not_hold_is_named(expect: dict[str, Any], reason: str) -> None:
    assert reasons(**expect) == [reason]


def test_a_response_during_a_line_does_not_let_the_caller_finish() -> None:
    scenario = Scenario.of("breakfast", {"script": ["Hello."], "expect": {"lets_finish": True}})
    early = CallRecord((Said("caller", "I would like", 1.0, 4.0), Said("agent", "Yes?", 2.0, 2.5)))
    [failure] = failures(scenario, early)
    assert failure.reason == "the agent began to speak during 'I would like'"
    assert failure.at_s == 1.0


def test_failures_of_the_call_and_of_a_check_in_python_count() -> None:
    def check(call: CallRecord) -> None:
        assert not call.tools, "no tools, please"

    scenario = Scenario.of("breakfast", {"script": ["Hello."]}, check=check)
    broken = CallRecord(CALL.said, CALL.tools, failures=("no connection",))
    found = [failure.reason for failure in failures(scenario, broken)]
    assert found == ["the call failed: no connection", "no tools, please"]


def test_an_error_of_a_check_in_python_fails_its_run_alone() -> None:
    def check(call: CallRecord) -> None:
        assert call.tools[7].name == "add"

    [failure] = failures(Scenario.of("breakfast", {"script": ["Hello."]}, check=check), CALL)
    assert failure.reason == "the check in Python failed: IndexError: tuple index out of range"


def test_a_typed_call_is_not_judged_by_times() -> None:
    scenario = Scenario.of("breakfast", {"script": ["Hello."], "expect": {"answers_every_turn": True}})
    assert failures(scenario, CallRecord((Said("caller", "Hello."),), spoken=False)) == []


def test_a_caller_who_says_nothing_waits_for_no_answer() -> None:
    """Such as one with the script [""], who shows what the agent says into silence."""
    silent = CallRecord((Said("agent", "Hello, are you there?", 8.0, 9.5),), seconds=20.0)
    scenario = Scenario.of("silent", {"script": [""], "expect": {"answers_every_turn": True}})
    assert failures(scenario, silent) == []
    assert run_of("silent", 1, silent, []).waits_s == ()


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("max_turns", "the caller was cut by max_turns = 12 before the end; allowed: with expect.may_be_cut"),
        ("time", "the caller was cut by 600 s before the end; allowed: with expect.may_be_cut"),
    ],
)
def test_a_call_that_its_limit_ended_fails_unless_it_may(limit: Limit, reason: str) -> None:
    call = replace(CALL, cut_by=limit, seconds=600.0)
    scenario = Scenario.of("order", {"script": ["Hello."]})
    allowing = Scenario.of("order", {"script": ["Hello."], "expect": {"may_be_cut": True}})
    assert [one.reason for one in failures(scenario, call)] == [reason]
    assert failures(allowing, call) == []
