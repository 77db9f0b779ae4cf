"""Makes the runs of all scenarios, in parallel processes.

A process has engines of its own and makes all runs of a scenario: what was spoken once is not
synthesized again.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Empty
from threading import Thread
from typing import Any

from audio.recognizers import RecognizerError
from audio.synthesizers import SynthesizerError
from llmcore.engine import LlmError
from voiceagent.bench.people.virtual_time import run_virtually
from voiceagent.config.tables import load
from voiceagent.evals.callable_agent import CallableAgent, callable_agent
from voiceagent.evals.caller import CallerError
from voiceagent.evals.checks import failures
from voiceagent.evals.folder import read_scenarios, read_settings
from voiceagent.evals.judge import Verdict, ask
from voiceagent.evals.record import Failure
from voiceagent.evals.results import Run, run_of
from voiceagent.evals.scenario import Scenario
from voiceagent.processes.threads import hold_threads
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed, ConfigError

_POLL_S = 1.0
_ENGINE_ERRORS = (RecognizerError, SynthesizerError, LlmError)


@dataclass(frozen=True, slots=True)
class Plan:
    """An eval. changes: keys of the configuration that differ from the file, as `load` takes them. only:
    names or patterns of scenarios. calls: folder in which calls by sound are kept, None for none.
    """

    folder: Path
    config: Path
    changes: dict[str, str]
    only: tuple[str, ...] = ()
    runs: int = 10
    typed: bool = False
    processes: int = 1
    calls: Path | None = None


def make_runs(plan: Plan, done: Callable[[Run], None] = lambda run: None) -> list[Run]:
    """Make all runs and return them in order. done: called after each. Raises CommandFailed, ConfigError."""
    names = [scenario.name for scenario in read_scenarios(plan.folder, plan.only)]
    context = multiprocessing.get_context("spawn")
    tasks, results = context.SimpleQueue(), context.Queue()
    count = min(plan.processes, len(names))
    for name in names:
        tasks.put(name)
    for _ in range(count):
        tasks.put("")  # the end, for each process
    processes = [
        context.Process(target=_work, args=(plan, tasks, results), daemon=True) for _ in range(count)
    ]
    try:
        for process in processes:
            process.start()
        found = []
        for run in _received(results, processes, len(names) * plan.runs):
            found.append(run)
            done(run)
        for process in processes:
            process.join()
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
    return sorted(found, key=lambda run: (run.scenario, run.seed))


def _received(results: Any, processes: Sequence[BaseProcess], count: int) -> Iterator[Run]:
    """Yield the runs as they come. Raises the error of a process."""
    while count:
        try:
            result = results.get(timeout=_POLL_S)
        except Empty:
            if not any(process.is_alive() for process in processes):
                raise CommandFailed("the processes of the eval died; the log says why") from None
            continue
        if isinstance(result, Exception):
            raise result
        count -= 1
        yield result


def _work(plan: Plan, tasks: Any, results: Any) -> None:
    """Make the runs of the scenarios that this process gets."""
    Thread(target=_end_with_parent, name="parent", daemon=True).start()
    hold_threads()
    configure_log("console", "error")
    try:
        settings = read_settings(plan.folder)
        run_virtually(_serve(plan, tasks, results), settings.times.recognition_s)
    except (CommandFailed, ConfigError) as error:
        results.put(error)
    except Exception as error:  # such as of an engine; otherwise the eval would wait for ever
        results.put(CommandFailed(f"cannot make calls: {type(error).__name__}: {error}"))


def _end_with_parent() -> None:
    """End this process when its parent has ended: one that is killed cannot end it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


async def _serve(plan: Plan, tasks: Any, results: Any) -> None:
    config = load(plan.config, plan.changes)
    scenarios = {scenario.name: scenario for scenario in read_scenarios(plan.folder, plan.only)}
    async with callable_agent(
        config, read_settings(plan.folder), plan.folder, plan.typed, plan.calls
    ) as agent:
        gc.collect()
        gc.freeze()  # the loaded engines need no scanning
        while name := tasks.get():
            for seed in range(1, plan.runs + 1):
                results.put(await run_once(agent, scenarios[name], seed))


async def run_once(agent: CallableAgent, scenario: Scenario, seed: int) -> Run:
    """Make one run. A call that cannot be made is a failed run."""
    began_s = time.thread_time()
    try:
        call = await agent.call(scenario, seed)
    except (CallerError, AssertionError, *_ENGINE_ERRORS) as error:
        return _not_made(scenario, seed, str(error), began_s)
    except Exception as error:  # user code, such as an agent's __init__; the other runs must not be lost
        return _not_made(scenario, seed, f"{type(error).__name__}: {error}", began_s)
    found = failures(scenario, call)
    verdicts: list[list[Verdict]] = []
    for judge in agent.judges:
        verdicts.append([await ask(judge, question, call) for question in scenario.file.expect.judge])
    found += judged(verdicts)
    return run_of(scenario.name, seed, call, found, *verdicts)


def _not_made(scenario: Scenario, seed: int, reason: str, began_s: float) -> Run:
    failure = Failure(f"the call could not be made: {reason}")
    return Run(scenario.name, seed, (failure,), processor_s=time.thread_time() - began_s)


def judged(verdicts: Sequence[Sequence[Verdict]]) -> list[Failure]:
    """Return the questions that were not answered with yes by all judges."""
    found = []
    for opinions in zip(*verdicts, strict=True):
        answers = [one.answer for one in opinions]
        if all(answer == "yes" for answer in answers):
            continue
        against = next(one for one in opinions if one.answer != "yes")
        if against.answer is None:
            reason = f"undecided: {against.question} ({against.problem})"
        elif "yes" in answers:
            reason = f"the judges disagree: {against.question} ({against.evidence!r})"
        else:
            reason = f"judged no: {against.question} ({against.evidence!r})"
        found.append(Failure(reason))
    return found
