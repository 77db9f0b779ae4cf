"""What a draft costs that is never right: two engines side by side, one response of each in turn.

.venv/bin/python tests/bench/speculation_left_out.py configs/vllm-cpu.toml 200

In turn, as a shared machine is not as fast in one minute as in the next: `voiceagent bench llm --compare
speculation` measures one variant after the other, and two that do the same differ there by a fifth.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import aclosing
from itertools import islice
from pathlib import Path
from statistics import median

from prometheus_client import CollectorRegistry

from llmcore.engine import Llm, Message, Request
from voiceagent.bench.llm_calls import MAX_TOKENS
from voiceagent.bench.llm_parts import for_bench, llm_variants
from voiceagent.bench.random_draft import random_draft
from voiceagent.config.tables import Config, load
from voiceagent.conversation.latency import percentile
from voiceagent.demo.data.conversations import conversations
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.server.startup import build_engines
from voiceagent.telemetry.llm_metrics import LlmMetrics

WARM_UP = 10
"""Responses of each that are not counted: the trial of the bad draft is over by then."""


async def main(config: Config, turns: int) -> None:
    """Print how long responses take with a bad draft, and without any."""
    with random_draft(config) as bad_draft:
        variants = {v.name: v for v in llm_variants(for_bench(config), ["speculation"], bad_draft)}
        monitor = LlmMonitor(LlmMetrics(CollectorRegistry()))
        engines = [
            build_engines(variants[name].config, monitor).llm for name in ("speculation off", "bad draft")
        ]
        try:
            for engine in engines:
                await engine.start()
            pairs = await measured(engines, config.instructions(), turns)
        finally:
            for engine in engines:
                await engine.close()
    for rank in (50, 95):
        plain, drafted = (percentile(list(times), rank) * 1000 for times in zip(*pairs, strict=True))
        ratio = f"{drafted / plain:.3f}x"
        print(f"response p{rank}: without a draft {plain:.0f} ms, with a bad one {drafted:.0f} ({ratio})")
    print(f"ratio of one response, median: {median(drafted / plain for plain, drafted in pairs):.3f}x")
    print(f"of all together: {sum(drafted for _, drafted in pairs) / sum(plain for plain, _ in pairs):.3f}x")
    print("the draft is", monitor.speculation()["llm"])


async def measured(engines: list[Llm], instructions: str, turns: int) -> list[tuple[float, float]]:
    """Seconds of the same response by each engine; which comes first takes turns too."""
    questions = (conversation[0]["content"] for conversation in conversations("heldout", 1))
    pairs = []
    for number, question in enumerate(islice(questions, WARM_UP + turns)):
        messages = (Message("system", instructions), Message("user", question))
        order = engines if number % 2 else engines[::-1]
        seconds = [await response_s(engine, messages) for engine in order]
        pairs.append((seconds[0], seconds[1]) if number % 2 else (seconds[1], seconds[0]))
    return pairs[WARM_UP:]


async def response_s(engine: Llm, messages: tuple[Message, ...]) -> float:
    """From the request to the last word."""
    asked_s = time.monotonic()
    async with aclosing(engine.generate(Request(messages, max_tokens=MAX_TOKENS))) as deltas:
        async for _ in deltas:
            pass
    return time.monotonic() - asked_s


if __name__ == "__main__":
    asyncio.run(main(load(Path(sys.argv[1])), int(sys.argv[2])))
