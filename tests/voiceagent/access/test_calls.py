from __future__ import annotations

import asyncio
from typing import Any

import pytest
from call_settings import call_settings
from structlog.testing import capture_logs

from llmcore.policies.admission import Refusal
from voiceagent.access.calls import Calls
from voiceagent.access.slots import LocalSlots
from voiceagent.session.call import CallRefused


class FakeCall:
    """A call that ends on request, or when it is closed."""

    def __init__(self) -> None:
        self.settings = call_settings()
        self.over, self.written = asyncio.Event(), asyncio.Event()
        self.written.set()
        self.closed_for = ""
        self.tools_at_work: set[asyncio.Task[None]] = set()

    async def ended(self) -> None:
        await self.over.wait()

    async def stopped(self) -> None:
        await self.over.wait()
        await self.written.wait()

    async def close(self, reason: str, end_code: str = "") -> None:
        self.closed_for = reason
        self.over.set()


class World:
    """A server with room for two calls."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.calls = Calls(LocalSlots(2), self.counts.append)
        self.opened: list[tuple[str, str]] = []

    def ready(self) -> World:
        self.calls.ready(self._make, self._make)
        return self

    def open(self, call_id: str) -> Any:
        return self.calls.open(call_id, None, "a model")  # type: ignore[arg-type]  # nobody talks to it

    def _make(self, call_id: str, client: object, model: str) -> Any:
        self.opened.append((call_id, model))
        return FakeCall()


async def settle() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_no_call_is_taken_before_the_server_is_ready():
    world = World()
    with pytest.raises(CallRefused, match="the server is starting") as refused:
        world.open("1")
    assert refused.value.status == 503
    assert world.calls.state == "starting"


async def test_calls_are_opened_and_counted_until_they_end():
    world = World().ready()
    first = world.open("1")
    world.open("2")
    assert world.opened == [("1", "a model"), ("2", "a model")]
    assert len(world.calls) == 2
    first.over.set()
    await settle()
    assert len(world.calls) == 1
    assert world.counts == [1, 2, 1]


async def test_a_call_too_many_is_refused_and_taken_once_there_is_room():
    world = World().ready()
    first = world.open("1")
    world.open("2")
    with pytest.raises(CallRefused, match="all 2 calls are taken"):
        world.open("3")
    first.over.set()
    await settle()
    world.open("3")


async def test_a_call_that_only_transcribes_is_no_call_for_the_llm():
    asked: list[tuple[int, int | None]] = []
    slots = LocalSlots(3)

    def refusal(calls: int, answered: int | None) -> Refusal | None:
        asked.append((calls, answered))
        return None if answered is None else Refusal("the LLM is busy", 1.0)

    calls = Calls(slots, lambda count: None, refusal)

    def transcription(call_id: str, client: object, model: str) -> Any:
        call = FakeCall()
        call.settings = call.settings.as_transcription()
        return call

    calls.ready(lambda call_id, client, model: FakeCall(), transcription)  # type: ignore[arg-type,return-value]
    calls.open_transcription("1", None, "")  # type: ignore[arg-type]
    slots.report(0.0, 0.0, calls.transcribing)
    with pytest.raises(CallRefused, match="the LLM is busy"):
        calls.open("2", None, "")  # type: ignore[arg-type]
    assert asked == [(0, None), (1, 0)]
    assert (calls.transcribing, slots.taken, slots.answered) == (1, 1, 0)


async def test_draining_takes_no_new_call_and_lets_the_others_go_on():
    world = World().ready()
    call = world.open("1")
    draining = asyncio.create_task(world.calls.drain(patience_s=60))
    await settle()
    assert world.calls.state == "draining"
    with pytest.raises(CallRefused, match="shutting down"):
        world.open("2")
    assert not draining.done()
    call.over.set()
    await draining
    assert call.closed_for == ""


async def test_a_drain_waits_for_a_call_that_is_still_written_down():
    world = World().ready()
    call = world.open("1")
    call.written.clear()
    call.over.set()
    await settle()
    assert len(world.calls) == 0
    draining = asyncio.create_task(world.calls.drain(10.0))
    await settle()
    assert not draining.done()
    call.written.set()
    await draining


async def test_a_drain_waits_for_a_tool_that_runs_on_behind_its_call_and_not_longer_than_it_may():
    world = World().ready()
    call, booked = world.open("1"), asyncio.Event()
    booking = asyncio.create_task(booked.wait(), name="tool book")
    call.tools_at_work.add(booking)
    call.over.set()
    await settle()
    with capture_logs() as told:
        draining = asyncio.create_task(world.calls.drain(patience_s=60))
        await settle()
    assert not draining.done()
    assert told[-1]["tools"] == ["tool book"]
    await world.calls.drain(patience_s=0)
    assert not booking.done()
    booked.set()
    await draining


async def test_calls_that_outlast_the_drain_are_closed():
    world = World().ready()
    call = world.open("1")
    await world.calls.drain(patience_s=0)
    assert call.closed_for == "the server is shutting down"


async def test_an_idle_server_is_drained_at_once():
    world = World().ready()
    await world.calls.drain(patience_s=60)
    assert world.calls.state == "draining"


async def test_a_call_is_hung_up_by_its_id():
    world = World().ready()
    call = world.open("1")
    assert world.calls.ids() == ("1",)
    assert not world.calls.hang_up("2")
    assert world.calls.hang_up("1")
    await settle()
    assert "hung up" in call.closed_for
    assert world.calls.ids() == ()


async def test_an_ended_call_leaves_no_task_behind():
    before = asyncio.all_tasks()
    world = World().ready()
    world.open("1").over.set()
    await settle()
    assert asyncio.all_tasks() == before
