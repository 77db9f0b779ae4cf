"""Findings as JSON and as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from voiceagent.triage.rules import Finding

_HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="dark light"><title>Triage · voiceagent</title>'
    '<link rel="icon" href="/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/style.css">'
    '<link rel="stylesheet" href="/triage.css"></head><body>'
    '<header class="top"><h1><img src="/icon.svg" alt="" width="24" height="24"> Triage</h1>'
    '<p class="server"><a href="/">voiceagent</a> · <a href="/calls">Calls</a></p></header>'
)
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Content-Security-Policy of the page."""


def as_json(findings: Sequence[Finding], window_s: float) -> dict[str, Any]:
    """Return the findings as JSON. likeliest: the first cause found, or None."""
    return {
        "likeliest": next((finding.rule.cause for finding in findings if finding.found), None),
        "window_s": round(window_s, 1),
        "causes": [
            {
                "cause": finding.rule.cause,
                "title": finding.rule.title,
                "found": finding.found,
                "value": finding.value,
                "limit": finding.rule.limit,
                "beyond": "below" if finding.rule.below else "above",
                "rule": finding.rule.figure.promql("5m"),
                "look": finding.rule.look,
                "change": finding.rule.change,
            }
            for finding in findings
        ],
    }


def as_page(findings: Sequence[Finding], window_s: float) -> str:
    """Return the findings as an HTML page. Its styles are those of the pages in `web/`."""
    found = [finding for finding in findings if finding.found]
    others = [finding for finding in findings if not finding.found]
    verdict = f"Likeliest cause: {found[0].rule.title}" if found else "Nothing is beyond its limit"
    return (
        f'{_HEAD}<main class="triage"><h2>{escape(verdict)}</h2>'
        f'<p class="window">In the last {window_s:.0f} s. Also as <a href="/triage.json">JSON</a>.</p>'
        f"{''.join(map(_section, found))}{_folded(others)}</main></body></html>"
    )


def _section(finding: Finding) -> str:
    """Return a cause that was found, with what to do."""
    rule = finding.rule
    return (
        f'<section class="panel found"><h3>{escape(rule.title)}</h3>'
        f"<p><b>{escape(_value(finding))}</b>, {escape(_limit(finding))} is well</p>"
        f"<dl><dt>Look at</dt><dd>{escape(rule.look)}</dd><dt>Change</dt><dd>{escape(rule.change)}</dd>"
        f"<dt>Rule</dt><dd><code>{escape(rule.figure.promql('5m'))}</code></dd></dl></section>"
    )


def _folded(findings: Sequence[Finding]) -> str:
    """Return the other rules as one line that opens to a table."""
    well = sum(finding.value is not None for finding in findings)
    unknown = len(findings) - well
    counts = [f"{well} well"] * (well > 0) + [f"{unknown} with too little measured"] * (unknown > 0)
    rows = "".join(
        f'<tr><th scope="row">{escape(finding.rule.title)}</th><td>{escape(_value(finding))}</td>'
        f"<td>{escape(_limit(finding))}</td></tr>"
        for finding in findings
    )
    head = '<tr><th scope="col">Checked</th><th scope="col">Now</th><th scope="col">Well</th></tr>'
    return (
        f'<details class="panel"><summary>{", ".join(counts)}</summary>'
        f"<table><thead>{head}</thead><tbody>{rows}</tbody></table></details>"
    )


def _value(finding: Finding) -> str:
    unit = finding.rule.figure.unit
    return "too little measured" if finding.value is None else _figure(finding.value, unit)


def _limit(finding: Finding) -> str:
    rule = finding.rule
    return f"{'at least' if rule.below else 'at most'} {_figure(rule.limit, rule.figure.unit)}"


def _figure(value: float, unit: str) -> str:
    match unit:
        case "%":
            return f"{value:.0%}"
        case "s":
            return f"{value * 1000:.0f} ms"
        case _:
            return f"{value:.1f} times"
