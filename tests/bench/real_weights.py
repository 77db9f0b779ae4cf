"""Techniques of the LLM core on real weights, each on and off in turn, through vLLM.

voiceagent convert weights:qwen2.5-coder-0.5b-instruct/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf SMALL --to checkpoint
python tests/bench/real_weights.py SMALL [--large LARGE] [--only PART ...] [--rounds 6] [--dtype float32]

SMALL, LARGE: folders of the 0.5B and, for the pair of draft and model, of the 1.5B, converted in the same way.
A part has one engine, which ends before the next one starts. Within it, requests with and without the technique
alternate; only `chunked_prefill` needs a second engine for "off". A ratio is the median of the rounds' ratios,
with the 95 % interval of the bootstrap; the processor's is vLLM's alone. On a busy machine, only ratios count.
"""  # noqa: E501  a command

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from llm_load.replay import Replay
from speculation import METHODS, processor_s

from llmcore.engine import FREE_DRAFT, DraftUse, Message, Request
from llmcore.engines.vllm_engine import VllmLlm
from voiceagent.bench.material import Material
from voiceagent.demo import MATERIAL
from voiceagent.scores.statistics import bootstrap

INSTRUCTIONS = "You are a friendly voice assistant. Answer the caller in one or two short spoken sentences."
QUESTIONS = (
    "What is the capital of Australia?",
    "Why is the sky blue?",
    "Name three fruits that grow on trees.",
    "How do I boil an egg?",
    "What should I see in Rome?",
    "Who wrote Hamlet?",
    "What does a bee make?",
    "How many days has a leap year?",
)
READ_BACK = (
    "Repeat this order word for word: two large coffees with oat milk, one cheese sandwich without butter, "
    "and a slice of apple cake, to be collected at half past nine by Anna Lund.",
    "Say my address again, please: Anna Lund, 27 Harbour Street, third floor, 5003 Bergen, Norway.",
)
HISTORY_TOKENS, TURN_TOKENS, LONG_TOKENS, REPLY_TOKENS = 150, 40, 400, 32
SPOKEN_SHARE = 0.75
"""Share of the caller's words that are prefilled while they speak."""
UNSPECULATED = DraftUse(0, reads=False)


@dataclass(frozen=True)
class Cost:
    """Cost of a request: to its first token and to its end, and vLLM's processor time."""

    ttft_s: float
    end_s: float
    processor_s: float
    text: str = ""


@dataclass
class Pairs:
    """Measurements of one technique, one pair a round."""

    name: str
    on: list[Cost] = field(default_factory=list)
    off: list[Cost] = field(default_factory=list)

    def print(self, *values: str) -> None:
        """Print a row for each of these fields of `Cost`."""
        for value in values:
            on, off = ([getattr(cost, value) for cost in costs] for costs in (self.on, self.off))
            ratios = [one / other for one, other in zip(on, off, strict=True) if other > 0]

            def resampled(indices: Any, ratios: list[float] = ratios) -> float | None:
                return float(median(ratios[index] for index in indices))

            interval = bootstrap(len(ratios), resampled)
            span = f"{interval.low:.2f} to {interval.high:.2f}" if interval else "one round"
            row = f"{value[:-2]} | {median(on) * 1000:.0f} | {median(off) * 1000:.0f}"
            print(f"| {self.name} | {row} | {median(ratios):.2f}x ({span}) | {len(ratios)} |", flush=True)


async def ask(llm: VllmLlm, request: Request, draft: DraftUse = FREE_DRAFT) -> Cost:
    """Return the cost of a reply."""
    began_s, processor, first_s, text = time.monotonic(), processor_s(llm), 0.0, ""
    async for delta in llm.generate(request, draft):
        first_s = first_s or time.monotonic()
        text += delta.text
    ended_s = time.monotonic()
    return Cost((first_s or ended_s) - began_s, ended_s - began_s, processor_s(llm) - processor, text)


class Caller:
    """Source of prompts that no other prompt shares, from the demo's conversations."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._replay = Replay(Material(MATERIAL).conversations())

    def history(self, tokens: int = HISTORY_TOKENS) -> tuple[Message, ...]:
        """Return a new call's instructions and earlier turns."""
        said = self._replay.text(tokens, self._random)
        return (
            Message("system", f"Call {self._random.randrange(10**6)}. {INSTRUCTIONS}"),
            Message("user", said),
            Message("assistant", "I see."),
        )

    def turn(self) -> str:
        """Return a long turn of the caller."""
        return f"{self._replay.text(TURN_TOKENS, self._random)} {self._random.choice(QUESTIONS)}"


def first_token(*messages: Message) -> Request:
    """Return a request for one token: its cost is that of the prompt."""
    return Request(messages, max_tokens=1)


async def prefix_caching(llm: VllmLlm, rounds: int) -> None:
    """Ask within one call, whose prompt so far is cached, and in calls with another first word."""
    caller, pairs = Caller(1), Pairs("prefix caching")
    history = caller.history()
    await ask(llm, first_token(*history, Message("user", "Hello.")))
    for number in range(rounds):
        question = Message("user", QUESTIONS[number % len(QUESTIONS)])
        fresh = replace(history[0], content=f"{number} {history[0].content}")
        pairs.on.append(await ask(llm, first_token(*history, question)))
        pairs.off.append(await ask(llm, first_token(fresh, *history[1:], question)))
    pairs.print("ttft_s", "processor_s")


