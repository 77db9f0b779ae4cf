"""Files of the rules for Prometheus and Grafana: `python -m voiceagent.triage.exports FOLDER` writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from voiceagent.triage.rules import RULES, SCORES, Rule

ALERTS = "triage.rules.yml"
DASHBOARD = "grafana-dashboard.json"
_WINDOW = "5m"
_RECENT, _EARLIER = "1h", "1h offset 1d"
WORSE = 1.25
"""Ratio to the same hour a day earlier above which a score has regressed."""
_UNITS = {"s": "s", "%": "percentunit", "": "none"}
_ROUTED = "sum(rate(voiceagent_llm_replica_requests_total"
CLUSTER = (
    (
        "Requests that stay where their cache is",
        "percentunit",
        f'{_ROUTED}{{reason="kept"}}[5m])) / {_ROUTED}{{reason!="placed"}}[5m]))',
        "kept",
    ),
    ("Requests to replicas, by reason", "reqps", f"{_ROUTED}[5m])) by (reason)", "{{reason}}"),
    ("Replicas that get requests", "short", "min(voiceagent_llm_replica_up) by (replica)", "{{replica}}"),
    (
        "Calls whose cache a replica has",
        "short",
        "sum(voiceagent_llm_replica_sessions) by (replica)",
        "{{replica}}",
    ),
    ("Calls of a gateway", "short", "voiceagent_calls", "{{instance}}"),
    ("Gateways that are wanted", "short", "max(voiceagent_gateways_wanted)", "wanted"),
)
"""Panels about replicas and gateways: title, unit, query, legend."""


def alerts() -> str:
    """Return the rules as alerts in Prometheus' YAML. Texts are JSON strings, which are valid YAML."""
    lines = [
        "# Why calls are slow: the rules of /triage, written by `python -m voiceagent.triage.exports`.",
        "# Name this file under `rule_files`.",
        "groups:",
        "  - name: voiceagent-triage",
        "    rules:",
    ]
    for rule in RULES:
        name = "Triage" + "".join(word.capitalize() for word in rule.cause.split("_"))
        lines += [
            f"      - alert: {name}",
            f"        expr: {json.dumps(_condition(rule))}",
            "        for: 1m",
            f"        labels: {{cause: {rule.cause}}}",
            "        annotations:",
            f"          summary: {json.dumps(rule.title)}",
            f"          description: {json.dumps(f'Look at: {rule.look}. Change: {rule.change}.')}",
        ]
    return "\n".join([*lines, *_regressions()]) + "\n"


def _regressions() -> list[str]:
    """Return alerts for scores that are worse than a day earlier, as lines of YAML."""
    lines = ["  - name: voiceagent-regressions", "    rules:"]
    for rule in SCORES:
        name = "Regression" + "".join(word.capitalize() for word in rule.cause.split("_"))
        now, before = (rule.figure.promql(window) for window in (_RECENT, _EARLIER))
        lines += [
            f"      - alert: {name}",
            f"        expr: {json.dumps(f'({now}) > {WORSE:g} * ({before})')}",
            "        for: 15m",
            f"        labels: {{cause: {rule.cause}}}",
            "        annotations:",
            f"          summary: {json.dumps(f'{rule.title}: {WORSE - 1:.0%} more than a day earlier')}",
            f"          description: {json.dumps(f'Look at: {rule.look}. Change: {rule.change}.')}",
        ]
    return lines


def _condition(rule: Rule) -> str:
    return f"({rule.figure.promql(_WINDOW)}) {'<' if rule.below else '>'} {rule.limit:g}"


def dashboard() -> str:
    """Return Grafana's JSON: one panel per rule with its threshold, then those of a cluster."""
    panels = [_panel(number, rule) for number, rule in enumerate(RULES)]
    panels += [_series(len(RULES) + number, *series) for number, series in enumerate(CLUSTER)]
    board = {
        "title": "voiceagent: why calls are slow",
        "uid": "voiceagent-triage",
        "schemaVersion": 39,
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "15s",
        "templating": {
            "list": [
                {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
            ]
        },
        "panels": panels,
    }
    return json.dumps(board, indent=2) + "\n"


def _panel(number: int, rule: Rule) -> dict[str, Any]:
    beyond, well = "red", "green"
    first, second = (beyond, well) if rule.below else (well, beyond)
    panel = _series(number, rule.title, _UNITS[rule.figure.unit], rule.figure.promql(_WINDOW), rule.cause)
    panel["description"] = f"Look at: {rule.look}. Change: {rule.change}."
    panel["fieldConfig"]["defaults"] |= {
        "thresholds": {
            "mode": "absolute",
            "steps": [{"color": first, "value": None}, {"color": second, "value": rule.limit}],
        },
        "custom": {"thresholdsStyle": {"mode": "line"}},
    }
    return panel


def _series(number: int, title: str, unit: str, query: str, legend: str) -> dict[str, Any]:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"h": 8, "w": 8, "x": number % 3 * 8, "y": number // 3 * 8},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [{"refId": "A", "expr": query, "legendFormat": legend}],
    }


def main() -> None:
    """Write both files into the folder given on the command line."""
    folder = Path(sys.argv[1])
    (folder / ALERTS).write_text(alerts())
    (folder / DASHBOARD).write_text(dashboard())


if __name__ == "__main__":
    main()
