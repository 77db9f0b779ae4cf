"""Scoring of a model on questions outside its task."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from examples.hotel_model.data.everyday import Unasked
from examples.hotel_model.evaluation.unasked import evaluate_unasked, report_unasked

WALK = Unasked("go forward ten meters", ({"role": "user", "content": "go forward ten meters"},))
WAKES = '<tool_call>{"name": "wake_up_call", "arguments": {"time": " ten"}}</tool_call>'
DECLINES = "I'm sorry, I can only help with the Lakeside Hotel."


@pytest.mark.parametrize(
    ("answer", "called", "declined"),
    [
        (DECLINES, False, True),
        ("The pool is free.", False, False),
        (WAKES, True, False),
        (DECLINES + WAKES, True, False),
        ("", False, False),
    ],
)
def test_what_asks_for_nothing_is_declined_and_calls_nothing(
    answer: str, called: bool, declined: bool
) -> None:
    (judged,) = evaluate_unasked(lambda messages: answer, [WALK])
    assert (judged.called, judged.declined) == (called, declined)


def test_the_report_names_what_was_called() -> None:
    text = StringIO()
    judged = evaluate_unasked(lambda messages: WAKES, [WALK])
    assert not report_unasked(judged, Console(file=text, width=100))
    assert "wake_up_call" in text.getvalue() and "0.0% of 1" in text.getvalue()


def test_declining_all_of_it_meets_the_targets() -> None:
    judged = evaluate_unasked(lambda messages: DECLINES, [WALK])
    assert report_unasked(judged, Console(file=StringIO()))
