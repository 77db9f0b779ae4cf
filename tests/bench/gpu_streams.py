"""One engine with so many streams at once: time to first token, inter-token latency, tokens a second, memory.

.venv/bin/python tests/bench/gpu_streams.py CONFIG STREAMS...

Each stream has a prompt of 500 words of its own, and a response of 128 tokens. Prints a row for each number.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from random import Random

from shaped_model import Stream, ask

from llmcore.engines.vllm_engine import VllmLlm
from voiceagent.bench.material import Material, Replay
from voiceagent.config.tables import load
from voiceagent.conversation.latency import percentile
from voiceagent.demo import MATERIAL
from voiceagent.validation.references import resolve_paths

PROMPT_TOKENS, RESPONSE_TOKENS = 500, 128


async def main(config: Path, numbers: list[int]) -> None:
    """Each number of streams, after two that warm up."""
    table = load(config)
    llm = VllmLlm(**resolve_paths(table.llm.options, config.parent))
    replay, random, began_s = Replay(Material(MATERIAL).conversations()), Random(1), time.monotonic()
    await llm.start()
    print(f"start  {time.monotonic() - began_s:.1f} s", flush=True)
    try:
        for place, number in enumerate((2, *numbers)):
            began_s = time.monotonic()
            prompts = [replay.text(PROMPT_TOKENS, random) for _ in range(number)]
            streams = await asyncio.gather(*(ask(llm, prompt, RESPONSE_TOKENS) for prompt in prompts))
            if place:  # the first two warm up
                print(row(number, streams, time.monotonic() - began_s), flush=True)
    finally:
        await llm.close()


def row(number: int, streams: list[Stream], took_s: float) -> str:
    """Milliseconds."""
    well = [stream for stream in streams if not stream.error]
    ttft, gaps = [one.ttft_s for one in well], [gap for one in well for gap in one.gaps_s]
    cells = [
        f"{name} p50 {percentile(values, 50) * 1000:.1f}, p95 {percentile(values, 95) * 1000:.1f}"
        for name, values in (("TTFT", ttft), ("ITL", gaps))
    ]
    pieces = sum(len(one.came_s) for one in well)
    cells += [f"pieces/s {pieces / took_s:.0f}", f"failed {len(streams) - len(well)}"]
    return f"{number} streams  {'; '.join(cells)}"


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), [int(number) for number in sys.argv[2:]]))
