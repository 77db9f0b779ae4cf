"""Callers for the LLM alone: conversations of real lengths that arrive at random; some callers cut in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from random import Random

from llmcore.engine import Llm, LlmError, Message, Request
from voiceagent.conversation.latency import percentile
from voiceagent.demo.conversations import conversations

SPEAKING_S = 0.3
"""Mean time of a caller's turn here: long enough for prefill while speaking to run, shorter than people
speak."""
WORDS_A_S = 2.5
"""Of people on a telephone, 150 a minute: how long callers with a history speak, for whom prefill while
speaking is measured."""
PAUSE_S = 0.5
"""Mean time between the end of a response and the caller's next turn."""
BARGE_IN = 0.15
"""Part of the responses that are cut off, as soon as a few pieces have come."""
MAX_TOKENS = 60
CHARACTERS_A_TOKEN = 4.2
"""Of what the callers of the demo say, with its tokenizer; others come near it."""


@dataclass(slots=True)
class LlmFigures:
    """What a measurement came to. Times in milliseconds; ttft: of turns from their end, first_ttft: those of
    them that begin a conversation, long_ttft: of long prompts. itl: between two pieces, of a token or more;
    tpot: a token of a response after the first, in the mean; response: all of it. freed: from cutting a
    response off until its part of the KV cache is free. prompt, cached, written: tokens. failed: turns
    without an answer, by the reason.
    """

    ttft: list[float] = field(default_factory=list)
    first_ttft: list[float] = field(default_factory=list)
    long_ttft: list[float] = field(default_factory=list)
    itl: list[float] = field(default_factory=list)
    tpot: list[float] = field(default_factory=list)
    response: list[float] = field(default_factory=list)
    freed: list[float] = field(default_factory=list)
    turns: int = 0
    cut_off: int = 0
    failed: list[str] = field(default_factory=list)
    prompt: int = 0
    cached: int = 0
    written: int = 0
    seconds: float = 0.0

    def summary(self) -> dict[str, float]:
        """The figures by which two measurements are compared; what was not measured is left out."""
        rows: dict[str, float] = {}
        timed = {
            "TTFT": self.ttft,
            "first turns' TTFT": self.first_ttft,
            "ITL": self.itl,
            "TPOT": self.tpot,
            "response": self.response,
            "long prompts' TTFT": self.long_ttft,
            "KV freed": self.freed,
        }
        for name, values in timed.items():
            for rank in (50, 95, 99) if values else ():
                rows[f"{name} p{rank} ms"] = percentile(values, rank)
        if self.prompt:
            rows["cached % of prompts"] = 100 * self.cached / self.prompt
        if self.seconds:
            rows["tokens/s"] = self.written / self.seconds
        return rows | {"turns": self.turns, "cut off": self.cut_off, "failed": len(self.failed)}


class LlmCaller:
    """One call after the other: asks the questions of a conversation, each on the history of the answers.

    history_tokens: about so much has been said in a call before its first question, as in a call that was
    transferred; no two calls share it. ttft_s: when first tokens are due.
    """

    def __init__(
        self,
        llm: Llm,
        system: Message,
        figures: LlmFigures,
        random: Random,
        *,
        prefill_while_speaking: bool,
        ttft_s: float,
        history_tokens: int = 0,
    ) -> None:
        self._llm = llm
        self._system = system
        self._figures = figures
        self._random = random
        self._prefill_while_speaking = prefill_while_speaking
        self._ttft_s = ttft_s
        self._history_tokens = history_tokens

    async def call(self, questions: Iterator[str], told: Callable[[], bool]) -> None:
        """Ask until there are no more questions, or `told` says that enough was asked."""
        history = [self._system, *self._said_before()]
        for number, question in enumerate(questions):
            if not told():
                return
            await self._speak(history, question)
            answer = await self._ask([*history, Message("user", question)], first=number == 0)
            history += [Message("user", question), Message("assistant", answer)]
            await asyncio.sleep(self._random.expovariate(1 / PAUSE_S))

    async def read_documents(self, tokens: int, told: Callable[[], bool]) -> None:
        """Send prompts of about so many tokens, one after the other, that share nothing."""
        while told():
            request = Request((Message("user", sayings(tokens, self._random)),), max_tokens=1)
            asked_s = time.monotonic()
            try:
                async with aclosing(self._llm.generate(request)) as deltas:
                    await anext(deltas)
                self._figures.long_ttft.append((time.monotonic() - asked_s) * 1000)
            except LlmError as error:
                self._figures.failed.append(str(error))
                await asyncio.sleep(PAUSE_S)

    def _said_before(self) -> tuple[Message, ...]:
        if not self._history_tokens:
            return ()
        said = sayings(self._history_tokens, self._random)
        return Message("user", said), Message("assistant", "Yes.")

    async def _speak(self, history: list[Message], question: str) -> None:
        """The time that the question takes to say, in which its first half may be read ahead."""
        words = question.split()
        spoken_s = (
            len(words) / WORDS_A_S if self._history_tokens else self._random.expovariate(1 / SPEAKING_S)
        )
        over = asyncio.create_task(asyncio.sleep(spoken_s))
        if self._prefill_while_speaking:
            half = Message("user", " ".join(words[: len(words) // 2]))
            reading = asyncio.create_task(
                self._llm.prefill(Request((*history, half), priority_class="prefill"))
            )
            await over
            reading.cancel()  # as the server does when the response is asked for
            await asyncio.gather(reading, return_exceptions=True)
        await over

    async def _ask(self, messages: list[Message], first: bool) -> str:
        figures, said = self._figures, ""
        cut_after = self._random.randint(2, 8) if self._random.random() < BARGE_IN else None
        asked_s = first_s = latest_s = time.monotonic()
        request = Request(tuple(messages), max_tokens=MAX_TOKENS, due_s=asked_s + self._ttft_s)
        figures.turns += 1
        pieces = 0
        try:
            async with aclosing(self._llm.generate(request)) as deltas:
                async for delta in deltas:
                    now_s = time.monotonic()
                    if delta.text:
                        (figures.itl if pieces else figures.ttft).append((now_s - latest_s) * 1000)
                        if first and not pieces:
                            figures.first_ttft.append(figures.ttft[-1])
                        first_s = first_s if pieces else now_s
                        pieces, latest_s = pieces + 1, now_s
                        said += delta.text
                    if delta.usage is not None:
                        figures.prompt += delta.usage.prompt_tokens
                        figures.cached += delta.usage.cached_tokens
                        figures.written += delta.usage.completion_tokens
                        figures.response.append((latest_s - asked_s) * 1000)
                        if delta.usage.completion_tokens > 1:
                            written = delta.usage.completion_tokens - 1
                            figures.tpot.append((latest_s - first_s) * 1000 / written)
                    if cut_after is not None and pieces >= cut_after:
                        figures.cut_off += 1
                        break
        except LlmError as error:
            figures.failed.append(str(error))
        return said


def sayings(tokens: int, random: Random) -> str:
    """About so many tokens of what callers and agents of the demo say; another text each time."""
    text, characters = [f"{random.randrange(10**6)}:"], 0
    for conversation in conversations("heldout", random.randrange(10**9)):
        for message in conversation:
            text.append(message["content"])
            characters += len(text[-1]) + 1
        if characters >= tokens * CHARACTERS_A_TOKEN:
            break
    return " ".join(text)[: round(tokens * CHARACTERS_A_TOKEN)]
