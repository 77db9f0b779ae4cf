"""Processes of an eval: those that die, and what is left of an eval that is stopped."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any
from xml.etree import ElementTree

import pytest

from llmcore.engine import Delta, Request, Usage
from voiceagent.agents import Agent
from voiceagent.cli.main import main
from voiceagent.evals import command
from voiceagent.evals.command import Outputs, run_eval
from voiceagent.evals.record import Failure
from voiceagent.evals.results import Run, read_results
from voiceagent.evals.run_processes import _end_with_parent, _Task, _Worker, make_runs
from voiceagent.evals.runs import Plan
from voiceagent.validation.errors import CommandFailed

CONFIG = f"""
[agent]
python = "{__name__}:NAME"
[recognizer]
engine = "people.offline:NoWords"
[llm]
engine = "{__name__}:Polite"
[synthesizer]
engine = "espeak"
"""


class Shop(Agent):
    """An agent of which nothing is asked."""

    instructions = "You sell pizza."


class DiesOnce(Shop):
    """An agent that ends its process in its second call: it is made once before the first."""

    made = 0

    def __init__(self) -> None:
        DiesOnce.made += 1
        if DiesOnce.made == 3 and not os.access("died", os.F_OK):
            Path("died").touch()
            os._exit(3)


class GetsSignals(Shop):
    """An agent in whose calls its process gets the signals that a terminal and `timeout` send to all."""

    async def on_call_began(self) -> None:
        """Send them to this process."""
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)


class Polite:
    """An LLM with one answer."""

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def prefill(self, request: Request) -> None:
        """Do nothing."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        yield Delta("Good day.")
        yield Delta(finish_reason="stop", usage=Usage(1, 0, 1))


class NoSpace(Polite):
    """An LLM that cannot be started any more once a process has died: the disk is full."""

    async def start(self) -> None:
        if os.access("died", os.F_OK):
            raise OSError(28, "No space left on device")


class NeverCloses(Polite):
    """An LLM whose end has to be waited for."""

    async def close(self) -> None:
        time.sleep(60)  # noqa: ASYNC251  as a library does that hangs


def plan_of(folder: Path, agent: type[Agent], runs: int) -> Plan:
    (folder / "shop.toml").write_text(CONFIG.replace("NAME", agent.__name__))
    (folder / "evals").mkdir()
    for name in ("hello", "order"):
        (folder / f"evals/{name}.toml").write_text('script = ["Hello."]\n')
    return Plan(folder / "evals", folder / "shop.toml", {}, runs=runs, typed=True)


def test_a_process_that_dies_fails_the_run_in_progress_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = list(make_runs(plan_of(tmp_path, DiesOnce, runs=3)))
    assert [(run.scenario, run.seed, run.passed) for run in runs] == [
        ("hello", 1, True),
        ("hello", 2, False),
        ("hello", 3, True),
        *(("order", seed, True) for seed in (1, 2, 3)),
    ]
    assert runs[1].failures[0].reason == "the call could not be made: its process ended with exit code 3"


def test_signals_to_all_processes_leave_a_process_of_runs_to_its_parent(tmp_path: Path) -> None:
    assert all(run.passed for run in make_runs(plan_of(tmp_path, GetsSignals, runs=2)))


def test_ctrl_c_ends_processes_that_close_their_engines(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, Shop, runs=1)
    plan.config.write_text(plan.config.read_text().replace(":Polite", ":NeverCloses"))
    others = set(multiprocessing.active_children())
    runs = make_runs(plan)
    assert all(next(runs).passed for _ in range(2))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(runs)
    finally:
        signal.signal(signal.SIGALRM, before)
    for process in set(multiprocessing.active_children()) - others:
        process.join(30.0)
        assert process.exitcode == -signal.SIGKILL


def test_a_task_for_a_process_that_has_just_died_is_one_that_it_lost(tmp_path: Path) -> None:
    worker = _Worker(plan_of(tmp_path, Shop, runs=1))
    worker.kill()
    assert worker.cause_of_death() == "was killed by SIGKILL"
    worker.give(_Task("hello", 1))
    assert (worker.scenario, worker.seed) == ("hello", 1)
    worker.finish()
    with pytest.raises((EOFError, OSError)):
        worker.receive()


def outputs_in(folder: Path) -> Outputs:
    return Outputs(folder / "out.json", folder / "out.xml", folder / "all")


