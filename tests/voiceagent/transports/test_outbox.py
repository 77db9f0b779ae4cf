"""The queue to a client is bounded, and unwanted sound is removed from it."""

from __future__ import annotations

import asyncio

from voiceagent.transports.outbox import Outbox


async def test_messages_leave_in_order() -> None:
    outbox = Outbox()
    outbox.put("one")
    outbox.put("two", sound=True)
    assert [await outbox.next(), await outbox.next()] == ["one", "two"]


async def test_next_waits_for_a_message() -> None:
    outbox = Outbox()
    waiting = asyncio.create_task(outbox.next())
    await asyncio.sleep(0)
    assert not waiting.done()
    outbox.put("one")
    assert await waiting == "one"


async def test_a_message_is_sent_at_once_where_none_waits() -> None:
    outbox, sent = Outbox(), list[str]()
    outbox.send_now = lambda text: not sent.append(text)  # type: ignore[func-returns-value]
    outbox.put("one")
    assert sent == ["one"] and len(outbox) == 0


async def test_no_message_overtakes_one_that_waits_or_is_being_sent() -> None:
    outbox, sent = Outbox(), list[str]()
    outbox.put("one")
    outbox.send_now = lambda text: not sent.append(text)  # type: ignore[func-returns-value]
    outbox.put("two")
    assert [await outbox.next(), await outbox.next()] == ["one", "two"]
    outbox.put("three")
    assert not sent
    assert await outbox.next() == "three"


async def test_a_message_that_cannot_be_sent_at_once_waits() -> None:
    outbox = Outbox()
    outbox.send_now = lambda text: False
    outbox.put("one")
    assert await outbox.next() == "one"


async def test_dropping_sound_keeps_everything_else() -> None:
    outbox = Outbox()
    for text, sound in (("a", True), ("b", False), ("c", True), ("d", False)):
        outbox.put(text, sound)
    outbox.drop_sound()
    assert [await outbox.next(), await outbox.next()] == ["b", "d"]
    assert len(outbox) == 0


async def test_dropped_sound_makes_room() -> None:
    outbox = Outbox(max_bytes=10)
    outbox.put("x" * 10, sound=True)
    outbox.drop_sound()
    outbox.put("y")
    assert await outbox.next() == "y"


async def test_too_many_bytes_overflow_it_for_good() -> None:
    outbox = Outbox(max_bytes=10)
    outbox.put("x" * 9)
    outbox.put("y" * 50)  # while there is room, any length
    outbox.put("z")
    await asyncio.wait_for(outbox.overflowed(), 1)
    outbox.put("later")
    assert len(outbox) == 0


async def test_too_many_messages_overflow_it() -> None:
    outbox = Outbox(max_messages=2)
    for text in "abc":
        outbox.put(text)
    await asyncio.wait_for(outbox.overflowed(), 1)


async def test_what_was_sent_makes_room() -> None:
    outbox = Outbox(max_bytes=10, max_messages=1)
    for _ in range(5):
        outbox.put("x" * 10)
        await outbox.next()
    assert not asyncio.create_task(outbox.overflowed()).done()
    outbox.put("last")
    assert await outbox.next() == "last"
