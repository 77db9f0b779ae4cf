"""A whole call that outgrows its budget, with the demo model: what was said early is still in the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from call_services import call_services
from fake_client import FakeClient
from scripted_llm import HANG, ScriptedLlm

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Request, Usage
from llmcore.engines.ct2_engine import CTranslate2Llm
from voiceagent.config.tables import load
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.config import HistoryConfig
from voiceagent.conversation.history import MessageItem
from voiceagent.demo.conversations import conversations
from voiceagent.engines.engines import Engines
from voiceagent.llm.load_shedding import LoadShedder
from voiceagent.server.startup import compose
from voiceagent.session.session import Session
from voiceagent.telemetry.metrics import Metrics

ROOT = Path(__file__).parents[3]
EARLY = "My name is Anna Lund, and I am in room 412 for two nights."


class Deaf:
    """A recognizer and a synthesizer for a call without sound."""

    rate_hz = 24_000

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis("", settled=True)

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield Speech(np.zeros(240, np.int16))


class Recorded(CTranslate2Llm):
    """The demo model; keeps what it was asked, and what that came to."""

    def __init__(self, model: Path) -> None:
        super().__init__(model, kept_tokens=16_384)
        self.requests: list[Request] = []
        self.usages: list[Usage] = []

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        async for delta in super().generate(request):
            if delta.usage is not None:
                self.usages.append(delta.usage)
            yield delta


@pytest.fixture
async def llm() -> AsyncIterator[Recorded]:
    llm = Recorded(ROOT / "voiceagent/demo/weights/ct2")
    await llm.start()
    yield llm
    await llm.close()


async def ask(session: Session, client: FakeClient, number: int, words: str) -> None:
    """One typed question, and its answer to the end."""
    session.handle(ev.ItemCreated(MessageItem(f"q{number}", "user", words)))
    session.handle(ev.ResponseRequested())
    await client.until(lambda: len(client.of(notify.NotifyResponseEnded)) > number)
    assert client.of(notify.NotifyResponseEnded)[-1].status == "completed"


async def test_hanging_up_ends_a_summary_that_is_being_made():
    llm = ScriptedLlm(["A long answer to a question. " * 40], [HANG], usage=Usage())
    history = HistoryConfig(max_tokens=100, kept_tokens=10, summary_tokens=20)
    services = await call_services(Deaf(), llm, Deaf(), history=history)
    client = FakeClient()
    settings = replace(services.settings, turn_detection=None, output_modality="text")
    session = Session("call_1", services, settings, client)
    session.begin()
    session.handle(ev.ItemCreated(MessageItem("early", "user", EARLY)))
    session.handle(ev.ItemCreated(MessageItem("answer", "assistant", "Very well.")))
    await ask(session, client, 0, "When is breakfast?")
    for _ in range(20):
        await asyncio.sleep(0)
    assert [request.priority_class for request in llm.requests] == ["turn", "summary"] and llm.running == 1
    await session.close("the caller hung up")
    assert llm.running == 0


async def test_a_call_past_its_budget_still_knows_what_was_said_first(llm: Recorded):
    config = load(ROOT / "configs/demo.toml")
    history = config.history.model_copy(update={"max_tokens": 400, "kept_tokens": 100})
    config = config.model_copy(update={"history": history})
    metrics = Metrics()
    services = await compose(config, Engines(Deaf(), llm, Deaf()), metrics, LoadShedder())  # type: ignore[arg-type]
    client = FakeClient()
    settings = replace(services.settings, turn_detection=None, output_modality="text")
    session = Session("call_1", services, settings, client)
    questions = [
        message["content"]
        for conversation in islice(conversations("heldout", 1), 16)
        for message in conversation
        if message["role"] == "user"
    ][:24]
    try:
        session.begin()
        for number, words in enumerate([EARLY, *questions]):
            await ask(session, client, number, words)
            await asyncio.sleep(0.05)  # the caller's pause, in which old turns are replaced
    finally:
        await session.close("the test is over")

    def replaced() -> float:
        return metrics.registry.get_sample_value("voiceagent_llm_summaries_total", {"result": "extract"}) or 0

    assert 2 <= replaced() <= len(questions) / 3, "few and large replacements"
    last = llm.requests[-1]
    assert EARLY not in [message.content for message in last.messages]
    assert "My name is Anna Lund" in last.messages[1].content and "room 412" in last.messages[1].content
    assert last.messages[0] == llm.requests[0].messages[0]
    system_tokens = llm.usages[0].prompt_tokens
    assert max(usage.prompt_tokens for usage in llm.usages) < system_tokens + 2 * history.max_tokens
    assert metrics.registry.get_sample_value("voiceagent_llm_prompt_partings_total") == 0
    assert all(usage.cached_tokens > 0 for usage in llm.usages[1:]), "the system prompt is always cached"
