"""`voiceagent eval`: simulated callers call an agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.progress import Progress

from voiceagent.agents.load import known_tools
from voiceagent.config.tables import Config, load
from voiceagent.evals import history
from voiceagent.evals.comparison import Change, compare
from voiceagent.evals.folder import read_scenarios, read_settings
from voiceagent.evals.report import print_changes, print_place, print_results
from voiceagent.evals.results import Results, Run, junit, read_results
from voiceagent.evals.run_processes import make_runs
from voiceagent.evals.runs import Plan
from voiceagent.evals.scenario import Scenario
from voiceagent.validation.errors import CommandFailed, config_error, reason_of

AT_REVISION = "VOICEAGENT_EVAL_AT_REVISION"
"""Environment variable of an eval that `--against git:REVISION` runs at that revision."""
AGAINST = "a configuration (.toml), earlier results (.json), an agent (module:Class), or git:REVISION"


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write, None for none, and the pass rate below which the command fails.

    folder: of all evals, to which the results are added.
    """

    json: Path | None = None
    junit: Path | None = None
    folder: Path | None = None
    min_rate: float = 1.0


class _Stopped(Exception):
    """An eval was stopped by `error`, after some of its calls."""

    def __init__(self, results: Results, error: CommandFailed | KeyboardInterrupt) -> None:
        super().__init__(str(error))
        self.results = results
        self.error = error


def run_eval(plan: Plan, against: str, outputs: Outputs) -> None:
    """Run an eval and print it. against: see `AGAINST`; "" compares with nothing.

    Raises CommandFailed: a scenario's pass rate is below the minimum, or worse beyond chance. ConfigError.
    KeyboardInterrupt with the number of calls so far, whose results are printed and, unless they are those of
    `against`, written.
    """
    _check(plan)
    if outputs.folder is not None:
        history.create(outputs.folder)
    try:
        before = _before(replace(plan, calls=None), against) if against else None
    except _Stopped as stopped:  # the results are of what it is compared with, so they are not written
        print_results(stopped.results)
        _raise_stopped(stopped, [])
    try:
        after = _measure(plan, _name(plan))
    except _Stopped as stopped:
        print_results(stopped.results)
        _raise_stopped(stopped, _write(stopped.results, plan.calls, outputs))
    print_results(after)
    problems = _write(after, plan.calls, outputs)
    changes: list[Change] = []
    if before is not None:
        changes = compare(before, after)
        print_changes(before, after, changes)
    if problems:
        raise CommandFailed("; ".join(problems))
    if worse := [one.scenario for one in changes if one.is_beyond_chance and one.is_worse]:
        raise CommandFailed(f"worse beyond chance: {', '.join(dict.fromkeys(worse))}")
    if before is None:
        _check_rates(after, outputs.min_rate)


def _raise_stopped(stopped: _Stopped, problems: list[str]) -> NoReturn:
    """Raise the error that stopped the eval, with the calls so far. problems: of files not written."""
    after = f"after {stopped.results.stopped_after}"
    if isinstance(stopped.error, KeyboardInterrupt):
        raise KeyboardInterrupt("; ".join((f"interrupted {after}", *problems))) from stopped
    raise CommandFailed("; ".join((f"stopped {after}: {stopped.error}", *problems))) from stopped


def _write(results: Results, calls: Path | None, outputs: Outputs) -> list[str]:
    """Write the results wherever they are wanted. Return the problems of files that cannot be written."""
    problems = []
    texts = ((outputs.json, json.dumps(results.as_json(), indent=1)), (outputs.junit, junit(results)))
    for path, text in texts:
        if path is not None:
            try:
                path.write_text(text, encoding="utf-8")
            except OSError as error:
                problems.append(f"{path}: cannot be written ({reason_of(error)})")
    if outputs.folder is not None:
        try:
            _store(outputs.folder, results, calls)
        except OSError as error:
            problems.append(
                f"{outputs.folder}: cannot be written ({reason_of(error)}); allowed: --results FOLDER"
            )
    return problems


def _store(folder: Path, results: Results, calls: Path | None) -> None:
    """Add the results to the folder of all evals, and delete its oldest calls. Raises OSError."""
    history.store(folder, results)
    if calls is not None and not results.typed:
        from voiceagent.evals.kept_runs import delete_oldest  # noqa: PLC0415  it needs the extra `calls`

        delete_oldest(calls)
    print_place(folder)


def _check(plan: Plan) -> None:
    """Raise ConfigError for a folder or a configuration that cannot be used."""
    config = load(plan.config, plan.changes)
    settings = read_settings(plan.folder)
    scenarios = read_scenarios(plan.folder, plan.only)
    for scenario in scenarios:
        if scenario.file.expect.judge and settings.judge is None:
            key = "expect.judge"
            message = f"there is no judge; allowed: with [judge] in {plan.folder / 'eval.toml'}"
            raise config_error(
                plan.folder / f"{scenario.name}.toml", key, scenario.file.expect.judge[0], message
            )
    if AT_REVISION not in os.environ:  # an earlier revision may not have a tool yet
        _check_tools(config, plan.folder, scenarios)


