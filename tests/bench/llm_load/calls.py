"""Callers of the LLM alone: conversations of real lengths, at random times or from a trace, with
interruptions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from random import Random

from llm_load.distribution import TracedTurn
from llmcore.engine import READING, Delta, Llm, LlmError, Message, Request
from voiceagent.conversation.latency import percentile

SPEAKING_S = 0.3
"""Mean length of a caller's turn: enough for prefill while speaking to run, shorter than people speak."""
WORDS_A_S = 2.5
"""Speaking rate of people on a telephone, 150 words a minute: that of callers with a history, for whom
prefill while speaking is measured.
"""
PAUSE_S = 0.5
"""Mean pause between the end of a response and the caller's next turn."""
BARGE_IN = 0.15
"""Share of responses that are cancelled after a few pieces."""
MAX_TOKENS = 60
FRAGMENT_PIECES = 10
"""Pieces of a response in its first spoken fragment; most pieces are one token."""


@dataclass(slots=True)
class LlmTimes:
    """Latencies in milliseconds.

    ttft: time to first token, from the turn's end. first: the same, of turns that begin a conversation.
    later: of the others. long_prompts: of long prompts. itl: between two pieces of one or more tokens. tpot:
    mean time per token after the first. fragment: until the tenth piece, when the first words are spoken.
    response: until the last token. freed: from the cancellation of a response until its KV cache is free.
    """

    ttft: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    long_prompts: list[float] = field(default_factory=list)
    itl: list[float] = field(default_factory=list)
    tpot: list[float] = field(default_factory=list)
    fragment: list[float] = field(init=False, default_factory=list)
    response: list[float] = field(default_factory=list)
    freed: list[float] = field(default_factory=list)


@dataclass(slots=True)
class LlmFigures:
    """Results of a measurement. prompt, cached, written: tokens. failed: reasons of turns without
    an answer.
    """

    times: LlmTimes = field(default_factory=LlmTimes)
    turns: int = 0
    cancelled: int = 0
    failed: list[str] = field(default_factory=list)
    prompt: int = 0
    cached: int = 0
    written: int = 0
    seconds: float = 0.0

    def summary(self) -> dict[str, float]:
        """Return the figures to compare, without those that were not measured."""
        rows: dict[str, float] = {}
        timed = {
            "TTFT": self.times.ttft,
            "first turns' TTFT": self.times.first,
            "later turns' TTFT": self.times.later,
            "ITL": self.times.itl,
            "TPOT": self.times.tpot,
            "first fragment": self.times.fragment,
            "response": self.times.response,
            "long prompts' TTFT": self.times.long_prompts,
            "KV freed": self.times.freed,
        }
        for name, values in timed.items():
            for rank in (50, 95, 99) if values else ():
                rows[f"{name} p{rank} ms"] = percentile(values, rank)
        if self.prompt:
            rows["cached % of prompts"] = 100 * self.cached / self.prompt
        if self.seconds:
            rows["tokens/s"] = self.written / self.seconds
        return rows | {"turns": self.turns, "cancelled": self.cancelled, "failed": len(self.failed)}


class _ResponseTimer:
    """Times one response from its request; `first`: whether it begins a conversation."""

    def __init__(self, figures: LlmFigures, clock: Callable[[], float], *, first: bool) -> None:
        self._figures = figures
        self._clock = clock
        self._first = first
        self.asked_s = self._first_s = self._latest_s = clock()
        self.pieces = 0
        figures.turns += 1

    def record(self, delta: Delta) -> None:
        """Record a piece, or the usage at the end."""
        if delta.text:
            self._take_piece(self._clock())
        if delta.usage is None:
            return
        figures, written = self._figures, delta.usage.completion_tokens
        figures.prompt += delta.usage.prompt_tokens
        figures.cached += delta.usage.cached_tokens
        figures.written += written
        figures.times.response.append((self._latest_s - self.asked_s) * 1000)
        if written > 1:
            figures.times.tpot.append((self._latest_s - self._first_s) * 1000 / (written - 1))

    def give_up(self) -> None:
        """Record an interruption; without a piece so far, the time until now counts as the TTFT."""
        if not self.pieces:
            self._take_piece(self._clock())

    def _take_piece(self, now_s: float) -> None:
        times, waited_ms = self._figures.times, (now_s - self._latest_s) * 1000
        if self.pieces:
            times.itl.append(waited_ms)
        else:
            self._first_s = now_s
            times.ttft.append(waited_ms)
            (times.first if self._first else times.later).append(waited_ms)
        self.pieces, self._latest_s = self.pieces + 1, now_s
        if self.pieces == FRAGMENT_PIECES:
            times.fragment.append((now_s - self.asked_s) * 1000)


