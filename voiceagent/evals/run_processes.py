"""Makes the runs of all scenarios, in parallel processes.

A process has engines of its own and makes all runs of a scenario: what was spoken once is not synthesized
again. If code of the agent ends a process, the run in progress fails, and another process makes the rest.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import NamedTuple

from voiceagent.config.tables import load
from voiceagent.evals.callable_agent import callable_agent
from voiceagent.evals.folder import read_scenarios, read_settings
from voiceagent.evals.results import Run
from voiceagent.evals.runs import Plan, not_made, run_once
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.processes.threads import hold_threads
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed, ConfigError


class _Task(NamedTuple):
    """Runs of a scenario, from one seed on."""

    scenario: str
    first_seed: int


Message = Run | Exception | None
"""From a process: a run, the error for which it ends, or None when it is ready for a task."""


def make_runs(plan: Plan) -> Iterator[Run]:
    """Make all runs, and yield each when it is made. Raises CommandFailed, ConfigError."""
    tasks = deque(_Task(scenario.name, 1) for scenario in read_scenarios(plan.folder, plan.only))
    workers = [_Worker(plan) for _ in range(min(plan.processes, len(tasks)))]
    finishing: list[_Worker] = []
    try:
        while workers:
            for worker in _heard_from(workers):
                try:
                    message = worker.receive()
                except (EOFError, OSError):
                    workers.remove(worker)
                    yield from _run_lost(worker, plan, tasks)
                    if tasks:
                        workers.append(_Worker(plan))
                    continue
                if isinstance(message, Exception):
                    raise message
                if message is not None:
                    yield message
                elif tasks:
                    worker.give(tasks.popleft())
                else:
                    workers.remove(worker)
                    finishing.append(worker)
                    worker.finish()
        for worker in finishing:
            worker.process.join()
    finally:
        for worker in (*workers, *finishing):
            worker.kill()


def _run_lost(worker: _Worker, plan: Plan, tasks: deque[_Task]) -> Iterator[Run]:
    """Yield the failed run of a process that died, and add its other runs to the tasks.

    Raises CommandFailed for a process that died before its first call.
    """
    reason = worker.cause_of_death()
    if worker.seed == 0:
        raise CommandFailed(f"cannot make calls: a process of the eval {reason} at its start")
    if worker.seed <= plan.runs:
        yield not_made(worker.scenario, worker.seed, f"its process {reason}")
    if worker.seed < plan.runs:
        tasks.appendleft(_Task(worker.scenario, worker.seed + 1))


class _Worker:
    """A process of runs, seen from its parent. scenario, seed: of the run in progress; 0 before the first."""

    def __init__(self, plan: Plan) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(plan, theirs), daemon=True)
        self.process.start()
        theirs.close()  # so that the connection ends with the process
        self.scenario, self.seed = "", 0

    def receive(self) -> Message:
        """Return the next message. Raises EOFError or OSError if the process died."""
        if not self.connection.poll():
            raise EOFError
        message: Message = self.connection.recv()
        self.seed += isinstance(message, Run)
        return message

    def give(self, task: _Task) -> None:
        """Let the process make the runs of a scenario. If it has just died, `receive` says so."""
        self.scenario, self.seed = task
        with suppress(OSError):
            self.connection.send(task)

    def finish(self) -> None:
        """Let the process close its engines and end."""
        with suppress(OSError):
            self.connection.send(None)

    def cause_of_death(self) -> str:
        """Return how the process died, as a predicate."""
        self.process.join()
        code = self.process.exitcode or 0
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def kill(self) -> None:
        """End the process now."""
        self.process.kill()


def _heard_from(workers: list[_Worker]) -> list[_Worker]:
    """Wait for messages and deaths; return the workers that have one."""
    ready = wait([end for one in workers for end in (one.connection, one.process.sentinel)])
    return [one for one in workers if one.connection in ready or one.process.sentinel in ready]


def _work(plan: Plan, connection: Connection) -> None:
    """Make the runs of the scenarios that this process gets."""
    # a terminal sends Ctrl-C to all processes, `timeout` SIGTERM: the parent ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: None)  # not ignored, as engines' processes would inherit that
    Thread(target=_end_with_parent, name="parent", daemon=True).start()
    hold_threads()
    configure_log("console", "error")
    try:
        settings = read_settings(plan.folder)
        run_virtually(_serve(plan, connection), settings.times.recognition_s)
    except (CommandFailed, ConfigError) as error:
        connection.send(error)
    except Exception as error:  # such as of an engine
        connection.send(CommandFailed(f"cannot make calls: {type(error).__name__}: {error}"))


def _end_with_parent() -> None:
    """End this process when its parent has ended: one that is killed cannot end it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


async def _serve(plan: Plan, connection: Connection) -> None:
    config = load(plan.config, plan.changes)
    scenarios = {scenario.name: scenario for scenario in read_scenarios(plan.folder, plan.only)}
    async with callable_agent(
        config, read_settings(plan.folder), plan.folder, plan.typed, plan.calls
    ) as agent:
        gc.collect()
        gc.freeze()  # the loaded engines need no scanning
        connection.send(None)
        while (task := connection.recv()) is not None:
            for seed in range(task.first_seed, plan.runs + 1):
                connection.send(await run_once(agent, scenarios[task.scenario], seed))
            connection.send(None)