def _check_tools(config: Config, folder: Path, scenarios: Sequence[Scenario]) -> None:
    """Raise ConfigError for a forbidden tool or argument that no agent has: the check would always hold."""
    forbidden = [(one.name, *found) for one in scenarios for found in one.file.expect.forbidden_tools()]
    if not forbidden:
        return
    known = known_tools(config.agent, config.instructions(), config.source)
    for scenario, key, tool, arguments in forbidden:
        if tool not in known:
            allowed = ", ".join(sorted(known)) or "none, as no agent has a tool"
            raise config_error(folder / scenario, key, tool, f"no agent has this tool; allowed: {allowed}")
        if unknown := arguments - known[tool]:
            allowed = ", ".join(sorted(known[tool])) or "none"
            message = f"{tool} has no such argument; allowed: {allowed}"
            raise config_error(folder / scenario, f"{key}.arguments", min(unknown), message)


def _check_rates(results: Results, min_rate: float) -> None:
    low = [
        name
        for name, runs in results.scenarios.items()
        if sum(run.passed for run in runs) < min_rate * len(runs)
    ]
    if low:
        raise CommandFailed(f"passed less often than {min_rate:.0%}: {', '.join(low)}")


def _name(plan: Plan) -> str:
    changed = "".join(f" {key}={value}" for key, value in plan.changes.items())
    return f"{plan.config}{changed}"


def _measure(plan: Plan, name: str) -> Results:
    """Return the results of all runs. Raises _Stopped if it was stopped after some of them."""
    began_s, began_at = time.monotonic(), time.time()
    total = plan.runs * len(read_scenarios(plan.folder, plan.only))
    runs: list[Run] = []
    stopped: CommandFailed | KeyboardInterrupt | None = None
    with sigterm_as_interrupt(), Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("calls", total=total)
        try:
            for run in make_runs(plan):
                runs.append(run)
                progress.advance(task)
        except (CommandFailed, KeyboardInterrupt) as error:
            if not runs:
                raise
            stopped = error
    results = Results(
        name,
        tuple(sorted(runs, key=lambda run: (run.scenario, run.seed))),
        time.monotonic() - began_s,
        began_at=began_at,
        folder=plan.folder.absolute().name,
        revision=_revision(plan.config),
        typed=plan.typed,
        planned=0 if stopped is None else total,
    )
    if stopped is not None:
        raise _Stopped(results, stopped)
    return results


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM interrupt as Ctrl-C does: CI and `timeout` send it."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _revision(config: Path) -> str:
    """Return the git revision of a configuration's folder; "" without one."""
    try:
        return _git(config.absolute().parent, "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*")
    except (CommandFailed, OSError):
        return ""


def _before(plan: Plan, against: str) -> Results:
    """Return the results to compare with. Raises CommandFailed, ConfigError."""
    if against.startswith("git:"):
        return _of_revision(plan, against.removeprefix("git:"))
    if against.endswith(".json"):
        return read_results(Path(against))
    if against.endswith(".toml"):
        other = replace(plan, config=Path(against), changes={})
    elif ":" in against:
        other = replace(plan, changes=plan.changes | {"agent.python": json.dumps(against)})
    else:
        raise CommandFailed(f"--against is {against!r}; allowed: {AGAINST}")
    load(other.config, other.changes)
    return _measure(other, against)


def _of_revision(plan: Plan, revision: str) -> Results:
    """Return the results of the configuration, and of the agent's modules, at a git revision."""
    folder_of_config = plan.config.absolute().parent.resolve()  # git names folders without links
    root = Path(_git(folder_of_config, "rev-parse", "--show-toplevel"))
    with _worktree(root, revision) as tree, tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results.json"
        config = tree / folder_of_config.relative_to(root) / plan.config.name
        options = [f"--runs={plan.runs}", f"--processes={plan.processes}", "--min-rate=0", f"--json={out}"]
        options += ["--typed"] if plan.typed else []
        options += [f"--only={name}" for name in plan.only]
        options += [f"--set={key}={value}" for key, value in plan.changes.items()]
        # `-c` with the worktree first: the revision may have the server itself, as this repository
        start = f"import sys; sys.path.insert(0, {str(tree)!r}); from voiceagent.cli.main import main; "
        command = [sys.executable, "-c", f"{start}sys.exit(main())", "eval", str(plan.folder.absolute())]
        ran = subprocess.run(
            [*command, "--config", str(config), *options],
            capture_output=True,
            text=True,
            check=False,
            cwd=tree,
            env=_environment(tree),
        )
        if ran.returncode or not out.exists():
            reason = (ran.stderr.strip() or ran.stdout.strip() or "no reason given").splitlines()[-1]
            raise CommandFailed(f"--against git:{revision}: {reason}")
        return replace(read_results(out), name=f"git:{revision}")


def _environment(tree: Path) -> dict[str, str]:
    paths = [str(tree), os.environ.get("PYTHONPATH", "")]
    python_path = os.pathsep.join(path for path in paths if path)
    return {**os.environ, "PYTHONPATH": python_path, AT_REVISION: "1"}


@contextmanager
def _worktree(root: Path, revision: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        _git(root, "worktree", "add", "--detach", str(tree), revision)
        try:
            yield tree
        finally:
            _git(root, "worktree", "remove", "--force", str(tree))


def _git(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise CommandFailed(f"git {arguments[0]}: {ran.stderr.strip().splitlines()[-1]}")
    return ran.stdout.strip()
