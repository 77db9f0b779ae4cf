"""Comparisons of small samples: the changes that they find and those that they do not."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from voiceagent.evals.comparison import ALL, compare
from voiceagent.evals.record import CallRecord, Failure, Said
from voiceagent.evals.results import Results, Run, junit, read_results, run_of
from voiceagent.validation.errors import CommandFailed

SCENARIOS, RUNS = 30, 10


def results(longer_s: float = 0.0, failing: int = 0, runs: int = RUNS) -> Results:
    """Return results with varied waits. failing: runs of the first scenario that fail."""
    made = [
        Run(
            f"scenario {scenario:02}",
            seed,
            (Failure("wrong"),) if scenario == 0 and seed <= failing else (),
            (0.5 + 0.02 * (seed * 7 % 10) + 0.01 * scenario + longer_s,),
        )
        for scenario in range(SCENARIOS)
        for seed in range(1, runs + 1)
    ]
    return Results("some.toml", tuple(made))


def found(before: Results, after: Results) -> list[tuple[str, str]]:
    return [(one.scenario, one.measure) for one in compare(before, after) if one.is_beyond_chance]


def test_no_change_is_not_found() -> None:
    changes = compare(results(failing=1), results(failing=1))
    assert [change for change in changes if change.p < 1] == []


def test_a_scenario_that_fails_in_every_run_is_found_among_thirty() -> None:
    changes = compare(results(), results(failing=10))
    whole, change = [change for change in changes if change.is_beyond_chance]
    assert (change.scenario, change.measure, change.is_worse) == ("scenario 00", "passed", True)
    counted = 1 + SCENARIOS  # the shares of the 29 others, which always passed, cannot differ
    assert change.corrected_p == pytest.approx(2 * 2 / 184_756 * counted)
    assert (whole.scenario, whole.measure, whole.is_worse) == (ALL, "passed", True)
    assert whole.corrected_p == pytest.approx(2 * 2 / 184_756 * 2)


@pytest.mark.parametrize(
    ("failing", "expected"),
    [(5, []), (6, [ALL]), (7, [ALL]), (8, [ALL, "scenario 00"])],
)
def test_eight_failures_of_ten_name_the_scenario_and_seven_show_in_all(
    failing: int, expected: list[str]
) -> None:
    assert found(results(), results(failing=failing)) == [(name, "passed") for name in expected]


def test_one_failure_in_each_of_many_scenarios_is_found_in_all_only() -> None:
    """Hidden by a correction for the number of scenarios."""
    before = results()
    runs = [Run(run.scenario, run.seed, (Failure("wrong"),) * (run.seed == 1)) for run in before.runs]
    assert found(before, Results("other.toml", tuple(runs))) == [(ALL, "passed")]


def test_failures_before_and_after_in_different_scenarios_are_no_change_of_all() -> None:
    before, after = results(failing=3), results()
    moved = [
        Run(run.scenario, run.seed, (Failure("wrong"),) * (run.scenario == "scenario 01" and run.seed <= 3))
        for run in after.runs
    ]
    assert found(before, Results("other.toml", tuple(moved))) == []


def test_300_ms_more_are_found_in_each_scenario_and_in_all() -> None:
    changed = found(results(), results(longer_s=0.3))
    assert len(changed) == SCENARIOS + 1
    assert (ALL, "wait") in changed


def test_a_small_delay_everywhere_is_found_in_all_scenarios_only() -> None:
    assert found(results(), results(longer_s=0.004)) == [(ALL, "wait")]


def test_three_runs_are_too_few() -> None:
    assert found(results(runs=3), results(runs=3, failing=3)) == []


def test_faster_answers_are_no_worse() -> None:
    assert not any(one.is_worse for one in compare(results(longer_s=0.3), results()) if one.is_beyond_chance)


def test_only_scenarios_of_both_are_compared() -> None:
    one, other = results(), Results("other", (Run("new", 1, ()),))
    assert compare(one, other) == []


def test_results_are_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    call = CallRecord((Said("caller", "Hi.", 0.5, 1.0), Said("agent", "Hello.", 1.5, 2.5)), seconds=3.0)
    written = Results("some.toml", (run_of("greeting", 1, call, [Failure("odd", 1.5)]),), 4.0)
    path = tmp_path / "results.json"
    path.write_text(json.dumps(written.as_json()))
    read = read_results(path)
    assert read.runs[0].waits_s == (0.5,)
    assert json.dumps(read.as_json()) == json.dumps(written.as_json())


@pytest.mark.parametrize(
    "text", ["{}", "[]", "no json", '{"format": 2}', '{"format": 1, "name": "a", "runs": ["a"], "wall_s": 1}']
)
def test_another_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(CommandFailed, match=r"other\.json: no results of an eval"):
        read_results(path)


def test_junit_has_a_case_for_each_run_and_no_character_that_xml_forbids() -> None:
    runs = (Run("a", 1, ()), Run("a", 2, (Failure("said \x00\uffff <no>"), Failure("late"))))
    suite = ElementTree.fromstring(junit(Results("some.toml", runs)))
    assert suite.attrib | {"time": ""} == {"name": "some.toml", "tests": "2", "failures": "1", "time": ""}
    [case] = [case for case in suite if len(case)]
    assert (case.get("classname"), case.get("name")) == ("a", "run 2")
    assert case[0].text == "said  <no>\nlate"
