"""Printed results of an eval."""

from __future__ import annotations

import pytest

from voiceagent.evals.record import CallRecord, Failure
from voiceagent.evals.report import print_results
from voiceagent.evals.results import Results, Run, run_of

LONG = Failure(
    "take_note(text='buy milk') was called 0 times; calls: take_note(text='buy bread, and 2 eggs') -> ''"
)


def _printed(capsys: pytest.CaptureFixture[str], *runs: Run) -> str:
    print_results(Results("my.toml", runs, wall_s=3.0))
    return " ".join(capsys.readouterr().out.split())


def test_first_failure_of_a_scenario_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    failed = run_of("note", 2, CallRecord(()), [LONG, Failure("no answer to 'Hello.'")])
    shown = _printed(
        capsys, run_of("hello", 1, CallRecord(()), []), run_of("note", 1, CallRecord(()), []), failed
    )
    assert f"note, run 2: {LONG.reason}" in shown
    assert "hello, run" not in shown
    assert "no answer" not in shown


def test_configuration_that_was_called_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --config it is voiceagent.toml or the demo's, which a reader may not expect."""
    assert "1 call of my.toml in 3 s" in _printed(capsys, run_of("hello", 1, CallRecord(()), []))
