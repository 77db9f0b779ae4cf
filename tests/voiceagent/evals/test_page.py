"""Pages of evals: figures, links to failing turns, and text of others."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from kept_eval import SCENARIO, failed, results

from voiceagent.evals.history import History, PastEval, of_same_scenarios, store
from voiceagent.evals.page import eval_page, list_page
from voiceagent.evals.record import CallRecord, Failure, Said, ToolUse
from voiceagent.evals.results import Results

CALL = CallRecord(
    (Said("caller", "Two tuna, <b>please</b>.", 1.0, 2.5), Said("agent", "Three tuna.", 3.0, 4.0)),
    (ToolUse("add", {"number": 3}, "added"),),
    seconds=6.0,
    call_id="two-tunas-1-0a1b",
)
LATE = Failure("3.10 s until the answer to '<b>'", 12.34)


def past(began_at: float, *passed: bool) -> PastEval:
    """Return an eval whose runs passed or failed."""
    runs = tuple(failed(CALL, seed, *(() if one else (LATE,))) for seed, one in enumerate(passed, 1))
    return PastEval(str(began_at), results(began_at, runs))


def test_evals_are_listed_newest_first_with_rates_and_intervals() -> None:
    page = list_page([past(1.0, True, True), past(2.0, True, False)])
    assert page.index("/evals/2.0") < page.rindex("/evals/1.0")
    assert "1 of 2" in page
    assert "9% to 91%" in page  # Wilson's interval of 1 of 2


def test_each_point_of_the_chart_is_a_named_link() -> None:
    page = list_page([past(1.0, True, True), past(2.0, True, False)])
    points = re.findall(r'<a class="(all|some)" href="([^"]+)" aria-label="[^"]+passed', page)
    assert points == [("all", "/evals/1.0"), ("some", "/evals/2.0")]


def test_only_evals_of_the_same_scenarios_are_compared() -> None:
    one, other = past(1.0, True), past(2.0, True)
    typed = PastEval("typed", replace(other.results, typed=True))
    elsewhere = PastEval("elsewhere", replace(other.results, folder="hotel"))
    assert of_same_scenarios([one, typed, elsewhere, other], other) == [one, other]


def test_a_failing_turn_links_to_its_second_in_the_inspector() -> None:
    page = eval_page(past(1.0, False), None, {CALL.call_id})
    assert f'<a href="/calls#/{CALL.call_id}@12.3">0:12.3</a>' in page
    assert f'<a href="/calls#/{CALL.call_id}@3.0">0:03.0</a>' in page  # a line of the transcript


def test_a_call_that_is_not_kept_has_no_link() -> None:
    page = eval_page(past(1.0, False), None, set())
    assert "/calls#/" not in page
    assert "0:12.3" in page


def test_words_of_callers_and_agents_are_no_markup() -> None:
    page = eval_page(past(1.0, False), None, {CALL.call_id}) + list_page([past(1.0, False)])
    assert "<b>please" not in page
    assert "Two tuna, &lt;b&gt;please&lt;/b&gt;." in page
    assert "until the answer to &#x27;&lt;b&gt;&#x27;" in page


def test_a_scenario_that_fails_comes_before_those_that_pass() -> None:
    runs = (*past(1.0, True).results.runs, replace(failed(CALL, 1, LATE), scenario="zucchini"))
    page = eval_page(PastEval("1", results(1.0, runs)), None, set())
    assert page.index('id="zucchini"') < page.index(f'id="{SCENARIO}"')


def test_what_differs_beyond_chance_from_the_eval_before_is_named() -> None:
    before, after = past(1.0, *[True] * 10), past(2.0, *[False] * 10)
    assert f"{SCENARIO}, passed: 100% before, 0% now" in eval_page(after, before, set())
    assert "Nothing differs beyond chance" in eval_page(before, before, set())


def test_stored_results_are_read_oldest_first(tmp_path: Path) -> None:
    later, earlier = results(2_000.0, ()), results(1_000.0, ())
    names = [store(tmp_path, one).stem for one in (later, earlier, earlier)]
    assert names == ["1970-01-01T00-33-20", "1970-01-01T00-16-40", "1970-01-01T00-16-40-2"]
    found = History(tmp_path).evals()
    assert [one.results.began_at for one in found] == [1_000.0, 1_000.0, 2_000.0]


def test_a_file_that_is_no_result_hides_no_others(tmp_path: Path) -> None:
    store(tmp_path, results(1_000.0, ()))
    (tmp_path / "broken.json").write_text("{")
    assert len(History(tmp_path).evals()) == 1


@pytest.mark.parametrize("evals", [[], [PastEval("1", Results("a", ()))]])
def test_a_page_without_runs_can_be_shown(evals: list[PastEval]) -> None:
    assert list_page(evals).endswith("</html>")
    assert all(eval_page(one, None, set()).endswith("</html>") for one in evals)
