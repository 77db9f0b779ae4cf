"""Findings as JSON and as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from voiceagent.triage.rules import Finding

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "section{border-left:4px solid #2a2;padding:.1rem 1rem;margin:1rem 0}section.found{border-color:#c22}"
    "section.unknown{border-color:#aaa}h2{font-size:1.1rem;margin:.3rem 0}p{margin:.3rem 0}"
)
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
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
    """Return the findings as an HTML page."""
    likeliest = next((finding.rule.title for finding in findings if finding.found), None)
    verdict = f"Likeliest cause: {likeliest}" if likeliest else "Nothing is beyond its limit"
    head = f'<meta charset="utf-8"><title>voiceagent: triage</title><style>{_STYLE}</style>'
    body = "".join(map(_section, findings))
    return (
        f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{escape(verdict)}</h1>'
        f"<p>Of the last {window_s:.0f} s. The same is at /triage.json.</p>{body}</body></html>"
    )


def _section(finding: Finding) -> str:
    rule = finding.rule
    state = "found" if finding.found else "unknown" if finding.value is None else "well"
    value = "too little was measured" if finding.value is None else _figure(finding.value, rule.figure.unit)
    limit = f"{'at least' if rule.below else 'at most'} {_figure(rule.limit, rule.figure.unit)}"
    return (
        f'<section class="{state}"><h2>{escape(rule.title)}</h2><p><b>{escape(value)}</b>, '
        f"{escape(limit)} is well: <code>{escape(rule.figure.promql('5m'))}</code></p>"
        f"<p>Look at: {escape(rule.look)}.</p>"
        f"<p>Change: {escape(rule.change)}.</p></section>"
    )


def _figure(value: float, unit: str) -> str:
    match unit:
        case "%":
            return f"{value:.0%}"
        case "s":
            return f"{value * 1000:.0f} ms"
        case _:
            return f"{value:.1f} times"
