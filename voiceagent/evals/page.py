"""Pages of evals as HTML: all evals over time, and one with its failing turns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from itertools import groupby
from typing import Any
from urllib.parse import quote

from voiceagent.evals.comparison import compare
from voiceagent.evals.history import PastEval, of_same_scenarios, series_of
from voiceagent.evals.page_parts import (
    MAX_SHOWN,
    clock,
    head,
    interval_text,
    passed_of,
    rate_chart,
    rate_of,
    rate_text,
    small_chart,
    wait_text,
    when,
)
from voiceagent.evals.record import Failure
from voiceagent.evals.results import Results, Run


def list_page(evals: Sequence[PastEval]) -> str:
    """Return the page of all evals. evals: oldest first."""
    if not evals:
        body = "<p>No eval yet: <code>voiceagent eval</code> adds one.</p>"
        return f'{head("Evals")}<main class="evals">{body}</main></body></html>'
    newest = {series_of(one): one for one in evals}
    ordered = sorted(newest.values(), key=lambda one: one.results.began_at, reverse=True)
    sections = "".join(_series_section(of_same_scenarios(evals, one)) for one in ordered)
    return f'{head("Evals")}<main class="evals">{sections}</main></body></html>'


def _series_section(evals: Sequence[PastEval]) -> str:
    """Return the section of the evals of one folder of scenarios."""
    folder, typed = series_of(evals[-1])
    title = f"{folder or 'scenarios'}{', typed' if typed else ''}"
    rates = [rate_of(results, results.runs, _address(one)) for one in evals for results in (one.results,)]
    rows = "".join(_eval_row(one) for one in reversed(evals))
    heads = _heads("Began", "Configuration", "Revision", "Passed", "Rate", "95 % interval", "Wait")
    return (
        f'<section class="panel"><h2>{escape(title)}</h2>'
        f'<div class="scrolled">{rate_chart(rates, f"Pass rates of {title}")}</div>'
        f'<div class="scrolled"><table><thead>{heads}</thead><tbody>{rows}</tbody></table></div>'
        f"<h3>Scenarios</h3>{_scenario_table(evals)}</section>"
    )


def _eval_row(one: PastEval) -> str:
    results = one.results
    return (
        f'<tr><th scope="row"><a href="{_address(one)}">{when(results.began_at)}</a></th>'
        f'<td class="name">{escape(results.name)}</td><td>{escape(results.revision)}</td>'
        f"{_figures(results.runs)}</tr>"
    )


def _scenario_table(evals: Sequence[PastEval]) -> str:
    """Return a row for each scenario of the newest eval: its figures there, and its rates so far."""
    newest = evals[-1]
    rows = []
    for name, runs in newest.results.scenarios.items():
        rates = [
            rate_of(one.results, of_one, "")
            for one in evals[-MAX_SHOWN:]
            if (of_one := one.results.scenarios.get(name))
        ]
        link = f"{_address(newest)}#{quote(name)}"
        rows.append(
            f'<tr><th scope="row"><a href="{escape(link)}">{escape(name)}</a></th>'
            f"{_figures(runs)}<td>{small_chart(rates)}</td></tr>"
        )
    heads = _heads("Scenario", "Passed", "Rate", "95 % interval", "Wait", "So far")
    return f'<div class="scrolled"><table><thead>{heads}</thead><tbody>{"".join(rows)}</tbody></table></div>'


def eval_page(one: PastEval, before: PastEval | None, kept: Collection[str]) -> str:
    """Return the page of one eval.

    before: the previous eval of the same scenarios. kept: ids of the calls that the inspector has.
    """
    results = one.results
    failed_first = sorted(results.scenarios.items(), key=lambda item: all(run.passed for run in item[1]))
    sections = "".join(_scenario_section(name, runs, kept) for name, runs in failed_first)
    calls = results.stopped_after or f"{len(results.runs)} calls"
    facts = [results.name, results.revision, f"{calls} in {results.wall_s:.0f} s"]
    return (
        f'{head("Eval")}<main class="evals"><section class="panel"><h2>{when(results.began_at)}</h2>'
        f'<p class="about">{escape(" · ".join(filter(None, facts)))}</p>'
        f"<p><b>{rate_text(results.runs)} passed</b>, {interval_text(results.runs)} at 95 %. "
        f"{escape(_changes_text(before, results))}</p></section>{sections}</main></body></html>"
    )


def _changes_text(before: PastEval | None, results: Results) -> str:
    """Return the differences beyond chance from the previous eval."""
    if before is None:
        return "This is the first eval of these scenarios."
    found = [change for change in compare(before.results, results) if change.is_beyond_chance]
    if not found:
        return "Nothing differs beyond chance from the eval before."
    texts = [
        f"{change.scenario}, {change.measure}: {_measure(change.measure, change.before)} before, "
        f"{_measure(change.measure, change.after)} now (p {change.corrected_p:.2g})"
        for change in found
    ]
    return f"Beyond chance since the eval before: {'; '.join(texts)}."


def _measure(measure: str, value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:.0%}" if measure == "passed" else f"{value:.2f} s"


def _scenario_section(name: str, runs: Sequence[Run], kept: Collection[str]) -> str:
    failed, passed = ([run for run in runs if run.passed is one] for one in (False, True))
    items = "".join(_failed_run(run, kept) for run in failed)
    others = "".join(f"<li>{_run_link(run, kept)}{_transcript(run, kept)}</li>" for run in passed)
    folded = f"<details><summary>{len(passed)} passed</summary><ul>{others}</ul></details>" if passed else ""
    kind, wait = "some" if failed else "all", wait_text(runs)
    return (
        f'<section class="panel {kind}" id="{escape(name)}"><h3>{escape(name)}</h3>'
        f'<p class="about">{passed_of(runs)} of {len(runs)} passed, {interval_text(runs)}'
        f"{f', wait {wait}' if wait else ''}</p>"
        f"{f'<ul>{items}</ul>' if items else ''}{folded}</section>"
    )


def _failed_run(run: Run, kept: Collection[str]) -> str:
    """Return a run with its failures; those at the same second are together."""
    found = sorted(run.failures, key=lambda one: (one.at_s is None, one.at_s or 0.0))
    parts = [
        f"<li>{_place(run, at_s, kept)}{'<br>'.join(escape(one.reason) for one in together)}</li>"
        for at_s, together in groupby(found, _second)
    ]
    failures = f'<ul class="failures">{"".join(parts)}</ul>'
    return f"<li>{_run_link(run, kept)}{failures}{_transcript(run, kept)}</li>"


def _second(failure: Failure) -> float | None:
    return failure.at_s


def _place(run: Run, at_s: float | None, kept: Collection[str]) -> str:
    return "" if at_s is None else f"{_call_link(run, at_s, clock(at_s), kept)} "


def _run_link(run: Run, kept: Collection[str]) -> str:
    return _call_link(run, None, f"Run {run.seed}", kept)


def _call_link(run: Run, at_s: float | None, text: str, kept: Collection[str]) -> str:
    """Return a link into the inspector, or the text if the call is not kept."""
    call_id = _call_id(run)
    if call_id not in kept:
        return f"<span>{escape(text)}</span>"
    second = "" if at_s is None else f"@{at_s:.1f}"
    return f'<a href="/calls#/{quote(call_id)}{second}">{escape(text)}</a>'


def _call_id(run: Run) -> str:
    return str((run.call or {}).get("call_id", ""))


def _transcript(run: Run, kept: Collection[str]) -> str:
    """Return the transcript, folded; each line's time is a link."""
    said: Sequence[dict[str, Any]] = (run.call or {}).get("said", ())
    lines = "".join(
        f'<li class="{one["role"]}">{_line_time(run, one, kept)}<span class="who">'
        f"{'Caller' if one['role'] == 'caller' else 'Agent'}</span> {escape(one['text'])}</li>"
        for one in said
    )
    tools = "".join(
        f'<li class="tool"><code>{escape(one["name"])}({escape(str(one["arguments"]))})</code> '
        f"{escape(str(one['output']))}</li>"
        for one in (run.call or {}).get("tools", ())
    )
    if not lines and not tools:
        return ""
    return f'<details><summary>Transcript</summary><ol class="said">{lines}{tools}</ol></details>'


def _line_time(run: Run, one: dict[str, Any], kept: Collection[str]) -> str:
    return f"{_call_link(run, one['begin_s'], clock(one['begin_s']), kept)} " if one["end_s"] else ""


def _figures(runs: Sequence[Run]) -> str:
    """Return the cells of a row: passed, rate, interval, wait."""
    return "".join(
        f'<td class="number">{cell}</td>'
        for cell in (
            f"{passed_of(runs)} of {len(runs)}",
            rate_text(runs),
            interval_text(runs),
            wait_text(runs),
        )
    )


def _heads(*titles: str) -> str:
    numbers = {"Passed", "Rate", "95 % interval", "Wait"}
    cells = "".join(
        f'<th scope="col"{" class=number" if one in numbers else ""}>{one}</th>' for one in titles
    )
    return f"<tr>{cells}</tr>"


def _address(one: PastEval) -> str:
    return f"/evals/{quote(one.eval_id)}"
