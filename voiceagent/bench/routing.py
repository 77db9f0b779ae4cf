"""`voiceagent bench routing`: two LLMs of a configuration, alone and with routing.

Both are started once, and each way answers the same questions in turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from llmcore.engine import Llm, LlmError, Message, Request
from llmcore.policies.learned_routing import Sample, learn
from llmcore.policies.routing import Rules, route
from voiceagent.agents.load import beginning_of
from voiceagent.bench.gate.load import MAX_TOKENS, alone, usage
from voiceagent.bench.material import LabelledQuestion
from voiceagent.bench.scoring import check_judge, judge
from voiceagent.config.tables import Config
from voiceagent.conversation.latency import percentile
from voiceagent.server.engine_building import build_engines
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed, reason_of

LARGE, SMALL, RULES, LEARNED = "large", "small", "rules", "learned"
"""Ways: one LLM for all turns, or routing."""
BLOCK = 20
"""Questions per way before the next way's turn: a machine's speed varies."""
Way = Callable[[Request], Llm]


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a measurement.

    questions: the set. learn: file for a router trained on every other question; None trains none. max_loss:
    percentage points of turns that routing may cost. calls: concurrent ones.
    """

    questions: Sequence[LabelledQuestion]
    learn: Path | None = None
    max_loss: float = 1.0
    calls: int = 4


@dataclass(slots=True)
class Asked:
    """Results of one way, an item for each question. Seconds; cpu_s: CPU time in total."""

    right: list[bool] = field(default_factory=list)
    ttft_s: list[float] = field(default_factory=list)
    response_s: list[float] = field(default_factory=list)
    cpu_s: float = 0.0


def bench_routing(config: Config, plan: Plan) -> None:
    """Measure each way over the questions not used for training, and print the results.

    Raises CommandFailed, ConfigError.
    """
    if config.small_llm is None:
        raise CommandFailed(f"{config.source}: there is no [small_llm]; allowed: one beside [llm]")
    check_judge(plan.questions, judged_by_llm=False)
    configure_log(config.log.format, "error")
    configs = {
        LARGE: config.model_copy(update={"small_llm": None}),
        SMALL: config.model_copy(update={"small_llm": None, "llm": config.small_llm}),
    }
    llms = {name: build_engines(alone(each)).llm for name, each in configs.items()}
    found, shares = asyncio.run(_measure(config, llms, plan))
    Console().print(_table(found, shares))


async def _measure(
    config: Config, llms: dict[str, Llm], plan: Plan
) -> tuple[dict[str, Asked], dict[str, float]]:
    """Return the results of each way, and the share of turns for the small LLM. Raises CommandFailed."""
    prompt, _ = beginning_of(config.agent, config.instructions(), config.source)
    system = Message("system", prompt)
    taught = [_request(system, labelled) for labelled in plan.questions[::2]]
    measured = [_request(system, labelled) for labelled in plan.questions[1::2]]
    try:
        async with asyncio.TaskGroup() as group:
            for llm in llms.values():
                group.create_task(llm.start())
        with Progress(console=Console(stderr=True), transient=True) as progress:
            if plan.learn is not None:
                config = _learned(config, plan, await _teach(llms, plan, taught, progress))
            ways = dict(_ways(config, llms))
            found = {name: Asked() for name in ways}
            bar = progress.add_task("measuring", total=len(measured) * len(ways))
            for first in range(0, len(measured), BLOCK):
                for name in Random(first).sample(list(ways), len(ways)):
                    part = slice(first, first + BLOCK)
                    await _ask(
                        ways[name], measured[part], plan.questions[1::2][part], plan.calls, found[name]
                    )
                    progress.advance(bar, len(measured[part]))
    except* LlmError as failures:
        raise CommandFailed(str(failures.exceptions[0])) from failures
    finally:
        for llm in llms.values():
            await llm.close()
    shares = {
        n: sum(way(each) is llms[SMALL] for each in measured) / len(measured) for n, way in ways.items()
    }
    return found, shares


