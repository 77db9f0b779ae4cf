from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from scripted_llm import HANG, ScriptedLlm

from llmcore.engine import FREE_DRAFT, Delta, DraftUse, Message, Request, SupportsSpeculation, Usage
from llmcore.engine_load import EngineLoad
from llmcore.policies.circuit_breaker import Backoff
from llmcore.policies.speculation import TRIAL_PROPOSALS, Reason, Speculation, SpeculationLimits
from llmcore.serving.speculating_engine import SpeculatingLlm

ASK = Request((Message("user", "hello?"),))
LIMITS = SpeculationLimits(0.5, window=20, max_streams=2, min_tokens=10, retry=Backoff(60.0, 60.0))


class Drafting(ScriptedLlm):
    """An engine with a draft whose counts the test sets."""

    has_draft = True
    counts = EngineLoad(drafts=0, drafted=0, accepted=0)

    def __init__(self, *scripts: list[object], usage: Usage | None = None) -> None:
        super().__init__(*scripts, usage=usage)
        self.reply_drafts: list[DraftUse] = []
        self.prefill_drafts: list[DraftUse] = []

    def generate(self, request: Request, draft: DraftUse = FREE_DRAFT) -> AsyncGenerator[Delta, None]:
        self.reply_drafts.append(draft)
        return super().generate(request)

    async def prefill(self, request: Request, draft: DraftUse = FREE_DRAFT) -> Usage | None:
        self.prefill_drafts.append(draft)
        return await super().prefill(request)

    def load(self) -> EngineLoad:
        return self.counts


class Rig:
    def __init__(self, engine: Drafting) -> None:
        self.engine = engine
        self.reasons: list[Reason] = []
        self.now_s = 0.0
        self.llm = SpeculatingLlm(engine, Speculation(LIMITS), self.reasons.append, lambda: self.now_s)

    async def ask(self) -> int | None:
        """Return the number of proposals requested of the engine for a reply."""
        async with aclosing(self.llm.generate(ASK)) as deltas:
            async for _ in deltas:
                pass
        return self.engine.reply_drafts[-1].proposals


def proposed(times: int, accepted: int) -> EngineLoad:
    return EngineLoad(drafts=times, drafted=3 * times, accepted=accepted)


@pytest.fixture
def rig() -> Rig:
    return Rig(Drafting(usage=Usage(9, 0, 100)))


def test_the_engine_of_these_tests_is_one_that_speculates():
    assert isinstance(Drafting(), SupportsSpeculation)
    assert not isinstance(ScriptedLlm(), SupportsSpeculation)


async def test_the_engine_is_granted_proposals_and_the_reason_is_counted(rig):
    assert await rig.ask() == TRIAL_PROPOSALS
    rig.engine.counts = proposed(20, accepted=60)
    assert await rig.ask() is None
    rig.engine.counts = proposed(60, accepted=60)
    assert await rig.ask() == 0
    assert rig.reasons == ["trial", "pays", "acceptance"]


async def test_a_surely_bad_draft_need_not_read(rig):
    read = []
    for failed in (1, 2):
        await rig.ask()
        rig.engine.counts = proposed(20 * failed, accepted=0)
        await rig.ask()
        await rig.llm.prefill(ASK)
        read.append((rig.engine.reply_drafts[-1].reads, rig.engine.prefill_drafts[-1].reads))
        rig.now_s += 60.0
    assert read == [(True, True), (False, False)]


async def test_a_draft_left_out_is_logged_and_so_is_its_return(rig, caplog):
    caplog.set_level(logging.INFO)
    rig.engine.counts = proposed(20, accepted=6)
    assert rig.llm.load() == rig.engine.counts
    assert rig.llm.state == "off"
    rig.now_s = 60.0
    await rig.ask()
    rig.engine.counts = proposed(40, accepted=66)
    await rig.ask()
    assert [record.message for record in caplog.records] == [
        "speculation is off and will be tried again: only 10% of the draft's tokens are right",
        "speculation is on trial again",
        "speculation is on: 100% of the draft's tokens are right",
    ]


async def test_replies_that_are_written_at_once_are_counted_until_they_are_closed():
    rig = Rig(Drafting(["a", HANG]))
    replies = [rig.llm.generate(ASK) for _ in range(3)]
    for deltas in replies:
        await anext(deltas)
    assert rig.reasons == ["trial", "trial", "streams"]
    for deltas in replies:
        await deltas.aclose()
    assert rig.engine.running == 0
    await anext(rig.llm.generate(ASK))
    assert rig.reasons[-1] == "trial"


async def test_the_lengths_of_replies_are_learned():
    rig = Rig(Drafting(usage=Usage(9, 0, 3)))
    await rig.ask()
    await rig.ask()
    assert rig.reasons == ["trial", "short"]


async def test_prefill_while_speaking_proposes_nothing(rig):
    await rig.llm.prefill(ASK)
    assert rig.engine.prefill_drafts[-1].proposals == 0
