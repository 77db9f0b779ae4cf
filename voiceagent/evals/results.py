"""Results of an eval: runs by scenario, as JSON and as JUnit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any
from xml.etree import ElementTree

from voiceagent.evals.judge import Verdict
from voiceagent.evals.record import CallRecord, Failure
from voiceagent.validation.errors import CommandFailed

FORMAT = 1
"""Version of the JSON."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a scenario.

    seed: of the caller's random choices. waits_s: from the end of each line to the agent's voice. verdicts,
    second_verdicts: of the judges. call: the record as JSON, None if the call could not be made.
    """

    scenario: str
    seed: int
    failures: tuple[Failure, ...]
    waits_s: tuple[float, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    second_verdicts: tuple[Verdict, ...] = ()
    seconds: float = 0.0
    processor_s: float = 0.0
    call: Mapping[str, Any] | None = None

    @property
    def passed(self) -> bool:
        """True if everything held."""
        return not self.failures

    @property
    def mean_wait_s(self) -> float | None:
        """The mean wait; None without an answer, and in a typed call."""
        return fmean(self.waits_s) if self.waits_s else None


def run_of(
    scenario: str,
    seed: int,
    call: CallRecord,
    failures: Sequence[Failure],
    verdicts: Sequence[Verdict] = (),
    second_verdicts: Sequence[Verdict] = (),
) -> Run:
    waits = tuple(wait_s for _, wait_s in call.waits() if wait_s is not None) if call.spoken else ()
    judged = (tuple(verdicts), tuple(second_verdicts))
    return Run(
        scenario, seed, tuple(failures), waits, *judged, call.seconds, call.processor_s, call.as_json()
    )


@dataclass(frozen=True, slots=True)
class Results:
    """All runs of one configuration. name: of the configuration. wall_s: real time of all runs.

    began_at: Unix seconds. folder: of the scenarios. revision: git revision of the configuration, "" if it is
    not in a repository. typed: without speech. planned: number of runs, if the eval was stopped before all
    were made; else 0.
    """

    name: str
    runs: tuple[Run, ...]
    wall_s: float = 0.0
    began_at: float = 0.0
    folder: str = ""
    revision: str = ""
    typed: bool = False
    planned: int = 0
    scenarios: Mapping[str, tuple[Run, ...]] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Group the runs."""
        names = sorted({run.scenario for run in self.runs})
        grouped = {name: tuple(run for run in self.runs if run.scenario == name) for name in names}
        object.__setattr__(self, "scenarios", grouped)

    @property
    def stopped_after(self) -> str:
        """Number of calls after which the eval was stopped, such as "37 of 300 calls"; "" if it was not."""
        return f"{len(self.runs)} of {self.planned} calls" if self.planned else ""

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "name": self.name,
            "wall_s": round(self.wall_s, 3),
            "began_at": self.began_at,
            "folder": self.folder,
            "revision": self.revision,
            "typed": self.typed,
            "planned": self.planned,
            "runs": [asdict(run) | {"passed": run.passed} for run in self.runs],
        }


def read_results(path: Path) -> Results:
    """Read results that were written as JSON. Raises CommandFailed."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError(f"format is {document['format']!r}; allowed: {FORMAT}")
        runs = tuple(_run(one) for one in document["runs"])
        later = ("began_at", "folder", "revision", "typed", "planned")  # keys that old files lack
        about = {key: document[key] for key in later if key in document}
        return Results(document["name"], runs, document["wall_s"], **about)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{path}: no results of an eval ({type(error).__name__}: {error})"
        raise CommandFailed(f"{message}; allowed: a file that `--json` has written") from error


def _run(document: Mapping[str, Any]) -> Run:
    given = {key: value for key, value in document.items() if key != "passed"}
    return Run(
        **given
        | {
            "failures": tuple(Failure(**one) for one in document["failures"]),
            "waits_s": tuple(document["waits_s"]),
            "verdicts": tuple(Verdict(**one) for one in document["verdicts"]),
            "second_verdicts": tuple(Verdict(**one) for one in document["second_verdicts"]),
        }
    )


def junit(results: Results) -> str:
    """Return the results as JUnit's XML: a test case for each run."""
    failed = sum(not run.passed for run in results.runs)
    attributes = {"name": results.name, "tests": str(len(results.runs)), "failures": str(failed)}
    suite = ElementTree.Element("testsuite", attributes | {"time": f"{results.wall_s:.3f}"})
    for run in results.runs:
        case = ElementTree.SubElement(
            suite, "testcase", classname=run.scenario, name=f"run {run.seed}", time=f"{run.seconds:.3f}"
        )
        if run.failures:
            failure = ElementTree.SubElement(case, "failure", message=_clean(run.failures[0].reason))
            failure.text = _clean("\n".join(one.reason for one in run.failures))
    if results.stopped_after:
        ElementTree.SubElement(suite, "system-err").text = f"stopped after {results.stopped_after}"
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _clean(text: str) -> str:
    """Return a text without characters that XML 1.0 does not allow."""
    return "".join(
        one
        for one in text
        if one in "\t\n\r" or " " <= one <= "\ud7ff" or (one >= "\ue000" and one not in "\ufffe\uffff")
    )
