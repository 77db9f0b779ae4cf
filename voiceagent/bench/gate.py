"""`voiceagent gate`: whether the LLM still answers rightly and in time, against limits in a file."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console
from rich.progress import track
from rich.table import Table

from llmcore.engine import Llm, LlmError, Message, Request
from voiceagent.bench.material import LabelledQuestion, Material
from voiceagent.bench.scoring import judge
from voiceagent.config.tables import Config
from voiceagent.conversation.latency import percentile
from voiceagent.server.startup import build_engines
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed
from voiceagent.validation.section import check

MAX_TOKENS = 96
"""Of an answer; the longest of the labelled set has about 50."""

Limit = Annotated[float, Field(ge=0)]


class Baseline(BaseModel):
    """The file: rows that must not fall below a figure, and rows that must not rise above one."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    min: dict[str, Limit] = {}
    max: dict[str, Limit] = {}


@dataclass(slots=True)
class Answered:
    """What a run over the labelled set came to; times in milliseconds."""

    right: list[bool] = field(default_factory=list)
    declined: list[bool] = field(default_factory=list)
    ttft: list[float] = field(default_factory=list)
    itl: list[float] = field(default_factory=list)

    def rows(self) -> dict[str, float]:
        """The rows that limits can name: shares of right answers, and percentiles."""
        rows = {}
        for name, verdicts in (("right answers %", self.right), ("rightly declined %", self.declined)):
            if verdicts:
                rows[name] = 100 * sum(verdicts) / len(verdicts)
        for name, values in (("TTFT", self.ttft), ("ITL", self.itl)):
            for rank in (50, 95, 99) if values else ():
                rows[f"{name} p{rank} ms"] = percentile(values, rank)
        return rows


def regressed(rows: Mapping[str, float], baseline: Baseline) -> list[str]:
    """The rows beyond their limits, each in words. Raises CommandFailed for a limit on no row."""
    for name in (*baseline.min, *baseline.max):
        if name not in rows:
            raise CommandFailed(f"the baseline limits {name!r}; allowed: {', '.join(rows)}")
    low = [
        f"{name} is {rows[name]:.1f}, at least {limit:.1f} is wanted"
        for name, limit in baseline.min.items()
        if rows[name] < limit
    ]
    high = [
        f"{name} is {rows[name]:.1f}, at most {limit:.1f} is wanted"
        for name, limit in baseline.max.items()
        if rows[name] > limit
    ]
    return low + high


def gate(config: Config, material: Material, baseline: Path, count: int | None) -> None:
    """Ask the configured LLM so many of the labelled questions, or all, and print the rows.

    Raises CommandFailed with the rows that regressed, ConfigError.
    """
    configure_log(config.log.format, "error")
    limits = read_baseline(baseline)
    questions = _spread(material.labelled(), count)
    rows = asyncio.run(_ask_all(build_engines(config).llm, config.instructions(), questions)).rows()
    _print(rows, limits)
    if failures := regressed(rows, limits):
        raise CommandFailed("; ".join(failures))


def read_baseline(path: Path) -> Baseline:
    """The limits in a JSON file. Raises CommandFailed, ConfigError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{path}: cannot be read as JSON: {error}") from error
    return check(Baseline, document, path)


def _spread(questions: Sequence[LabelledQuestion], count: int | None) -> Sequence[LabelledQuestion]:
    """So many questions, taken evenly from the whole set, in which neighbours are alike."""
    count = len(questions) if count is None else min(count, len(questions))
    return [questions[index * len(questions) // count] for index in range(count)]


async def _ask_all(llm: Llm, system: str, questions: Sequence[LabelledQuestion]) -> Answered:
    answered = Answered()
    try:
        await llm.start()
        await _ask(llm, Request((Message("system", system), Message("user", "Hello."))), Answered())
        for labelled in track(questions, "questions", console=Console(stderr=True), transient=True):
            asked = [Message(message.role, message.content) for message in labelled.messages]
            messages = (Message("system", system), *asked)
            said = await _ask(llm, Request(messages, max_tokens=MAX_TOKENS), answered)
            verdicts = answered.declined if labelled.outside else answered.right
            verdicts.append(judge(said, labelled.must, labelled.must_not).right)
    except LlmError as error:
        raise CommandFailed(f"the LLM failed: {error}") from error
    finally:
        await llm.close()
    return answered


async def _ask(llm: Llm, request: Request, answered: Answered) -> str:
    said, latest_s = "", time.monotonic()
    async with aclosing(llm.generate(request)) as deltas:
        async for delta in deltas:
            if delta.text:
                now_s = time.monotonic()
                (answered.itl if said else answered.ttft).append((now_s - latest_s) * 1000)
                said, latest_s = said + delta.text, now_s
    return said


def _print(rows: Mapping[str, float], limits: Baseline) -> None:
    table = Table("", "measured", "limit")
    for name, value in rows.items():
        limit = f"at least {limits.min[name]:.1f}" if name in limits.min else ""
        limit = f"at most {limits.max[name]:.1f}" if name in limits.max else limit
        table.add_row(name, f"{value:.1f}", limit)
    Console().print(table)