async def _teach(
    llms: dict[str, Llm], plan: Plan, requests: Sequence[Request], progress: Progress
) -> list[Sample]:
    """Return training samples: which LLM answers which request correctly."""
    bar, asked = progress.add_task("learning", total=2), dict[str, Asked]()
    for name, llm in llms.items():
        asked[name] = Asked()
        await _ask(partial(_only, llm), requests, plan.questions[::2], plan.calls, asked[name])
        progress.advance(bar)
    return [
        Sample(request.messages, small, large)
        for request, small, large in zip(requests, asked[SMALL].right, asked[LARGE].right, strict=True)
    ]


def _learned(config: Config, plan: Plan, samples: Sequence[Sample]) -> Config:
    """Train a router, write it to the plan's file, return a configuration with it. Raises CommandFailed."""
    assert plan.learn is not None
    try:
        plan.learn.write_text(learn(samples, plan.max_loss / 100).to_json(), encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{plan.learn}: {reason_of(error)}") from error
    routing = config.routing.model_copy(update={"learned": str(plan.learn.absolute())})
    return config.model_copy(update={"routing": routing})


def _ways(config: Config, llms: dict[str, Llm]) -> Iterator[tuple[str, Way]]:
    """Yield each LLM alone, and the configured ways of routing."""
    yield LARGE, partial(_only, llms[LARGE])
    yield SMALL, partial(_only, llms[SMALL])
    rules = config.routing.to_rules(config.source)
    if rules.patterns:
        yield RULES, partial(_chosen, replace(rules, learned=None), llms)
    if rules.learned is not None:
        yield LEARNED, partial(_chosen, replace(rules, patterns=()), llms)


def _only(llm: Llm, request: Request) -> Llm:
    return llm


def _chosen(rules: Rules, llms: dict[str, Llm], request: Request) -> Llm:
    return llms[SMALL if route(request, rules, overloaded=False) == "small" else LARGE]


def _request(system: Message, labelled: LabelledQuestion) -> Request:
    asked = (Message(message.role, message.content) for message in labelled.messages)
    return Request((system, *asked), max_tokens=MAX_TOKENS)


async def _ask(
    way: Way, requests: Sequence[Request], labels: Sequence[LabelledQuestion], calls: int, figures: Asked
) -> None:
    """Ask the requests with `calls` concurrent callers. Raises LlmError."""
    right, numbers, before_s = [False] * len(requests), iter(range(len(requests))), usage().cpu_s

    async def caller() -> None:
        for number in numbers:
            said = await _answer(way(requests[number]), requests[number], figures)
            right[number] = judge(said, labels[number].must, labels[number].must_not).right

    async with asyncio.TaskGroup() as group:
        for _ in range(calls):
            group.create_task(caller())
    figures.right += right
    figures.cpu_s += usage().cpu_s - before_s


async def _answer(llm: Llm, request: Request, figures: Asked) -> str:
    asked_s, first_s, said = time.monotonic(), 0.0, ""
    async with aclosing(llm.generate(request)) as deltas:
        async for delta in deltas:
            if delta.text:
                first_s, said = first_s or time.monotonic(), said + delta.text
    figures.ttft_s.append((first_s or time.monotonic()) - asked_s)
    figures.response_s.append(time.monotonic() - asked_s)
    return said


def _table(found: dict[str, Asked], shares: dict[str, float]) -> Table:
    """Return a table with a column for each way; times per turn, and relative to the large LLM alone."""
    table = Table("", *found)
    whole = found[LARGE]
    table.add_row("to the small, %", *(f"{shares[name] * 100:.1f}" for name in found))
    table.add_row("right, %", *(f"{sum(way.right) / len(way.right) * 100:.1f}" for way in found.values()))

    def times(title: str, value: dict[str, float]) -> None:
        first = value[LARGE]
        ratios = [f"{each:.1f} ({each / first:.2f}x)" for name, each in value.items() if name != LARGE]
        table.add_row(title, f"{first:.1f}", *ratios)

    for title, part, rank in (
        ("TTFT p50", "ttft_s", 50),
        ("TTFT p95", "ttft_s", 95),
        ("response p50", "response_s", 50),
    ):
        times(
            f"{title}, ms", {name: percentile(getattr(way, part), rank) * 1000 for name, way in found.items()}
        )
    count = len(whole.right)
    times("processor, ms", {name: way.cpu_s / count * 1000 for name, way in found.items()})
    return table
