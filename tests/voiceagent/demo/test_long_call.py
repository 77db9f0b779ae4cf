"""A whole call that outgrows its budget, with the demo model: what was said early is still in the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from fake_client import FakeClient
from shipped_models import INT8
from typed_call import Deaf, ask

from examples.hotel_model.data.conversations import conversations
from llmcore.engine import Delta, Request, Usage
from llmcore.engines.ct2_engine import CTranslate2Llm
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.config.tables import load
from voiceagent.demo.world import system_prompt
from voiceagent.engines.engines import Engines
from voiceagent.server.startup import compose
from voiceagent.session.session import Session
from voiceagent.telemetry.metrics import Metrics

ROOT = Path(__file__).parents[3]
EARLY = "My name is Anna Lund, and I am in room 412 for two nights."


class Recorded(CTranslate2Llm):
    """The demo model; records requests and responses."""

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
    llm = Recorded(INT8)
    await llm.start()
    yield llm
    await llm.close()


async def test_a_call_past_its_budget_still_knows_what_was_said_first(llm: Recorded):
    config = load(ROOT / "configs/demo.toml")
    history = config.history.model_copy(update={"max_tokens": 400, "kept_tokens": 100})
    config = config.model_copy(update={"history": history})
    metrics = Metrics()
    services = await compose(config, Engines(Deaf(), llm, Deaf()), metrics, LoadShedder())  # type: ignore[arg-type]
    client = FakeClient()
    settings = replace(
        services.settings, instructions=system_prompt(), turn_detection=None, output_modality="text"
    )
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
    partings = metrics.registry.get_sample_value
    assert partings("voiceagent_llm_prompt_partings_total", {"part": "history"}) is None
    assert all(usage.cached_tokens > 0 for usage in llm.usages[1:]), "the system prompt is always cached"
