"""Row of `docs/scores.md` from scored calls: `python tests/bench/scored_row.py CONFIGURATION [SAID]`.

`scored_calls.py` makes the calls, and prints the row at its end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

VOICEAGENT = Path(sys.executable).with_name("voiceagent")
PANEL = (
    ("response latency, s", "response latency, mean"),
    ("yield latency, s", "yield latency, mean"),
    ("turns answered", "turns answered"),
    ("interruptions yielded to", "interruptions yielded to"),
    ("interruptions by the agent, per turn", "interruptions by the agent"),
    ("backchannels", "backchannels talked through"),
    ("noises", "noises ignored"),
    ("asides", "asides ignored"),
)
"""Titles in the page, and names of the scores, which are given in ticks of 200 ms."""
OTHERS = (
    "false cut-offs within 300 ms",
    "false cut-offs within 600 ms",
    "latency at 5 % false cut-offs",
    "latency at 10 % false cut-offs",
    "response latency, p50",
    "response latency, p95",
    "word error rate",
)


def scores(config: Path, said: Path | None) -> dict[str, Any]:
    """Return what `voiceagent score --json` prints for all kept calls."""
    options = [] if said is None else ["--said", str(said)]
    command = [str(VOICEAGENT), "score", "--config", str(config), *options, "--json"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    printed: dict[str, Any] = json.loads(ran.stdout)
    return printed


def row(scored: dict[str, Any]) -> str:
    """Return the rows as Markdown."""
    figures = {figure["name"]: figure for figure in scored["scores"]}
    minutes = sum(call["seconds"] for call in scored["calls"]) / 60
    lines = [f"{len(scored['calls'])} calls, {minutes:.0f} minutes", "", "| | here |", "| --- | --- |"]
    lines += [f"| {title} | {_cell(figures[name], 'on_ticks')} |" for title, name in PANEL]
    lines += [f"| {name} | {_cell(figures[name], 'value')} |" for name in OTHERS]
    return "\n".join(lines)


def _cell(figure: dict[str, Any], key: str) -> str:
    """Return a value with the number of events, and the interval, which is not that of a value in ticks."""
    value, interval = figure[key], figure["interval"] if figure[key] == figure["value"] else None
    if value is None:
        return f"none ({figure['count']} events)"
    between = "" if interval is None else f"{interval[0]:.2f}-{interval[1]:.2f}, "
    return f"{value:.2f} ({between}{figure['count']} events)"


def main() -> None:
    """Print the row of the calls of a configuration."""
    config, *said = (Path(path) for path in sys.argv[1:])
    print(row(scores(config, said[0] if said else None)))


if __name__ == "__main__":
    main()
