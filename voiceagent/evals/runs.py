"""One run of a scenario: a call, its checks, and its judges."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from audio.recognizers import RecognizerError
from audio.synthesizers import SynthesizerError
from llmcore.engine import LlmError
from voiceagent.evals.callable_agent import CallableAgent
from voiceagent.evals.caller import CallerError
from voiceagent.evals.checks import failures
from voiceagent.evals.judge import Verdict, ask
from voiceagent.evals.record import Failure
from voiceagent.evals.results import Run, run_of
from voiceagent.evals.scenario import Scenario

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


async def run_once(agent: CallableAgent, scenario: Scenario, seed: int) -> Run:
    """Make one run. A call that cannot be made is a failed run."""
    began_s = time.thread_time()
    try:
        call = await agent.call(scenario, seed)
    except (CallerError, AssertionError, *_ENGINE_ERRORS) as error:
        return not_made(scenario.name, seed, str(error), time.thread_time() - began_s)
    except Exception as error:  # user code, such as an agent's __init__; the other runs must not be lost
        reason = f"{type(error).__name__}: {error}"
        return not_made(scenario.name, seed, reason, time.thread_time() - began_s)
    found = failures(scenario, call)
    verdicts: list[list[Verdict]] = []
    for judge in agent.judges:
        verdicts.append([await ask(judge, question, call) for question in scenario.file.expect.judge])
    found += judged(verdicts)
    return run_of(scenario.name, seed, call, found, *verdicts)


def not_made(scenario: str, seed: int, reason: str, processor_s: float = 0.0) -> Run:
    """Return the failed run of a call that could not be made."""
    failure = Failure(f"the call could not be made: {reason}")
    return Run(scenario, seed, (failure,), processor_s=processor_s)


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