class LlmCaller:
    """A caller that makes one call after another and asks the questions of a conversation; each prompt holds
    the answers so far.

    opening: messages at the start of each call. prefills: send prefills while the caller speaks. ttft_s:
    deadline of the first token. at_pace: speak in real time; otherwise speech is shortened. clock: seconds of
    the event loop.
    """

    def __init__(
        self,
        llm: Llm,
        opening: tuple[Message, ...],
        figures: LlmFigures,
        random: Random,
        *,
        prefills: bool,
        ttft_s: float,
        at_pace: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._llm = llm
        self._opening = opening
        self._figures = figures
        self._random = random
        self._prefills = prefills
        self._ttft_s = ttft_s
        self._at_pace = at_pace
        self._clock = clock

    async def call(self, questions: Iterator[str], goes_on: Callable[[], bool]) -> None:
        """Ask the questions until there are none left, or `goes_on` returns False."""
        history = [*self._opening]
        for number, question in enumerate(questions):
            if not goes_on():
                return
            words = len(question.split())
            spoken_s = words / WORDS_A_S if self._at_pace else self._random.expovariate(1 / SPEAKING_S)
            await self._speak(history, question, spoken_s)
            cut_after = self._random.randint(2, 8) if self._random.random() < BARGE_IN else None
            request = self._request([*history, Message("user", question)], MAX_TOKENS)
            answer = await self._ask(request, first=number == 0, cut_after=cut_after)
            history += [Message("user", question), Message("assistant", answer)]
            await asyncio.sleep(self._random.expovariate(1 / PAUSE_S))

    async def replay(self, turns: Sequence[TracedTurn], advance: Callable[[], None]) -> None:
        """Speak and interrupt when the caller of a trace did; later if a response is late."""
        history, began_s = [*self._opening], self._clock()
        for number, turn in enumerate(turns):
            await asyncio.sleep(max(0.0, began_s + turn.speaks_at_s - self._clock()))
            await self._speak(history, turn.said, turn.spoken_s)
            request = self._request([*history, Message("user", turn.said)], turn.response_tokens)
            answer = await self._ask(request, first=number == 0, cut_after_s=turn.cut_after_s)
            history += [Message("user", turn.said), Message("assistant", answer)]
            advance()

    async def read_documents(self, text: Callable[[], str], goes_on: Callable[[], bool]) -> None:
        """Send the prompts that `text` returns, one after the other."""
        while goes_on():
            request = Request((Message("user", text()),), max_tokens=1)
            asked_s = self._clock()
            try:
                async with aclosing(self._llm.generate(request)) as deltas:
                    while await anext(deltas) == READING:
                        pass
                self._figures.times.long_prompts.append((self._clock() - asked_s) * 1000)
            except LlmError as error:
                self._figures.failed.append(str(error))
                await asyncio.sleep(PAUSE_S)

    async def _speak(self, history: list[Message], question: str, spoken_s: float) -> None:
        """Wait for the time a question takes to say, while its first half may be prefilled."""
        words = question.split()
        over = asyncio.create_task(asyncio.sleep(spoken_s))
        if self._prefills:
            half = Message("user", " ".join(words[: len(words) // 2]))
            reading = asyncio.create_task(
                self._llm.prefill(Request((*history, half), priority_class="prefill"))
            )
            await over
            reading.cancel()  # as the server does when the response is requested
            await asyncio.gather(reading, return_exceptions=True)
        await over

    def _request(self, messages: list[Message], tokens: int) -> Request:
        return Request(tuple(messages), max_tokens=tokens, due_s=self._clock() + self._ttft_s)

    async def _ask(
        self,
        request: Request,
        *,
        first: bool,
        cut_after: int | None = None,
        cut_after_s: float | None = None,
    ) -> str:
        """Return the answer, up to an interruption after `cut_after` pieces or `cut_after_s` seconds."""
        figures, said = self._figures, ""
        timer = _ResponseTimer(figures, self._clock, first=first)
        try:
            async with asyncio.timeout(cut_after_s), aclosing(self._llm.generate(request)) as deltas:
                async for delta in deltas:
                    timer.record(delta)
                    said += delta.text
                    if cut_after is not None and timer.pieces >= cut_after:
                        figures.cancelled += 1
                        break
        except TimeoutError:
            figures.cancelled += 1
            timer.give_up()
        except LlmError as error:
            figures.failed.append(str(error))
        return said
