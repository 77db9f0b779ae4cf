"""Faults that `voiceagent eval --against` finds: `python tests/bench/eval_proof.py FOLDER [PART ...]`.

Each of three faults (`eval_faults.py`) is compared with the agent without it over the demo's 30 scenarios,
ten runs each; the one in a prompt over the three of `page_evals`, by a model that reads it. A change of
nothing is the same agent by another name, and the runs of the agent divided in two halves at random, which
have different callers. Typed runs of a model differ by its sampling alone.

Results are written to FOLDER and not measured again. Parts: typed, model, sound; all by default. Exit 1 if a
fault is not found, or a change is found where there is none.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # for the agents of `eval_faults`, in the processes of the runs as well

from voiceagent.evals.comparison import Change, compare  # noqa: E402
from voiceagent.evals.exact_tests import ALPHA  # noqa: E402
from voiceagent.evals.results import Results, Run, read_results  # noqa: E402
from voiceagent.evals.run_processes import make_runs  # noqa: E402
from voiceagent.evals.runs import Plan  # noqa: E402
from voiceagent.scores.statistics import wilson  # noqa: E402

SCENARIOS = ROOT / "voiceagent/demo/evals"
AGENTS = "tests.bench.eval_faults"
RUNS = 10
PROCESSES = 2
DIVISIONS = 400


@dataclass(frozen=True, slots=True)
class Part:
    """A configuration with its fault. agent: that has the fault. renamed: agent without a change, if it is
    measured. processes: calls at once. scenarios: their folder. runs_before: of each, without the fault.
    """

    config: Path
    agent: str
    title: str
    typed: bool
    renamed: str = ""
    processes: int = PROCESSES
    scenarios: Path = SCENARIOS
    runs_before: int = RUNS


PARTS = {
    "typed": Part(
        ROOT / "configs/demo.toml",
        "WrongDefault",
        "a tool's wrong default",
        True,
        "Renamed",
        runs_before=2 * RUNS,
    ),
    "model": Part(
        ROOT / "tests/bench/eval_page.toml",
        "Contradiction",
        "a prompt that contradicts itself",
        True,
        "RenamedPage",
        1,  # the model has all cores
        ROOT / "tests/bench/page_evals",
    ),
    "sound": Part(ROOT / "configs/demo.toml", "MoreSilence", "300 ms more silence", False),
}


def measured(part: Part, runs: int, agent: str, path: Path) -> Results:
    """Return the results in a file, or measure and write them. agent: "" for the configuration's."""
    if path.exists():
        return read_results(path)
    began_s = time.monotonic()
    changes = {"agent.python": json.dumps(f"{AGENTS}:{agent}")} if agent else {}
    plan = Plan(part.scenarios, part.config, changes, runs=runs, typed=part.typed, processes=part.processes)
    made = tuple(sorted(make_runs(plan), key=lambda run: (run.scenario, run.seed)))
    results = Results(agent or part.config.stem, made, time.monotonic() - began_s)
    path.write_text(json.dumps(results.as_json()), encoding="utf-8")
    return results


def first(results: Results, runs: int = RUNS) -> Results:
    """Return the first runs of each scenario."""
    return Results(results.name, tuple(run for run in results.runs if run.seed <= runs))


def divided(results: Results, random: Random) -> tuple[Results, Results]:
    """Return the runs of each scenario in two halves."""
    halves: tuple[list[Run], list[Run]] = ([], [])
    for runs in results.scenarios.values():
        order = random.sample(runs, len(runs))
        halves[0].extend(order[: len(runs) // 2])
        halves[1].extend(order[len(runs) // 2 :])
    return Results("one half", tuple(halves[0])), Results("the other", tuple(halves[1]))


def found(changes: list[Change]) -> list[Change]:
    """Return the changes beyond chance, the clearest first."""
    return sorted((one for one in changes if one.is_beyond_chance), key=lambda one: one.corrected_p)


def shown(change: Change) -> str:
    """Return a change as text."""
    before, after = change.before or 0.0, change.after or 0.0
    values = (
        f"{before:.1%} to {after:.1%}" if change.measure == "passed" else f"{before:.2f} to {after:.2f} s"
    )
    return f"{change.scenario}, {change.measure} {values}, p {change.corrected_p:.2g}"


def false_alarms(results: Results) -> tuple[int, float]:
    """Return in how many random divisions something is found, and the upper end of that share's interval."""
    alarms = sum(bool(found(compare(*divided(results, Random(seed))))) for seed in range(DIVISIONS))
    interval = wilson(alarms, DIVISIONS)
    return alarms, 0.0 if interval is None else interval.low


def proven(name: str, folder: Path) -> bool:
    """Measure a part and print its rows of the table. Return True if it shows what it must."""
    part = PARTS[name]
    before = measured(part, part.runs_before, "", folder / f"{name}.json")
    after = measured(part, RUNS, part.agent, folder / f"{name}-fault.json")
    way = "typed" if part.typed else "by sound"
    calls = f"{len(first(before).runs)} + {len(after.runs)}"
    changes = found(compare(first(before), after))
    worse = [one for one in changes if one.is_worse]
    print(f"| {part.title} | {way}, {calls} calls | {'<br>'.join(map(shown, changes)) or 'not found'} |")
    alarms, low = false_alarms(before)
    divisions = f"{DIVISIONS} divisions of {len(before.runs)} calls"
    print(f"| nothing: other callers | {way}, {divisions} | in {alarms} divisions |")
    print(
        f"{name}: {before.wall_s:.0f} s for {len(before.runs)} calls, {after.wall_s:.0f} s for "
        f"{len(after.runs)}; passed {sum(run.passed for run in before.runs)} and "
        f"{sum(run.passed for run in after.runs)}",
        file=sys.stderr,
    )
    return bool(worse) and low <= ALPHA


def unchanged(name: str, folder: Path) -> bool:
    """Print the row of an agent with another name alone. Return True if nothing is found."""
    part = PARTS[name]
    before = first(measured(part, part.runs_before, "", folder / f"{name}.json"))
    after = measured(part, RUNS, part.renamed, folder / f"{name}-renamed.json")
    changes = found(compare(before, after))
    calls = f"{len(before.runs)} + {len(after.runs)}"
    text = "<br>".join(map(shown, changes)) or "not found"
    print(f"| nothing: the agent's name | {'typed' if part.typed else 'by sound'}, {calls} calls | {text} |")
    return not changes


def main() -> int:
    """Measure the parts and print the table."""
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= PARTS.keys():
        print(f"usage: eval_proof.py FOLDER [{'|'.join(PARTS)} ...]", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    names = sys.argv[2:] or list(PARTS)
    print("| change | calls | found, corrected |\n| --- | --- | --- |")
    good = [proven(name, folder) for name in names]
    good += [unchanged(name, folder) for name in names if PARTS[name].renamed]
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
