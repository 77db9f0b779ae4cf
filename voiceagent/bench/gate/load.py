"""A run over a labelled set in blocks, alone and with concurrent callers, interleaved with the reference."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

from llmcore.engine import Llm, Message, Request
from voiceagent.bench.gate.figures import Block, Times
from voiceagent.bench.gate.reference import Reference
from voiceagent.bench.material import LabelledQuestion
from voiceagent.bench.scoring import Answered
from voiceagent.config.tables import Config

_PROC = Path("/proc")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PARENT, _USER, _SYSTEM, _PAGES = 1, 11, 12, 21
"""Fields of /proc/PID/stat after the name (proc(5))."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Resource usage. cpu_s: CPU time since the processes began. memory_bytes: resident memory."""

    cpu_s: float
    memory_bytes: int


def usage() -> Usage:
    """Return the usage of this process and its descendants; without /proc, only this process's CPU time."""
    stats = dict(_stats())
    tree = {os.getpid()}
    while more := {pid for pid, fields in stats.items() if int(fields[_PARENT]) in tree} - tree:
        tree |= more
    below = [stats[pid] for pid in tree - {os.getpid()}]
    ticks = sum(int(fields[_USER]) + int(fields[_SYSTEM]) for fields in below)
    pages = sum(int(stats[pid][_PAGES]) for pid in tree if pid in stats)
    return Usage(time.process_time() + ticks * _TICK_S, pages * _PAGE)


def _stats() -> Iterator[tuple[int, list[str]]]:
    for path in _PROC.glob("[0-9]*/stat"):
        try:
            yield int(path.parent.name), path.read_text().rpartition(") ")[2].split()
        except OSError:  # the process has ended
            continue


BLOCK = 20
"""Questions per block under load."""
ALONE = 5
"""Questions asked alone before each block, each after a piece of the reference."""
INTERRUPTED = 0.25
"""Share of questions asked twice, with the first response interrupted."""
SPEAKING = 2.0
"""Mean time that a caller speaks, in multiples of the current response time, so that the load is the same on
fast and slow or busy machines.
"""
LATEST = 8
"""Number of latest responses whose median is that response time."""
MAX_TOKENS = 96
"""Maximum answer in tokens; the longest of the demo's has about 50."""
PATIENCE_S = 60.0
"""Timeout of the first token and of each piece; here lateness is a result, not a failure."""


def alone(config: Config) -> Config:
    """Return a configuration without a fallback LLM, which would hide failures, and with long timeouts."""
    timeouts = config.timeouts.model_copy(update={"first_token_s": PATIENCE_S})
    return config.model_copy(update={"fallback": None, "timeouts": timeouts})


