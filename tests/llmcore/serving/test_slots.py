from __future__ import annotations

import asyncio

import pytest

from llmcore.serving.slots import Busy, PrioritySlots


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_free_slot_is_taken_at_once() -> None:
    slots = PrioritySlots(2, max_waiting=0)
    await slots.acquire()
    assert slots.free == 1


async def test_the_most_urgent_is_admitted_first_then_the_first_come() -> None:
    slots = PrioritySlots(1, max_waiting=9)
    await slots.acquire()
    order: list[str] = []

    async def work(name: str, priority: int) -> None:
        await slots.acquire(priority)
        order.append(name)
        slots.release()

    async with asyncio.TaskGroup() as group:
        for name, priority in [("preemptive", 10), ("first", 0), ("second", 0), ("urgent", -1)]:
            group.create_task(work(name, priority))
        await settle()
        slots.release()
    assert order == ["urgent", "first", "second", "preemptive"]
    assert slots.free == 1


async def test_beyond_the_bound_the_least_urgent_is_refused() -> None:
    slots = PrioritySlots(1, max_waiting=1)
    await slots.acquire()
    preemptive = asyncio.create_task(slots.acquire(10))
    await settle()
    real = asyncio.create_task(slots.acquire(0))
    with pytest.raises(Busy):
        await preemptive
    slots.release()
    await real


async def test_a_newcomer_that_is_no_more_urgent_is_refused_itself() -> None:
    slots = PrioritySlots(1, max_waiting=1)
    await slots.acquire()
    waiting = asyncio.create_task(slots.acquire(0))
    await settle()
    with pytest.raises(Busy):
        await slots.acquire(0)
    slots.release()
    await waiting


async def test_who_is_cancelled_while_waiting_leaves_the_queue() -> None:
    slots = PrioritySlots(1, max_waiting=1)
    await slots.acquire()
    waiting = asyncio.create_task(slots.acquire())
    await settle()
    waiting.cancel()
    await settle()
    following = asyncio.create_task(slots.acquire())
    await settle()
    slots.release()
    await following


async def test_who_is_cancelled_just_as_the_slot_comes_gives_it_back() -> None:
    slots = PrioritySlots(1, max_waiting=1)
    await slots.acquire()
    waiting = asyncio.create_task(slots.acquire())
    await settle()
    slots.release()
    waiting.cancel()
    await settle()
    assert slots.free == 1


async def test_one_caller_has_half_of_the_slots_and_others_pass_him() -> None:
    slots = PrioritySlots(4, max_waiting=9)
    order: list[str] = []

    async def take(caller: str) -> None:
        await slots.acquire(0, caller)
        order.append(caller)

    async with asyncio.TaskGroup() as group:
        for caller in ("greedy", "greedy", "greedy", "other", "another"):
            group.create_task(take(caller))
        await settle()
        assert order == ["greedy", "greedy", "other", "another"]
        slots.release("other")
        await settle()
        assert order == ["greedy", "greedy", "other", "another"]
        slots.release("greedy")
    assert order[-1] == "greedy"


async def test_a_caller_who_gave_up_holds_no_share() -> None:
    slots = PrioritySlots(2, max_waiting=9)
    await slots.acquire(0, "one")
    waiting = asyncio.create_task(slots.acquire(0, "one"))
    await settle()
    waiting.cancel()
    await settle()
    slots.release("one")
    await slots.acquire(0, "one")
    assert slots.free == 1


async def test_who_is_hurried_goes_before_those_who_came_earlier() -> None:
    slots = PrioritySlots(1, max_waiting=9)
    await slots.acquire()
    order: list[str] = []

    async def work(caller: str) -> None:
        await slots.acquire(10, caller)
        order.append(caller)
        slots.release(caller)

    async with asyncio.TaskGroup() as group:
        for caller in ("first", "second", "third"):
            group.create_task(work(caller))
        await settle()
        slots.raise_priority("third", 0)
        slots.raise_priority("second", 20)
        slots.release()
    assert order == ["third", "first", "second"]
