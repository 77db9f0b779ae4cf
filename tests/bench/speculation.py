"""Measure costs and gains of speculation: the same load in turn on an engine with it and on one without.

.venv/bin/python tests/bench/speculation.py configs/vllm-cpu.toml draft_model,ngram,suffix,eagle3 20 [HISTORY]

In turn, as a shared machine is not as fast in one minute as in the next: `bench_llm.py --compare speculation`
measures one variant after the other, and two that do the same differ there by a fifth. A round is four calls
that ask at once, each with HISTORY tokens behind it (1,200), prefilled while their callers spoke.
"suffix" wants the package arctic-inference; "eagle3" a head for the model, which is not shipped:
`python -m examples.hotel_model.train --eagle3 build/eagle3` makes it in some minutes.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psutil  # type: ignore[import-untyped]
from llm_load.calls import MAX_TOKENS
from llm_load.replay import Replay
from shaped_model import device_settings

from llmcore.engine import FREE_DRAFT, DraftUse, Message, Request
from llmcore.engines.vllm_engine import VllmLlm
from llmcore.policies.speculation import FIRST_FRAGMENT
from voiceagent.bench.material import Material
from voiceagent.config.tables import Config, load
from voiceagent.conversation.latency import percentile
from voiceagent.demo import MATERIAL
from voiceagent.validation.references import resolve_paths

CALLS, WARM_UP, COMPARED = 4, 3, 100
HEAD = Path(__file__).parents[2] / "build/eagle3"
METHODS: dict[str, dict[str, Any]] = {
    "draft_model": {"model": "package:voiceagent.demo/weights/draft", "num_speculative_tokens": 3},
    "ngram": {"num_speculative_tokens": 3, "prompt_lookup_max": 4, "prompt_lookup_min": 2},
    "suffix": {"num_speculative_tokens": 8},
    "eagle3": {"model": str(HEAD), "num_speculative_tokens": 3},
}


@dataclass
class Variant:
    """An engine, what is asked of it, and what came of it: seconds and tokens."""

    name: str
    engine: VllmLlm
    draft: DraftUse
    ttft: list[float] = field(default_factory=list)
    response: list[float] = field(default_factory=list)
    processor_s: float = 0.0
    tokens: int = 0
    drafts: int = 0
    accepted_at: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Load:
    """A load: the callers' questions, after so many tokens of history, and the system prompt."""

    replay: Replay
    system: Message
    history_tokens: int


@dataclass(frozen=True)
class Said:
    """A response: its first token and its end, seconds from the request."""

    text: str
    ttft_s: float
    end_s: float
    tokens: int


