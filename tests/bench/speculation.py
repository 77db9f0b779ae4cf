"""What speculation costs and brings: an engine with it beside one without, the same load on each in turn.

.venv/bin/python tests/bench/speculation.py configs/vllm-cpu.toml draft_model 20
.venv/bin/python tests/bench/speculation.py configs/vllm-cpu.toml ngram 20

In turn, as a shared machine is not as fast in one minute as in the next: `voiceagent bench llm --compare
speculation` measures one variant after the other, and two that do the same differ there by a fifth. A round
is four calls that ask at once, each with 1,200 tokens behind it, prefilled while their callers spoke.
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

from shaped_model import device_settings

from llmcore.engine import FREE_DRAFT, DraftUse, Message, Request
from llmcore.engines.vllm_engine import VllmLlm
from llmcore.policies.speculation import FIRST_FRAGMENT
from voiceagent.bench.llm_calls import MAX_TOKENS
from voiceagent.bench.material import Material, Replay
from voiceagent.config.tables import Config, load
from voiceagent.conversation.latency import percentile
from voiceagent.demo import MATERIAL
from voiceagent.validation.references import resolve_paths

CALLS, HISTORY_TOKENS, WARM_UP = 4, 1200, 3
METHODS: dict[str, dict[str, Any]] = {
    "draft_model": {"model": "package:voiceagent.demo/weights/draft", "num_speculative_tokens": 3},
    "ngram": {"num_speculative_tokens": 3, "prompt_lookup_max": 4, "prompt_lookup_min": 2},
    "suffix": {"num_speculative_tokens": 8},  # wants the package arctic-inference
}


@dataclass
class Variant:
    """An engine, what is asked of it, and what came of it: seconds and tokens."""

    name: str
    engine: VllmLlm
    draft: DraftUse
    ttft: list[float] = field(default_factory=list)
    response: list[float] = field(default_factory=list)
    tokens: int = 0
    drafts: int = 0
    accepted_at: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Said:
    """A response: its first token and its end, seconds from the request."""

    text: str
    ttft_s: float
    end_s: float
    tokens: int


class Call:
    """One of those that ask at once; each variant has its own, so that none finds another's prompts."""

    def __init__(self, variant: Variant, replay: Replay, instructions: str, seed: int) -> None:
        self._variant, self._replay, self._random = variant, replay, Random(seed)
        self._system = Message("system", instructions)
        self._conversations = replay.callers(seed)
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
            before = f"{self._variant.name}: {self._replay.text(HISTORY_TOKENS, self._random)}"
            self._history = [self._system, Message("user", before), Message("assistant", "Yes.")]
        return question


async def main(config: Config, method: str, rounds: int) -> None:
    """Print a row for each variant, with how many times the first one's figure it is."""
    plain, drafted = engine(config, None), engine(config, {"method": method, **METHODS[method]})
    variants = [
        Variant("off", plain, FREE_DRAFT),
        Variant("on from the first token", drafted, FREE_DRAFT),
        Variant(f"on from token {FIRST_FRAGMENT}", drafted, DraftUse(begins_at=FIRST_FRAGMENT)),
        Variant("left out", drafted, DraftUse(0, reads=False)),
    ]
    try:
        for one in (plain, drafted):
            await one.start()
        same = [await same_words(plain, drafted, config, number) for number in range(20)]
        print(f"greedy responses that are the same word by word: {sum(same)} of {len(same)}")
        await measure(variants, config, rounds)
    finally:
        for one in (plain, drafted):
            await one.close()
    for variant in variants:
        print(row(variant, variants[0]))


def engine(config: Config, speculative: dict[str, Any] | None) -> VllmLlm:
    """The configuration's, with that speculation."""
    options = config.llm.options | {"speculative": speculative} | device_settings()
    return VllmLlm(**resolve_paths(options, config.source.parent))


async def same_words(plain: VllmLlm, drafted: VllmLlm, config: Config, number: int) -> bool:
    """Whether a question has the same answer with and without."""
    question = Material(MATERIAL).conversations()[number].questions[0]
    messages = (Message("system", config.instructions()), Message("user", question))
    request = Request(messages, max_tokens=MAX_TOKENS)
    later = DraftUse(begins_at=FIRST_FRAGMENT)
    asked = [(plain, FREE_DRAFT), (drafted, FREE_DRAFT), (drafted, later)]
    return len({(await ask(one, request, draft)).text for one, draft in asked}) == 1


async def measure(variants: list[Variant], config: Config, rounds: int) -> None:
    """Rounds of each variant, in an order that changes."""
    replay = Replay(Material(MATERIAL).conversations())
    calls = {
        variant.name: [Call(variant, replay, config.instructions(), seed) for seed in range(CALLS)]
        for variant in variants
    }
    for number in range(WARM_UP + rounds):
        for variant in Random(number).sample(variants, len(variants)):
            before = variant.engine.load()
            said = await asyncio.gather(*(call.turn() for call in calls[variant.name]))
            if number < WARM_UP:
                continue
            await asyncio.sleep(0.02)  # until the last counts have come
            after = variant.engine.load()
            variant.ttft += [one.ttft_s for one in said]
            variant.response += [one.end_s for one in said]
            variant.tokens += sum(one.tokens for one in said)
            variant.drafts += (after.drafts or 0) - (before.drafts or 0)
            old = before.accepted_at or (0,) * len(after.accepted_at)
            sums = variant.accepted_at or [0] * len(old)
            news = zip(sums, after.accepted_at, old, strict=True)
            variant.accepted_at = [total + now - then for total, now, then in news]


def row(variant: Variant, first: Variant) -> str:
    """Milliseconds, and times the first variant's; the part of proposals that was right, by position."""
    cells = [f"{variant.name:24}"]
    for name in ("ttft", "response"):
        for rank in (50, 95):
            value, base = (percentile(getattr(one, name), rank) * 1000 for one in (variant, first))
            cells.append(f"{name} p{rank} {value:.0f} ({value / base:.2f}x)")
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
    asyncio.run(main(load(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])))
