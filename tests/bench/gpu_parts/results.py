"""Results of `gpu_proof.py`: one file a part, from which a later run resumes, and a table of all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

Rows = list[tuple[str, str]]
"""Names of measurements, and their figures."""
PASSED = "passed"
BAR = "\\|"
"""A bar within a cell of a table."""
DRY_RUN = "a stand-in for an engine: **no figure here was measured**"


@dataclass(frozen=True)
class Result:
    """Outcome of a part. inputs: see `Start.inputs`. date: in UTC. ended: PASSED, or why not."""

    inputs: str
    date: str
    seconds: float
    ended: str
    rows: Rows


def result_file(folder: Path, part: str) -> Path:
    """Return the file of a part's result."""
    return folder / f"{part.replace(', ', '-').replace(' ', '-').replace(chr(39), '')}.json"


def write_result(folder: Path, part: str, result: Result) -> None:
    """Keep the result of a part."""
    write_whole(result_file(folder, part), json.dumps(asdict(result), indent=1))


def passed_result(folder: Path, part: str, inputs: str) -> Result | None:
    """Return an earlier run's result of a part with these inputs, if it passed."""
    try:
        found = json.loads(result_file(folder, part).read_text())
        rows = [(name, figures) for name, figures in found.pop("rows")]
        result = Result(rows=rows, **found)
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return None  # none, a broken one, or one of an older version
    return result if result.inputs == inputs and result.ended == PASSED else None


def write_whole(path: Path, text: str) -> None:
    """Write a file such that a kill leaves its new text or the old one."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def write_table(path: Path, device: str, options: str, results: Mapping[str, Result | None]) -> None:
    """Write all figures so far, a row a part. options: of `gpu_proof.py`, beside the part's name. A part
    without a result was not measured yet.
    """
    text = [
        f"# Measured on {device}",
        "",
        "By `make gpu-proof`; the model of 8 B has random weights. Times are",
    ]
    text += ["milliseconds, three figures p50, p95, p99. One part again:"]
    text += [f'`python tests/bench/gpu_proof.py {options}--only "PART"`', ""]
    text += ["| part | figures | date, UTC |", "| --- | --- | --- |"]
    for name, result in results.items():
        if result is None:
            continue
        rows = [f"{what}: {figures}" for what, figures in result.rows] or ["no figures"]
        if result.ended != PASSED:
            rows.append(f"failed: {result.ended}, after {result.seconds:.0f} s")
        text.append(f"| {name} | {'<br>'.join(rows).replace('|', BAR)} | {result.date} |")
    missing = [name for name, result in results.items() if result is None]
    if missing:
        text += ["", f"Not measured: {'; '.join(missing)}."]
    write_whole(path, "\n".join(text) + "\n")