class Speaking:
    """Speaking times of the callers of one side."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._latest_ms: deque[float] = deque(maxlen=LATEST)

    def responded(self, times: Times) -> None:
        """Update the response time from the last of these responses."""
        self._latest_ms.extend(times.response[-1:])

    def spoken_s(self) -> float:
        """Draw the seconds that a caller speaks the next question: `SPEAKING` response times on average."""
        mean_s = SPEAKING * median(self._latest_ms or [0.0]) / 1000
        return self._random.expovariate(1 / mean_s) if mean_s else 0.0


@dataclass(slots=True)
class Run:
    """A run over a set.

    calls: concurrent ones. advance: called after each answer. memory_bytes: increase of the processes' memory
    by the engine.
    """

    llm: Llm
    reference: Reference
    system: str
    calls: int
    advance: Callable[[], None] = lambda: None
    blocks: list[Block] = field(default_factory=list, init=False)
    answers: list[Answered] = field(default_factory=list, init=False)
    memory_bytes: int = field(default=0, init=False)
    _random: Random = field(default_factory=lambda: Random(1), init=False)
    _speaking: Speaking = field(init=False)
    _speaking_to_reference: Speaking = field(init=False)

    def __post_init__(self) -> None:
        self._speaking, self._speaking_to_reference = Speaking(self._random), Speaking(self._random)

    async def ask_all(self, questions: Sequence[LabelledQuestion]) -> None:
        """Start the engine and ask all questions. Raises LlmError."""
        before_bytes = usage().memory_bytes
        await self.llm.start()
        await self._answer(Request((Message("system", self.system), Message("user", "Hello."))), Times())
        for first in range(0, len(questions), BLOCK + ALONE):
            self.blocks.append(Block())
            await self._alone(questions[first : first + ALONE], self.blocks[-1])
            await self._loaded(questions[first + ALONE : first + ALONE + BLOCK], self.blocks[-1])
        self.memory_bytes = usage().memory_bytes - before_bytes

    async def _alone(self, questions: Iterable[LabelledQuestion], block: Block) -> None:
        for labelled in questions:
            began_s = usage().cpu_s
            await self._work(block, block.alone_reference)
            between_s = usage().cpu_s
            await self._take_answer(labelled, block.alone, "")
            block.alone_cpu_s.append(usage().cpu_s - between_s)
            block.reference_cpu_s.append(between_s - began_s)

    async def _loaded(self, questions: Sequence[LabelledQuestion], block: Block) -> None:
        """Run callers of the engine, and as many of the reference for equal times before and after."""
        asked, half = iter(questions), len(questions) // 2
        random, times, reference = self._random, block.loaded, block.loaded_reference

        async def caller(name: str) -> None:
            for labelled in asked:
                await self._speak(labelled, name)
                if random.random() < INTERRUPTED:
                    await self._answer(self._request(labelled, name), times, random.randint(2, 8))
                await self._take_answer(labelled, times, name)
                self._speaking.responded(times)

        async def work(pieces: Iterator[int]) -> None:
            for _ in pieces:
                await asyncio.sleep(self._speaking_to_reference.spoken_s())
                if random.random() < INTERRUPTED:
                    piece = await self.reference.work(random.randint(2, 8))
                    reference.add(piece.stamps, whole=False)
                await self._work(block, reference)
                self._speaking_to_reference.responded(reference)

        before, after = iter(range(half)), iter(range(len(questions) - half))
        await _together(work(before) for _ in range(self.calls))
        await _together(caller(str(number)) for number in range(self.calls))
        await _together(work(after) for _ in range(self.calls))

    async def _work(self, block: Block, times: Times) -> None:
        piece = await self.reference.work()
        times.add(piece.stamps)
        block.stretch.append(piece.stretch)

    async def _speak(self, labelled: LabelledQuestion, caller: str) -> None:
        """Wait for the time a question takes to say, with its first half being prefilled, as in a server."""
        words = labelled.messages[-1].content.split()
        said = " ".join(words[: len(words) // 2])
        request = self._request(labelled, caller)
        prompt = (*request.messages[:-1], Message("user", said))
        reading = asyncio.create_task(
            self.llm.prefill(Request(prompt, priority_class="prefill", caller=caller))
        )
        try:
            await asyncio.sleep(self._speaking.spoken_s())
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    def _request(self, labelled: LabelledQuestion, caller: str) -> Request:
        asked = [Message(message.role, message.content) for message in labelled.messages]
        return Request((Message("system", self.system), *asked), max_tokens=MAX_TOKENS, caller=caller)

    async def _take_answer(self, labelled: LabelledQuestion, times: Times, caller: str) -> None:
        said = await self._answer(self._request(labelled, caller), times)
        self.answers.append(Answered(labelled, said))
        self.advance()

    async def _answer(self, request: Request, times: Times, cut_after: int | None = None) -> str:
        """Return the answer; cut_after: pieces after which the caller interrupts."""
        said, stamps = "", [time.monotonic()]
        async with aclosing(self.llm.generate(request)) as deltas:
            async for delta in deltas:
                if delta.text:
                    stamps.append(time.monotonic())
                    said += delta.text
                if len(stamps) - 1 == cut_after:
                    break
        times.add(stamps, whole=cut_after is None)
        return said


async def _together(works: Iterable[Coroutine[object, object, None]]) -> None:
    """Run all concurrently; if one fails, cancel the others and raise its exception."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
