"""Measure the processor time that vLLM needs for the end-of-message probability, on top of the prefill.

.venv/bin/python tests/bench/turn_end_cost.py [CONFIG] [BLOCKS]

Callers' questions of the demo's conversations, one after the other, behind a history of 1,200 tokens: each is
read up to its last two words, as while it is spoken, and then to its end, by prefills that ask for the end
and by such that do not, in turn, `BLOCKS` blocks (20) of each. Prints the processor time of a prefill of
either kind, that of this process and of vLLM's together, its median time, and what the very first takes.
"""

from __future__ import annotations

import asyncio
import sys
import time
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import cast

import psutil  # type: ignore[import-untyped]
from llm_load.replay import CHARACTERS_A_TOKEN

from llmcore.engine import Message, Request
from llmcore.engines.vllm_engine import VllmLlm
from voiceagent.bench.material import Material
from voiceagent.config.tables import load
from voiceagent.demo import MATERIAL
from voiceagent.engines.build import build_engine

CONFIG = Path(__file__).parents[2] / "configs/vllm-cpu.toml"
HISTORY_TOKENS, IN_A_BLOCK = 1200, 20


async def main(config_file: Path, blocks: int) -> None:
    """Print the figures."""
    config = load(config_file)
    llm = cast("VllmLlm", build_engine("llm", config.llm, config.source))
    await llm.start()
    try:
        history = (Message("system", config.instructions()), *earlier())
        asked = cycle(one.questions[-1] for one in Material(MATERIAL).conversations())
        questions = (text for text in asked if len(text.split()) > 3)
        await block(llm, history, [next(questions)], asks_end=False)
        first = await block(llm, history, [next(questions)], asks_end=True)
        print(f"the first that asks: processor {first[0]:.0f} ms, {first[1][0]:.0f} ms")
        found: dict[bool, list[tuple[float, list[float], int]]] = {False: [], True: []}
        for number in range(2 * blocks):
            asks_end = bool(
                (number + number // 2) % 2
            )  # neither is always the one that comes behind the other
            texts = [next(questions) for _ in range(IN_A_BLOCK)]
            found[asks_end].append(await block(llm, history, texts, asks_end))
    finally:
        await llm.close()
    for asks_end, name in ((False, "as it was"), (True, "asks for the end")):
        runs = found[asks_end]
        processor = sum(one[0] for one in runs) / (len(runs) * IN_A_BLOCK)
        took = median(ms for one in runs for ms in one[1])
        told = sum(one[2] for one in runs)
        print(f"{name}: processor {processor:.2f} ms a prefill, median {took:.1f} ms; {told} told an end")


def earlier() -> list[Message]:
    """Turns of so many tokens."""
    turns: list[Message] = []
    for conversation in Material(MATERIAL).conversations():
        turns += [Message(one.role, one.content) for one in conversation.messages]
        if sum(len(one.content) for one in turns) >= HISTORY_TOKENS * CHARACTERS_A_TOKEN:
            break
    return turns


async def block(
    llm: VllmLlm, history: tuple[Message, ...], texts: list[str], asks_end: bool
) -> tuple[float, list[float], int]:
    """Return the processor milliseconds of prefills of whole questions, the time of each, and how many
    reported an end.
    """
    processor = 0.0
    times, told = [], 0
    for text in texts:
        spoken, whole = (
            Request((*history, Message("user", words)), priority_class="prefill", asks_end=asks)
            for words, asks in ((" ".join(text.split()[:-2]), False), (text, asks_end))
        )
        await llm.prefill(spoken)
        before_s, began_s = processor_s(llm), time.perf_counter()
        usage = await llm.prefill(whole)
        times.append((time.perf_counter() - began_s) * 1000)
        processor += (processor_s(llm) - before_s) * 1000
        told += usage is not None and usage.end_log_probability is not None
    return processor, times, told


def processor_s(llm: VllmLlm) -> float:
    """Seconds that the threads of this process and all of vLLM's were on a processor since their start."""
    (core,) = llm.process.current.engine.engine_core.resources.engine_manager.processes
    parent = psutil.Process(core.pid)
    processes = [psutil.Process(), parent, *parent.children(recursive=True)]
    threads = (task for one in processes for task in Path(f"/proc/{one.pid}/task").iterdir())
    # in nanoseconds, where psutil has hundredths of a second
    return sum(int((task / "schedstat").read_text().split()[0]) for task in threads) / 1e9


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if sys.argv[1:] else CONFIG, int((sys.argv[2:] or ["20"])[0])))
