"""Parts of the pages of evals: head, figures, and pass rates drawn as SVG."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from statistics import median
from typing import NamedTuple

from voiceagent.evals.results import Results, Run
from voiceagent.scores.statistics import wilson

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Content-Security-Policy of the pages, which have no scripts."""
MAX_SHOWN = 30
"""Evals in a drawing, the newest."""
_HEIGHT, _TOP, _LEFT, _RIGHT = 120, 10, 44, 12
_BOTTOM = 12
_BAR_HEIGHT = 22


class Rate(NamedTuple):
    """A pass rate to draw. title: text for the point. link: of the point."""

    passed: int
    runs: int
    title: str
    link: str


def head(title: str) -> str:
    """Return the beginning of a page, up to its main part."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="dark light"><title>{escape(title)} · voiceagent</title>'
        '<link rel="icon" href="/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/style.css">'
        '<link rel="stylesheet" href="/evals.css"></head><body>'
        '<header class="top"><h1><img src="/icon.svg" alt="" width="24" height="24"> '
        '<a href="/evals">Evals</a></h1><p class="server"><a href="/calls">Calls</a></p></header>'
    )


def passed_of(runs: Sequence[Run]) -> int:
    return sum(run.passed for run in runs)


def rate_text(runs: Sequence[Run]) -> str:
    """Return the pass rate in per cent."""
    return f"{passed_of(runs) / len(runs):.0%}" if runs else ""


def interval_text(runs: Sequence[Run]) -> str:
    """Return the 95 % interval of the pass rate."""
    interval = wilson(passed_of(runs), len(runs))
    return "" if interval is None else f"{interval.low:.0%} to {interval.high:.0%}"


def wait_text(runs: Sequence[Run]) -> str:
    """Return the median wait."""
    waits = [wait_s for run in runs for wait_s in run.waits_s]
    return f"{median(waits):.2f} s" if waits else ""


def when(unix_s: float) -> str:
    """Return a time as HTML, in the time zone of this machine."""
    machine = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_s))
    return f'<time datetime="{machine}">{when_text(unix_s)}</time>'


def when_text(unix_s: float) -> str:
    """Return a time as text, in the time zone of this machine."""
    return time.strftime("%d %b %Y, %H:%M", time.localtime(unix_s))


def clock(seconds: float) -> str:
    """Return a position in a call as minutes and seconds."""
    minutes, rest = divmod(max(0.0, seconds), 60)
    return f"{minutes:.0f}:{rest:04.1f}"


def rate_chart(rates: Sequence[Rate], label: str) -> str:
    """Return pass rates over time with their 95 % intervals. Each point is a link."""
    shown = rates[-MAX_SHOWN:]
    width = _LEFT + _RIGHT + max(320, 24 * len(shown))
    lines = "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{width - _RIGHT}" y1="{_y(at):.1f}" y2="{_y(at):.1f}"/>'
        f'<text x="{_LEFT - 8}" y="{_y(at) + 4:.1f}">{at:.0%}</text>'
        for at in (0.0, 0.5, 1.0)
    )
    step = (width - _LEFT - _RIGHT) / len(shown)
    points = "".join(_point(one, _LEFT + (index + 0.5) * step) for index, one in enumerate(shown))
    height = _HEIGHT + _TOP + _BOTTOM
    return (
        f'<svg class="rates" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="group" '
        f'aria-label="{escape(label)}">{lines}{points}</svg>'
    )


def small_chart(rates: Sequence[Rate]) -> str:
    """Return pass rates over time as bars without links, for a row of a table."""
    shown = rates[-MAX_SHOWN:]
    bars = "".join(_bar(one, index) for index, one in enumerate(shown))
    label = ", ".join(f"{one.passed / one.runs:.0%}" for one in shown)
    width = 8 * len(shown)
    size = f'viewBox="0 0 {width} {_BAR_HEIGHT}" width="{width}" height="{_BAR_HEIGHT}"'
    return f'<svg class="small" {size} role="img" aria-label="Pass rates: {label}">{bars}</svg>'


def _bar(one: Rate, index: int) -> str:
    height = max(2.0, _BAR_HEIGHT * one.passed / one.runs)
    return (
        f'<rect class="{_kind(one)}" x="{index * 8}" width="6" y="{_BAR_HEIGHT - height:.1f}" '
        f'height="{height:.1f}"><title>{escape(one.title)}</title></rect>'
    )


def _kind(one: Rate) -> str:
    return "all" if one.passed == one.runs else "some"


def rate_of(results: Results, runs: Sequence[Run], link: str) -> Rate:
    """Return the pass rate of runs of an eval."""
    passed = passed_of(runs)
    title = f"{when_text(results.began_at)}: {passed} of {len(runs)} passed, {interval_text(runs)}"
    return Rate(passed, len(runs), title, link)


def _point(one: Rate, x: float) -> str:
    interval = wilson(one.passed, one.runs)
    if interval is None:
        return ""
    low, high = _y(interval.low), _y(interval.high)
    return (
        f'<a class="{_kind(one)}" href="{escape(one.link)}" aria-label="{escape(one.title)}">'
        f"<title>{escape(one.title)}</title>"
        f'<rect class="hit" x="{x - 11:.1f}" y="{_TOP}" width="22" height="{_HEIGHT}"/>'
        f'<path class="interval" d="M{x:.1f} {low:.1f}V{high:.1f}'
        f'M{x - 4:.1f} {low:.1f}h8M{x - 4:.1f} {high:.1f}h8"/>'
        f'<circle cx="{x:.1f}" cy="{_y(one.passed / one.runs):.1f}" r="4.5"/></a>'
    )


def _y(rate: float) -> float:
    return _TOP + _HEIGHT * (1 - rate)