async def prefill_while_speaking(llm: VllmLlm, rounds: int) -> None:
    """Ask after three quarters of the turn were prefilled, and without; the history is new to both."""
    caller = Caller(2)
    for name, known in (("call's first turn", False), ("history cached", True)):
        pairs = Pairs(f"prefill while speaking, {name}")
        for _ in range(rounds):
            for costs, ahead in ((pairs.on, True), (pairs.off, False)):
                history, turn = caller.history(), caller.turn()
                if known:
                    await llm.prefill(Request((*history, Message("user", "")), priority_class="prefill"))
                words, before = turn.split(), processor_s(llm)
                if ahead:
                    spoken = " ".join(words[: round(len(words) * SPOKEN_SHARE)])
                    await llm.prefill(Request((*history, Message("user", spoken)), priority_class="prefill"))
                cost = await ask(llm, first_token(*history, Message("user", turn)))
                costs.append(replace(cost, processor_s=processor_s(llm) - before))
        pairs.print("ttft_s", "processor_s")


async def beside_a_long_prompt(llm: VllmLlm, rounds: int) -> tuple[list[Cost], list[Cost]]:
    """Return the costs of short turns that begin while a long prompt is read, and of the long ones."""
    caller = Caller(3)
    history = caller.history(60)
    await ask(llm, first_token(*history, Message("user", "Hello.")))
    turns, prompts = [], []
    for number in range(rounds):
        long = replace(first_token(*caller.history(LONG_TOKENS)), priority_class="long", priority=10)
        reading = asyncio.create_task(ask(llm, long))
        await asyncio.sleep(0.1)
        question = Message("user", QUESTIONS[number % len(QUESTIONS)])
        turns.append(await ask(llm, first_token(*history, question)))
        prompts.append(await reading)
    return turns, prompts


async def speculation(llm: VllmLlm, rounds: int, name: str) -> None:
    """Ask with the draft and with it left out, for answers and for words that the prompt has."""
    for kind, texts in (("answers", QUESTIONS), ("read back", READ_BACK)):
        pairs, before = Pairs(f"speculation, {name}, {kind}"), llm.load()
        for number in range(rounds):
            asked = Message("user", texts[number % len(texts)])
            # another number in front, so that both prompts are new alike
            for costs, draft, call in ((pairs.on, FREE_DRAFT, "A"), (pairs.off, UNSPECULATED, "B")):
                system = Message("system", f"{call}{number}. {INSTRUCTIONS}")
                costs.append(await ask(llm, Request((system, asked), max_tokens=REPLY_TOKENS), draft))
        pairs.print("ttft_s", "end_s", "processor_s")
        after = llm.load()
        accepted = (after.accepted or 0) - (before.accepted or 0)
        proposed = (after.drafted or 0) - (before.drafted or 0)
        print(f"    {name}, {kind}: {accepted} of {proposed} proposed tokens accepted", flush=True)


@asynccontextmanager
async def running(model: Path, dtype: str, threads: int, **options: Any) -> AsyncIterator[VllmLlm]:
    """Start an engine, and end it."""
    usual: dict[str, Any] = {
        "max_num_batched_tokens": 512,
        "yielding_tokens": 128,
        "max_num_seqs": 8,
        "max_model_len": 2048,
    }
    usual |= {"kv_cache_gib": 0.5, "threads": threads, "dtype": dtype}
    llm = VllmLlm(model=str(model), **usual | options)
    await llm.start()
    try:
        await ask(llm, first_token(Message("user", "Hello.")))
        yield llm
    finally:
        await llm.close()


async def chunked_prefill(options: argparse.Namespace) -> None:
    """Ask beside long prompts that are read in pieces, and at once."""
    measured = []
    whole = {"enable_chunked_prefill": False, "max_num_batched_tokens": 2048}
    for settings in ({}, whole):
        async with running(options.small, options.dtype, options.threads, **settings) as llm:
            measured.append(await beside_a_long_prompt(llm, options.rounds))
    (turns, prompts), (turns_off, prompts_off) = measured
    Pairs("chunked prefill, turns beside a long prompt", turns, turns_off).print("ttft_s")
    Pairs("chunked prefill, the long prompts", prompts, prompts_off).print("ttft_s")


def techniques(options: argparse.Namespace) -> dict[str, Callable[[], Awaitable[None]]]:
    """Return the parts by name."""

    async def cached() -> None:
        async with running(options.small, options.dtype, options.threads) as llm:
            await prefix_caching(llm, options.rounds)
            await prefill_while_speaking(llm, options.rounds)

    async def speculated(method: str) -> None:
        draft = METHODS[method]
        model, pair = options.small, method == "draft_model"
        if pair:
            if options.large is None:
                print("speculation, draft_model: left out, as --large is not given", flush=True)
                return
            model, draft = options.large, draft | {"model": str(options.small)}
        async with running(
            model, options.dtype, options.threads, speculative={"method": method, **draft}
        ) as llm:
            await speculation(llm, options.rounds, "0.5B drafts for 1.5B" if pair else method)

    return {
        "cache": cached,
        "chunked_prefill": lambda: chunked_prefill(options),
        "ngram": lambda: speculated("ngram"),
        "suffix": lambda: speculated("suffix"),
        "draft_model": lambda: speculated("draft_model"),
    }


async def main(options: argparse.Namespace) -> None:
    """Print the rows of all parts."""
    parts = techniques(options)
    if unknown := set(options.only) - set(parts):
        raise SystemExit(f"--only {', '.join(sorted(unknown))}: allowed: {', '.join(parts)}")
    print("| technique | of | on, ms | off, ms | ratio | rounds |\n| --- | --- | --- | --- | --- | --- |")
    for name in options.only or parts:
        await parts[name]()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("small", type=Path)
    parser.add_argument("--large", type=Path)
    parser.add_argument("--only", nargs="+", default=(), metavar="PART")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", default="float32", help="float32 takes twice the memory of bfloat16")
    asyncio.run(main(parser.parse_args()))
