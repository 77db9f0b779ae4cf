"""Limits on a call's length and silence, and on its client's rate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from scripted_call import ScriptedCall

from voiceagent.transports.connection import Connection, Ending
from voiceagent.transports.limits import TransportLimits
from voiceagent.transports.outbox import Outbox


class FakeWire:
    """Brings the messages that it is given, and then nothing."""

    def __init__(self, messages: list[str], paces: bool = True) -> None:
        self.paces = paces
        self.messages = messages
        self.closed: tuple[int, str] | None = None
        self.fast_paths = 0

    async def open(self) -> None:
        pass

    async def receive(self) -> str:
        if not self.messages:
            await asyncio.get_running_loop().create_future()
        return self.messages.pop(0)

    async def send(self, message: str) -> None:
        pass

    def open_fast_path(self, take: Callable[[str | bytes], None]) -> None:
        self.fast_paths += 1

    def close_fast_path(self) -> None:
        pass

    async def close(self, code: int, reason: str) -> None:
        self.closed = code, reason


class FakeHandler:
    def __init__(self) -> None:
        self.taken: list[str | bytes] = []

    def begin(self) -> None:
        pass

    def take(self, message: str | bytes) -> None:
        self.taken.append(message)

    def close(self) -> None:
        pass

    async def hang_up(self, ending: Ending) -> None:
        pass


async def ended(wire: FakeWire, handler: FakeHandler, **limits: float) -> tuple[int, str]:
    """Return how a call ends under these limits."""
    outbox: Outbox[str] = Outbox()
    call = ScriptedCall("call", None, "")  # type: ignore[arg-type]  # nobody is told anything
    checked = TransportLimits().model_copy(update=limits)
    await asyncio.wait_for(Connection(wire, outbox, call, limits=checked).run(handler), 30)
    assert wire.closed is not None
    return wire.closed


async def test_the_longest_call_ends():
    code, reason = await ended(FakeWire([]), FakeHandler(), max_call_s=0.05)

    assert (code, reason) == (1000, "the call has lasted 0.05 s (limits.max_call_s)")


async def test_a_call_in_which_nothing_comes_ends():
    code, reason = await ended(FakeWire(["one"]), FakeHandler(), max_idle_s=0.05)

    assert code == 1000
    assert "nothing has come" in reason


async def test_a_client_that_cannot_be_paced_is_ended_for_haste():
    wire, handler = FakeWire(["a" * 60_000] * 1_000, paces=False), FakeHandler()

    code, reason = await ended(wire, handler, max_bytes_per_s=65_536)

    assert code == 1008
    assert "bytes a second" in reason
    assert len(handler.taken) < 10


async def test_a_client_that_can_be_paced_is_read_slower():
    wire, handler = FakeWire(["a" * 60_000] * 1_000), FakeHandler()

    await ended(wire, handler, max_bytes_per_s=65_536, max_call_s=0.3)

    assert len(handler.taken) < 10


@pytest.mark.parametrize("limit_s", [0.0, -1.0])
def test_limits_that_nobody_could_keep_are_refused(limit_s: float):
    with pytest.raises(ValueError, match="greater than"):
        TransportLimits.model_validate({"max_call_s": limit_s})
