"""Prefill while speaking in two ways: requests that warm the prefix cache, and vLLM's streaming input.

.venv/bin/python tests/bench/streaming_input.py configs/vllm-cpu.toml [ROUNDS] [MILLISECONDS]

A round is four callers at once, each with 1,200 tokens of history not prefilled yet, who say a question in
four parts, one every 400 ms, and want the answer as long after the last. With requests, a part is one of a
single token on the prompt so far, one at a time as in a call, and the answer another. With streaming input
all is one request, to which vLLM appends. One engine for both, which are measured in turn, each with its own
callers. At the end as many callers speak as the engine computes responses for, and another one asks.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import cast
from uuid import uuid4

from llm_load.calls import MAX_TOKENS
from llm_load.replay import Replay

from llmcore.engine import Llm, Message, Request
from llmcore.engines.vllm_engine import VllmLlm
from voiceagent.bench.material import Material
from voiceagent.config.tables import Config, load
from voiceagent.conversation.latency import percentile
from voiceagent.demo import MATERIAL
from voiceagent.session.prefilling import Prefilling
from voiceagent.validation.references import resolve_paths

CALLS, HISTORY_TOKENS, PARTS = 4, 1200, 4
PATIENCE_S = 10.0


@dataclass
class Figures:
    """Seconds: to the first token, to the end, and of the engine's steps. same: whether the answer is that to
    the same prompt in one piece. restarts: parts that did not go on as the one before, of which all had
    been read for nothing. between_s: between two parts.
    """

    ttft: list[float] = field(default_factory=list)
    response: list[float] = field(default_factory=list)
    engine: list[float] = field(default_factory=list)
    said: list[tuple[Request, str]] = field(default_factory=list)
    same: list[bool] = field(default_factory=list)
    restarts: int = 0
    between_s: float = 0.4


async def main(config: Config, rounds: int, between_s: float) -> None:
    """Print a row for each way."""
    options = resolve_paths(config.llm.options, config.source.parent)
    llm, ways = VllmLlm(**options), {"warm-up requests": warm_up, "streaming input": stream}
    replay = Replay(Material(MATERIAL).conversations())
    found = {name: Figures(between_s=between_s) for name in ways}
    await llm.start()
    try:
        for number in range(rounds + 1):
            for name in Random(number).sample(list(ways), len(ways)):
                figures = found[name] if number else Figures(between_s=between_s)
                random = Random(f"{number}")
                asked = [question(config, replay, random, name) for _ in range(CALLS)]
                before_s = await engine_s(llm)
                await asyncio.gather(*(ways[name](llm, request, figures) for request in asked))
                figures.engine.append(await engine_s(llm) - before_s)
                for request, said in figures.said:
                    figures.same.append(said == await answer(llm, request))
                figures.said.clear()
        beside = await beside_speaking(llm, question(config, replay, Random(1), "beside"))
    finally:
        await llm.close()
    for name, figures in found.items():
        print(row(name, figures))
    print(f"beside {llm.max_num_seqs} callers who speak, by streaming input: {beside}")


async def engine_s(llm: VllmLlm) -> float:
    """Seconds that its steps have taken since its start."""
    await asyncio.sleep(0.6)  # the engine reports some times a second
    steps = llm.load().steps
    return steps.seconds[-1] if steps is not None else 0.0


def question(config: Config, replay: Replay, random: Random, name: str) -> Request:
    """One, behind a history that is of this way alone, though of the same words."""
    spoken = next(questions for questions in replay.callers(random.randrange(10**6)))
    before = f"{len(name)} {replay.text(HISTORY_TOKENS, random)}"
    system = Message("system", config.instructions())
    history = (system, Message("user", before), Message("assistant", "Yes."))
    return Request((*history, Message("user", next(spoken))), max_tokens=MAX_TOKENS)


def parts_of(request: Request) -> list[Request]:
    """Return the question as spoken so far, growing, never whole."""
    *history, last = request.messages
    said = last.content.split()
    ends = sorted({max(1, len(said) * part // (PARTS + 1)) for part in range(1, PARTS + 1)})
    return [replace(request, messages=(*history, Message("user", " ".join(said[:end])))) for end in ends]


async def warm_up(llm: VllmLlm, request: Request, figures: Figures) -> None:
    """A request for each part, as the server makes them; the last may still be read when the answer is asked
    for.
    """
    prefilling = Prefilling("", cast("Llm", llm))
    for part in parts_of(request):
        prefilling.prefill(part.messages, part.tools)
        await asyncio.sleep(figures.between_s)
    prefilling.stop()
    asked_s, first_s, said = time.monotonic(), 0.0, ""
    async for delta in llm.generate(request):
        if delta.text:
            first_s, said = first_s or time.monotonic(), said + delta.text
    figures.ttft.append((first_s or time.monotonic()) - asked_s)
    figures.response.append(time.monotonic() - asked_s)
    figures.said.append((request, said))


async def answer(llm: VllmLlm, request: Request) -> str:
    """The text alone."""
    return "".join([delta.text async for delta in llm.generate(request)])


async def stream(llm: VllmLlm, request: Request, figures: Figures) -> None:
    """One request to which each part is appended, then what makes it a question."""
    from vllm.engine.protocol import StreamingInput  # noqa: PLC0415 - optional
    from vllm.inputs import tokens_input  # noqa: PLC0415
    from vllm.sampling_params import RequestOutputKind, SamplingParams  # noqa: PLC0415

    vllm, sent = llm.process.current, 0
    asked_s = 0.0

    def sampling(tokens: int) -> SamplingParams:
        return SamplingParams(max_tokens=tokens, temperature=0, output_kind=RequestOutputKind.DELTA)

    async def chunks() -> AsyncGenerator[StreamingInput, None]:
        nonlocal sent, asked_s
        before: list[int] = []
        for part in parts_of(request):
            tokens = await asyncio.to_thread(vllm.chat.unfinished, part)
            if tokens[: len(before)] != before:
                figures.restarts += 1  # vLLM cannot take back what it was given: the part is left out
            else:
                yield StreamingInput(tokens_input(tokens[len(before) :]), sampling(1))
                sent, before = sent + 1, tokens
            await asyncio.sleep(figures.between_s)
        asked_s = time.monotonic()
        tokens = await asyncio.to_thread(vllm.chat.prompt, request)
        if tokens[: len(before)] != before:
            figures.restarts += 1
        yield StreamingInput(tokens_input(tokens[len(before) :]), sampling(request.max_tokens))

    written, first_s, said = 0, 0.0, ""
    async for output in vllm.engine.generate(chunks(), sampling(1), request_id=uuid4().hex):
        completion = output.outputs[0]
        written += len(completion.token_ids)
        if asked_s and written > sent:  # each part had a token of its own, which vLLM drops
            first_s = first_s or time.monotonic()
            said += completion.text
    figures.ttft.append((first_s or time.monotonic()) - asked_s)
    figures.response.append(time.monotonic() - asked_s)
    figures.said.append((request, said))


async def beside_speaking(llm: VllmLlm, request: Request) -> str:
    """Measure an answer while others speak, each with a request that waits for more input."""
    from vllm.engine.protocol import StreamingInput  # noqa: PLC0415 - optional
    from vllm.inputs import tokens_input  # noqa: PLC0415
    from vllm.sampling_params import SamplingParams  # noqa: PLC0415

    vllm, over = llm.process.current, asyncio.Event()
    first, sampling = vllm.chat.unfinished(parts_of(request)[0]), SamplingParams(max_tokens=1)

    async def speaking() -> AsyncGenerator[StreamingInput, None]:
        yield StreamingInput(tokens_input(first), sampling)
        await over.wait()

    async def listen() -> None:
        async for _ in vllm.engine.generate(speaking(), sampling, request_id=uuid4().hex):
            pass

    callers = [asyncio.create_task(listen()) for _ in range(llm.max_num_seqs)]
    await asyncio.sleep(2.0)  # all of it is read
    asked_s = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_S):
            await anext(llm.generate(request))
        return f"after {(time.monotonic() - asked_s) * 1000:.0f} ms"
    except TimeoutError:
        return f"not within {PATIENCE_S:.0f} s"
    finally:
        over.set()
        await asyncio.gather(*callers)


def row(name: str, figures: Figures) -> str:
    """Milliseconds."""
    cells = []
    for kind in ("ttft", "response", "engine"):
        values = getattr(figures, kind)
        cells.append(
            f"{kind} p50 {percentile(values, 50) * 1000:.0f}, p95 {percentile(values, 95) * 1000:.0f}"
        )
    cells += [f"{figures.restarts} restarts", f"{sum(figures.same)} of {len(figures.same)} the same"]
    return f"{name:17}  {'  '.join(cells)}"


if __name__ == "__main__":
    rounds, between_ms = (sys.argv[2:4] + ["10", "400"][len(sys.argv) - 2 :])[:2]
    asyncio.run(main(load(Path(sys.argv[1])), int(rounds), int(between_ms) / 1000))
