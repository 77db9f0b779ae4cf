"""A call whose response comes from the semantic cache continues as if the LLM had said it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator

import numpy as np
import pytest
from call_services import call_services
from call_settings import call_settings
from fake_client import FakeClient
from prometheus_client import CollectorRegistry
from scripted_llm import ScriptedLlm
from word_vectors import WordVectors

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.cache.cached_engine import AuditSettings, CachedLlm
from llmcore.cache.entries import MemoryEntries
from llmcore.cache.policy.semantic_cache import CacheableClass, Rules
from llmcore.engine import Message, Usage
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.session.session import Session
from voiceagent.telemetry.llm_metrics import CacheMetrics

RESPONSE = "We have a pool. It is open until nine."
RULES = Rules((CacheableClass((re.compile("pool"),), 60.0, self_contained=False),), 0.9)


class Ears:
    """Understands what is next in `words`."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        words = self.words.pop(0)
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis(words, settled=True)


class Mouth:
    rate_hz = 24_000

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield Speech(np.full(2400, 1000, np.int16))


async def spoken_turn(session: Session, client: FakeClient, at_s: float) -> str:
    """The caller says something and is answered; the text of the answer."""
    before = len(client.of(notify.NotifyResponseText))
    ended = len(client.of(notify.NotifyResponseEnded))
    session.post(ev.SpeechStarted(at_s))
    session.post(ev.SpeechPaused(at_s + 0.1))
    await asyncio.sleep(0)
    session.post(ev.TurnEnded(at_s + 0.1))
    await client.until(lambda: len(client.of(notify.NotifyResponseEnded)) > ended)
    return "".join(notification.text for notification in client.of(notify.NotifyResponseText)[before:])


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a loaded machine a look-up is not to be late."""
    monkeypatch.setattr("llmcore.cache.cached_engine.MAX_WAIT_S", 30.0)


async def test_a_question_of_another_caller_is_answered_from_the_cache():
    registry = CollectorRegistry()
    engine = ScriptedLlm([RESPONSE], usage=Usage(30, 0, 9))
    never = AuditSettings(0.0, 0.8, 0.0, 300.0)
    llm = CachedLlm(engine, MemoryEntries(10), WordVectors(), RULES, never, CacheMetrics(registry))
    for questions in (["is there a pool"], ["is there a pool", "and a bar"]):
        shared, client = await call_services(Ears(*questions), llm, Mouth()), FakeClient()
        session = Session("call", shared, call_settings(latency_events=True), client)
        answers = [await spoken_turn(session, client, 10.0 * n) for n in range(len(questions))]
        await llm.wait_until_stored()
        await session.close("test over")
        assert set(answers) == {RESPONSE}
    assert registry.get_sample_value("voiceagent_semantic_cache_hits_total") == 1
    assert client.reports[0].counts.preemptive_hits == 1, "it was there before the turn was over"
    assert client.reports[0].counts.cached_tokens == 30
    question, answer, last = engine.requests[-1].messages[-3:]
    assert (question, last) == (Message("user", "is there a pool"), Message("user", "and a bar"))
    assert answer.role == "assistant"
    assert RESPONSE.startswith(answer.content), "what the caller has heard of it"
    assert answer.content
    await llm.close()