class Call:
    """One of those that ask at once; each variant has its own, so that none finds another's prompts."""

    def __init__(self, variant: Variant, load: Load, seed: int) -> None:
        self._variant, self._load, self._random = variant, load, Random(seed)
        self._conversations = load.replay.callers(seed)
        self._questions: Iterator[str] = iter(())
        self._history: list[Message] = []

    async def turn(self) -> Said:
        """The next question: prefilled in part, then asked."""
        question = self._next()
        words, draft = question.split(), self._variant.draft
        half = Message("user", " ".join(words[: len(words) // 2]))
        ahead = Request((*self._history, half), priority_class="prefill")
        await self._variant.engine.prefill(ahead, DraftUse(0, draft.reads))
        await asyncio.sleep(self._random.uniform(0, 0.08))
        request = Request((*self._history, Message("user", question)), max_tokens=MAX_TOKENS)
        said = await ask(self._variant.engine, request, draft)
        self._history += [Message("user", question), Message("assistant", said.text)]
        return said

    def _next(self) -> str:
        while (question := next(self._questions, None)) is None:
            self._questions = next(self._conversations)
            self._history = [self._load.system]
            if self._load.history_tokens:
                before = self._load.replay.text(self._load.history_tokens, self._random)
                said = Message("user", f"{self._variant.name}: {before}")
                self._history += [said, Message("assistant", "Yes.")]
        return question


async def main(config: Config, methods: list[str], rounds: int, history_tokens: int) -> None:
    """For each method print a row for each variant, with how many times the first one's figure it is; one
    method after the other, so that there are never more than two engines.
    """
    conversations = Material(MATERIAL).conversations()
    load = Load(Replay(conversations), Message("system", config.instructions()), history_tokens)
    questions = [one.questions[0] for one in conversations[: COMPARED if rounds > 2 else 5]]
    plain = engine(config, None)
    await plain.start()
    try:
        wanted = await answers(plain, load.system, questions, FREE_DRAFT)
        for method in methods:
            drafted = engine(config, {"method": method, **METHODS[method]})
            await drafted.start()
            try:
                for draft in (FREE_DRAFT, DraftUse(begins_at=FIRST_FRAGMENT)):
                    found = await answers(drafted, load.system, questions, draft)
                    same = sum(one == other for one, other in zip(wanted, found, strict=True))
                    print(
                        f"{method}, greedy, from token {draft.begins_at}  {same} of {len(found)} the same",
                        flush=True,
                    )
                for variant in await measure(variants(method, plain, drafted), load, rounds):
                    print(variant, flush=True)
            finally:
                await drafted.close()
    finally:
        await plain.close()


def variants(method: str, plain: VllmLlm, drafted: VllmLlm) -> list[Variant]:
    """Without speculation, and with it as much as may be, as little, and not at all."""
    return [
        Variant(f"{method}: off", plain, FREE_DRAFT),
        Variant(f"{method}: from the first token", drafted, FREE_DRAFT),
        Variant(f"{method}: from token {FIRST_FRAGMENT}", drafted, DraftUse(begins_at=FIRST_FRAGMENT)),
        Variant(f"{method}: left out", drafted, DraftUse(0, reads=False)),
    ]


def engine(config: Config, speculative: dict[str, Any] | None) -> VllmLlm:
    """The configuration's, with that speculation."""
    options = config.llm.options | {"speculative": speculative} | device_settings()
    return VllmLlm(**resolve_paths(options, config.source.parent))


async def answers(llm: VllmLlm, system: Message, questions: list[str], draft: DraftUse) -> list[str]:
    """The response to each question, four at once."""
    places = asyncio.Semaphore(CALLS)

    async def answer(question: str) -> str:
        request = Request((system, Message("user", question)), max_tokens=MAX_TOKENS)
        async with places:
            return (await ask(llm, request, draft)).text

    return await asyncio.gather(*(answer(question) for question in questions))


async def measure(variants: list[Variant], load: Load, rounds: int) -> list[str]:
    """Rounds of each variant, in an order that changes. Returns their rows."""
    calls = {variant.name: [Call(variant, load, seed) for seed in range(CALLS)] for variant in variants}
    for number in range(WARM_UP + rounds):
        for variant in Random(number).sample(variants, len(variants)):
            before, began_s = variant.engine.load(), processor_s(variant.engine)
            said = await asyncio.gather(*(call.turn() for call in calls[variant.name]))
            if number < WARM_UP:
                continue
            await asyncio.sleep(0.02)  # until the last counts have come
            after = variant.engine.load()
            variant.ttft += [one.ttft_s for one in said]
            variant.response += [one.end_s for one in said]
            variant.processor_s += processor_s(variant.engine) - began_s
            variant.tokens += sum(one.tokens for one in said)
            variant.drafts += (after.drafts or 0) - (before.drafts or 0)
            old = before.accepted_at or (0,) * len(after.accepted_at)
            sums = variant.accepted_at or [0] * len(old)
            news = zip(sums, after.accepted_at, old, strict=True)
            variant.accepted_at = [total + now - then for total, now, then in news]
    return [row(variant, variants[0]) for variant in variants]


def processor_s(llm: VllmLlm) -> float:
    """Return the processor time of vLLM's processes so far."""
    processes = llm.process.current.engine.engine_core.resources.engine_manager.processes
    engines = [psutil.Process(process.pid) for process in processes]
    all_of_them = [*engines, *(child for engine in engines for child in engine.children(recursive=True))]
    return sum(sum(one.cpu_times()[:2]) for one in all_of_them)


def row(variant: Variant, first: Variant) -> str:
    """Milliseconds, and times the first variant's; the part of proposals that was right, by position."""
    cells = [f"{variant.name:30}"]
    for name in ("ttft", "response"):
        for rank in (50, 95):
            value, base = (percentile(getattr(one, name), rank) * 1000 for one in (variant, first))
            cells.append(f"{name} p{rank} {value:.0f} ({value / base:.2f}x)")
    cost, base = (one.processor_s / len(one.ttft) * 1000 for one in (variant, first))
    cells.append(f"processor {cost:.0f}" + (f" ({cost / base:.2f}x)" if base else ""))
    right = [f"{count / variant.drafts:.2f}" for count in variant.accepted_at] if variant.drafts else []
    return "  ".join([*cells, f"{variant.tokens / len(variant.ttft):.0f} tokens each", *right])


async def ask(llm: VllmLlm, request: Request, draft: DraftUse) -> Said:
    """A response to its end."""
    asked_s, first_s, said, tokens = time.monotonic(), 0.0, "", 0
    async with aclosing(llm.generate(request, draft)) as deltas:
        async for delta in deltas:
            if delta.text:
                first_s, said = first_s or time.monotonic(), said + delta.text
            if delta.usage:
                tokens = delta.usage.completion_tokens
    return Said(said, (first_s or time.monotonic()) - asked_s, time.monotonic() - asked_s, tokens)


if __name__ == "__main__":
    history = int((sys.argv[4:] or ["1200"])[0])
    asyncio.run(main(load(Path(sys.argv[1])), sys.argv[2].split(","), int(sys.argv[3]), history))