def check_written(folder: Path, runs: int, planned: int) -> None:
    """Assert that all outputs have the results of an eval that was stopped."""
    (kept,) = (folder / "all").glob("*.json")
    for path in (folder / "out.json", kept):
        results = read_results(path)
        assert (len(results.runs), results.planned) == (runs, planned)
    suite = ElementTree.parse(folder / "out.xml").getroot()
    assert suite.get("tests") == str(runs)
    assert suite.findtext("system-err") == f"stopped after {runs} of {planned} calls"


def test_results_of_what_an_eval_is_compared_with_are_not_written_as_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: Plan) -> Iterator[Run]:
        yield Run("hello", 1, ())
        raise KeyboardInterrupt

    plan = plan_of(tmp_path, Shop, runs=3)
    monkeypatch.setattr(command, "make_runs", interrupted)
    with pytest.raises(KeyboardInterrupt, match="interrupted after 1 of 6 calls"):
        run_eval(plan, str(plan.config), outputs_in(tmp_path))
    assert "hello" in capsys.readouterr().out
    assert not (tmp_path / "out.json").exists()
    assert not (tmp_path / "out.xml").exists()
    assert list((tmp_path / "all").glob("*.json")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_results_until_ctrl_c_or_sigterm_are_printed_and_written(
    number: signal.Signals,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(_: Plan) -> Iterator[Run]:
        yield Run("hello", 2, ())
        yield Run("hello", 1, (Failure("no pizza"),))
        signal.raise_signal(number)

    plan = plan_of(tmp_path, Shop, runs=3)
    monkeypatch.setattr(command, "make_runs", interrupted)
    words = [
        f"--json={tmp_path / 'out.json'}",
        f"--junit={tmp_path / 'out.xml'}",
        f"--results={tmp_path / 'all'}",
    ]
    status = main(["eval", str(plan.folder), f"--config={plan.config}", "--runs=3", "--typed", *words])
    printed = capsys.readouterr()
    assert (status, printed.err.strip()) == (130, "voiceagent: interrupted after 2 of 6 calls")
    assert "1 of 2" in printed.out and "hello, run 1: no pizza" in printed.out
    check_written(tmp_path, runs=2, planned=6)


def test_ctrl_c_before_the_first_call_is_over_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: Plan) -> Iterator[Run]:
        raise KeyboardInterrupt
        yield Run("hello", 1, ())  # a generator

    plan = plan_of(tmp_path, Shop, runs=3)
    monkeypatch.setattr(command, "make_runs", interrupted)
    words = [f"--config={plan.config}", f"--results={tmp_path / 'all'}", "--typed"]
    assert main(["eval", str(plan.folder), *words]) == 130
    assert capsys.readouterr().err.strip() == "voiceagent: interrupted"
    assert not list((tmp_path / "all").glob("*.json"))


def test_results_until_engines_cannot_start_any_more_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = plan_of(tmp_path, DiesOnce, runs=3)
    plan.config.write_text(plan.config.read_text().replace(":Polite", ":NoSpace"))
    reason = r"stopped after 2 of 6 calls: cannot make calls: OSError: \[Errno 28\] No space left"
    with pytest.raises(CommandFailed, match=reason):
        run_eval(plan, "", outputs_in(tmp_path))
    check_written(tmp_path, runs=2, planned=6)


def test_a_file_that_cannot_be_written_costs_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(tmp_path, Shop, runs=1)
    outputs = replace(outputs_in(tmp_path), json=Path("/dev/full"))
    with pytest.raises(CommandFailed, match=r"/dev/full: cannot be written .*no space left"):
        run_eval(plan, "", outputs)
    assert "2 of 2" in capsys.readouterr().out
    assert ElementTree.parse(tmp_path / "out.xml").getroot().get("tests") == "2"
    assert len(list((tmp_path / "all").glob("*.json"))) == 1


def _wait_for_parent(pids: Any) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    pids.put(os.getpid())
    time.sleep(60)


def _be_parent(pids: Any) -> None:
    child = multiprocessing.get_context("spawn").Process(target=_wait_for_parent, args=(pids,))
    child.start()
    child.join()


def test_a_process_of_runs_ends_with_a_parent_that_was_killed() -> None:
    context = multiprocessing.get_context("spawn")
    pids = context.SimpleQueue()
    parent = context.Process(target=_be_parent, args=(pids,))
    parent.start()
    child = os.pidfd_open(pids.get())
    try:
        os.kill(parent.pid or 0, signal.SIGKILL)
        assert select.select([child], [], [], 30.0)[0], "the process goes on"
    finally:
        os.close(child)
        parent.join()
