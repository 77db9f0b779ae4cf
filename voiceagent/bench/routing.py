"""`voiceagent bench routing`: two LLMs of a configuration by themselves, and with the turns shared out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from llmcore.engine import Llm, LlmError, Message, Request
from llmcore.policies.learned_routing import Sample, learn
from llmcore.policies.routing import route
from voiceagent.agents.load import prompt_of
from voiceagent.bench.gate.judging import check_judge
from voiceagent.bench.gate.load import MAX_TOKENS
from voiceagent.bench.gate.usage import usage
from voiceagent.bench.llm_parts import alone
from voiceagent.bench.material import LabelledQuestion
from voiceagent.bench.scoring import judge
from voiceagent.config.tables import Config
from voiceagent.conversation.latency import percentile
from voiceagent.llm.config import LlmEngineConfig
from voiceagent.server.startup import build_engines
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed

LARGE, SMALL, RULES, LEARNED = "large", "small", "rules", "learned"
"""Ways: one LLM always, or the turns shared out."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked. questions: the set. learn: where to write what is learned of every other question of it;
    None learns nothing. max_loss: percentage points of all turns that may be answered wrongly for it.
    calls: at once.
    """

    questions: Sequence[LabelledQuestion]
    learn: Path | None = None
    max_loss: float = 1.0
    calls: int = 4


@dataclass(slots=True)
class Asked:
    """What one way came to; lists have an item for each question. Seconds; cpu_s: processor time of all."""

    right: list[bool] = field(default_factory=list)
    ttft_s: list[float] = field(default_factory=list)
    response_s: list[float] = field(default_factory=list)
    cpu_s: float = 0.0


def bench_routing(config: Config, plan: Plan) -> None:
    """Measure each way over the questions that nothing is learned of, and print them.

    Raises CommandFailed, ConfigError.
    """
    if config.small_llm is None:
        raise CommandFailed(f"{config.source}: there is no [small_llm]; allowed: one beside [llm]")
    check_judge(plan.questions, judged_by_llm=False)
    configure_log(config.log.format, "error")
    taught, measured = plan.questions[::2], plan.questions[1::2]
    with Progress(console=Console(stderr=True), transient=True) as progress:
        found, learned_from = dict[str, Asked](), list[list[bool]]()
        for name, way in _alone(config, config.small_llm):
            first = taught if plan.learn is not None else ()
            before, found[name] = asyncio.run(_ask(name, way, (first, measured), plan.calls, progress))
            learned_from.append(before.right)
        if plan.learn is not None:
            config = _learned(config, plan, taught, learned_from)
        ways = dict(_shared(config))
        for name, way in ways.items():
            _, found[name] = asyncio.run(_ask(name, way, ((), measured), plan.calls, progress))
    shares = {name: _share(way, measured) for name, way in ways.items()}
    Console().print(_table(found, {LARGE: 0.0, SMALL: 1.0} | shares))


def _alone(config: Config, small: LlmEngineConfig) -> Iterator[tuple[str, Config]]:
    """Each LLM by itself."""
    yield LARGE, config.model_copy(update={"small_llm": None})
    yield SMALL, config.model_copy(update={"small_llm": None, "llm": small})


def _shared(config: Config) -> Iterator[tuple[str, Config]]:
    """The ways to share the turns out that are configured."""
    if config.routing.patterns:
        routing = config.routing.model_copy(update={"learned": ""})
        yield RULES, config.model_copy(update={"routing": routing})
    if config.routing.learned:
        routing = config.routing.model_copy(update={"patterns": ()})
        yield LEARNED, config.model_copy(update={"routing": routing})


def _learned(
    config: Config, plan: Plan, taught: Sequence[LabelledQuestion], right: Sequence[Sequence[bool]]
) -> Config:
    """Learn who is right where, write it to the plan's file, and route by it. Raises CommandFailed."""
    large, small = right
    samples = [
        Sample(_messages(labelled), small_right, large_right)
        for labelled, small_right, large_right in zip(taught, small, large, strict=True)
    ]
    assert plan.learn is not None
    try:
        plan.learn.write_text(learn(samples, plan.max_loss / 100).to_json(), encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{plan.learn}: {error}") from error
    routing = config.routing.model_copy(update={"learned": str(plan.learn.absolute())})
    return config.model_copy(update={"routing": routing})


def _messages(labelled: LabelledQuestion) -> tuple[Message, ...]:
    return tuple(Message(message.role, message.content) for message in labelled.messages)


def _share(config: Config, questions: Sequence[LabelledQuestion]) -> float:
    """Part of the questions that the small LLM answers."""
    system = Message("system", prompt_of(config.agent, config.instructions(), config.source))
    rules = config.routing.to_rules(config.source)
    routes = [route(Request((system, *_messages(each))), rules, pressed=False) for each in questions]
    return routes.count("small") / len(routes)


async def _ask(
    name: str,
    config: Config,
    sets: tuple[Sequence[LabelledQuestion], Sequence[LabelledQuestion]],
    calls: int,
    progress: Progress,
) -> tuple[Asked, Asked]:
    """Ask both sets of a started LLM, one after the other, by so many callers. Raises CommandFailed."""
    llm = build_engines(alone(config)).llm
    system = Message("system", prompt_of(config.agent, config.instructions(), config.source))
    bar = progress.add_task(name, total=sum(map(len, sets)))
    try:
        await llm.start()
        for hello in ("Hello.", "Thank you, goodbye."):  # both LLMs, where turns are shared out
            await _answer(llm, Request((system, Message("user", hello)), max_tokens=MAX_TOKENS), Asked())
        asked = []
        for questions in sets:
            asked.append(Asked([False] * len(questions)))
            before_s, numbers = usage().cpu_s, iter(range(len(questions)))

            async def caller(
                numbers: Iterator[int] = numbers,
                questions: Sequence[LabelledQuestion] = questions,
                figures: Asked = asked[-1],
            ) -> None:
                for number in numbers:
                    labelled = questions[number]
                    request = Request((system, *_messages(labelled)), max_tokens=MAX_TOKENS)
                    said = await _answer(llm, request, figures)
                    figures.right[number] = judge(said, labelled.must, labelled.must_not).right
                    progress.advance(bar)

            await asyncio.gather(*(caller() for _ in range(calls)))
            asked[-1].cpu_s = usage().cpu_s - before_s
    except LlmError as error:
        raise CommandFailed(f"{name}: {error}") from error
    finally:
        await llm.close()
    first, second = asked
    return first, second


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
    """A column for each way; times of a turn, and in those of the large LLM alone."""
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
