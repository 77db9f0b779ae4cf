"""Messages that wait for company: none is lost, none passes another."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.processes.frame_socket import FLUSH_INTERVAL_S, FrameSocket
from voiceagent.processes.messages import Broken, End, Item, Message, RpcError, encode
from voiceagent.processes.rounds import rounds_of

Written = tuple[int, str]
"""A stream, and what is written of it: a patient item, a hurried one, its end or its failure."""
WRITTEN = st.tuples(st.integers(0, 3), st.sampled_from(["patient", "patient", "hurried", "end", "broken"]))
PAUSES = st.integers(0, 2)
"""Turns of the event loop between two writes."""


def _ignore(*_: object) -> None:
    """Nothing comes this way."""


class Line:
    """Both ends of a socket. came: what has arrived at the second."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # the smallest: writes are cut
        self.came = list[Message]()
        self.near = FrameSocket(ours, _ignore, _ignore)
        self.far = FrameSocket(theirs, lambda message, _: self.came.append(message), _ignore)
        self.near.attach()
        self.far.attach()

    def close(self) -> None:
        self.near.close()
        self.far.close()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not holds():  # noqa: ASYNC110  what arrives tells no end
                await asyncio.sleep(0)


def _message(number: int, written: Written) -> Message:
    stream, kind = written
    if kind == "end":
        return End(stream)
    return Broken(stream, RpcError(str(number))) if kind == "broken" else Item(stream, (number, bytes(3_000)))


def _told(messages: list[Message]) -> list[str]:
    return [repr(message) for message in messages]


@given(st.lists(st.tuples(WRITTEN, PAUSES), max_size=30), st.booleans())
@settings(deadline=None, max_examples=60)
async def test_whatever_is_mixed_arrives_whole_and_in_order_and_all_of_it_before_what_is_hurried(
    script: list[tuple[Written, int]], busy: bool
) -> None:
    line, sent = Line(), list[Message]()
    rounds, member = rounds_of(asyncio.get_running_loop()), lambda: None
    if busy:
        rounds.join(member)
    try:
        for number, (written, pauses) in enumerate(script):
            sent.append(message := _message(number, written))
            line.near.write(encode(message), soon=written[1] != "patient")
            for _ in range(pauses):
                await asyncio.sleep(0)
            if written[1] != "patient":
                # without `FLUSH_INTERVAL_S`: turns of the event loop only
                await line.until(lambda: len(line.came) == len(sent))
        await line.until(lambda: len(line.came) == len(sent))
        assert _told(line.came) == _told(sent)
    finally:
        rounds.leave(member)
        line.close()


async def test_what_has_time_does_not_wait_for_ever_and_what_comes_meanwhile_goes_along() -> None:
    line = Line()
    try:
        for number in range(20):
            line.near.write(encode(Item(0, number)), soon=False)
            await asyncio.sleep(FLUSH_INTERVAL_S / 15)
        await line.until(lambda: len(line.came) == 20)
    finally:
        line.close()
