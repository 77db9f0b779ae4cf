"""One long call with old turns replaced and without: prompt tokens and time to first token, turn by turn.

.venv/bin/python tests/bench/long_call.py configs/demo.toml 60
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import aclosing
from itertools import islice
from pathlib import Path
from statistics import mean

from llm_load.calls import MAX_TOKENS
from prometheus_client import CollectorRegistry

from examples.hotel_model.data.conversations import conversations
from llmcore.engine import Llm, Message, Request, Usage
from voiceagent.config.tables import Config, load
from voiceagent.conversation import events as ev
from voiceagent.conversation.commands import Summarise
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.latency import percentile
from voiceagent.conversation.prompting.prompt_history import PromptHistory
from voiceagent.conversation.prompting.request import make_prompt
from voiceagent.server.engine_building import build_engines
from voiceagent.session.summarising import Summarising
from voiceagent.telemetry.llm_metrics import LlmMetrics

LAST_TURNS = 20
"""At the end of the call, where the histories differ most."""


class LongCall:
    """A call without sound. Turns come one after the other; the history is read ahead, as servers do."""

    def __init__(self, config: Config, llm: Llm) -> None:
        self._system = config.instructions()
        self._llm = llm
        self._history = PromptHistory(config.history.to_budget())
        self._items: list[Item] = []
        self._summary: asyncio.Queue[ev.Event] = asyncio.Queue()
        metrics = LlmMetrics(CollectorRegistry())
        self._summarising = Summarising(
            "bench", llm, config.history, config.agent.language, metrics, self._summary.put_nowait
        )
        self.ttft_ms: list[float] = []
        self.usages: list[Usage] = []

    async def turn(self, question: str) -> None:
        """Ask, and let the history be compressed in the pause after the answer."""
        await self._llm.prefill(Request((*self._prompt(), Message("user", "")), priority_class="prefill"))
        self._items.append(MessageItem(f"q{len(self._items)}", "user", question))
        prompt, answer, asked_s = self._prompt(), "", time.monotonic()
        async with aclosing(self._llm.generate(Request(prompt, max_tokens=MAX_TOKENS))) as deltas:
            async for delta in deltas:
                if delta.text and not answer:
                    self.ttft_ms.append((time.monotonic() - asked_s) * 1000)
                answer += delta.text
                if delta.usage is not None:
                    self.usages.append(delta.usage)
                    self._history.observe(prompt, delta.usage)
        self._items.append(MessageItem(f"a{len(self._items)}", "assistant", answer))
        if old := self._history.overdue(self._items):
            prompt = make_prompt(self._system, old.prompt)
            self._summarising.summarise(Summarise(prompt, (), old.said, old.earlier, old.tokens))
            summary = await self._summary.get()
            assert isinstance(summary, ev.HistorySummarised)
            self._history.set_summary(summary.text)
            self._history.apply_summary()

    @property
    def replacements(self) -> int:
        """Return the number of times that old turns were replaced."""
        return self._history.replacements

    def _prompt(self) -> tuple[Message, ...]:
        return make_prompt(self._system, self._history.messages(self._items))


def questions() -> Iterator[str]:
    """The callers' sides of the demo's conversations for evaluation, one after the other."""
    for conversation in conversations("heldout", 1):
        yield from (message["content"] for message in conversation if message["role"] == "user")


async def measure(config: Config, turns: int) -> LongCall:
    """One call on an engine of its own."""
    llm = build_engines(config).llm
    await llm.start()
    try:
        call = LongCall(config, llm)
        for question in islice(questions(), turns):
            await call.turn(question)
        return call
    finally:
        await llm.close()


def main(path: str, turns: int) -> None:
    """Print both calls in two columns."""
    config = load(Path(path))
    off = config.history.model_copy(update={"max_tokens": 0})
    for name, variant in (("off", config.model_copy(update={"history": off})), ("on", config)):
        call = asyncio.run(measure(variant, turns))
        tokens = [usage.prompt_tokens for usage in call.usages]
        new = [usage.prompt_tokens - usage.cached_tokens for usage in call.usages]
        print(
            f"{name:>3}: {call.replacements} replacements; last {LAST_TURNS} turns: "
            f"{mean(tokens[-LAST_TURNS:]):.0f} prompt tokens, {mean(new[-LAST_TURNS:]):.0f} of them read, "
            f"TTFT p50 {percentile(call.ttft_ms[-LAST_TURNS:], 50):.1f} ms, "
            f"p95 {percentile(call.ttft_ms[-LAST_TURNS:], 95):.1f} ms; longest prompt {max(tokens)}"
        )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
