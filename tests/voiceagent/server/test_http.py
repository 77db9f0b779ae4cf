"""The signals that stop a server."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from voiceagent.server.http import stop_on_signals

HANDLED_S = 0.05
"""How long a signal that does nothing may take to do so."""


@pytest.fixture
def hung_up() -> Iterator[list[int]]:
    """SIGHUPs that no server heeded; they would end this process else."""
    unheeded: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: unheeded.append(number))
    yield unheeded
    signal.signal(signal.SIGHUP, before)


async def test_a_closed_terminal_stops_a_server_and_its_second_signal_cuts_no_call_off(
    hung_up: list[int],
) -> None:
    stopped = stop_on_signals(lambda: False)
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(HANDLED_S)
    assert (stopped.is_set(), hung_up) == (True, [])


async def test_a_closed_terminal_stops_no_server_that_nohup_started(hung_up: list[int]) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stopped = stop_on_signals(lambda: False)
    os.kill(os.getpid(), signal.SIGHUP)
    await asyncio.sleep(HANDLED_S)
    assert not stopped.is_set()
