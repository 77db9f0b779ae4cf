"""Shutdown of a server process: its signals, and its remaining work."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from voiceagent.config.tables import ServerConfig
from voiceagent.server import ending
from voiceagent.server.ending import log_draining, run_until_all_end, stop_on_signals

HANDLED_S = 0.05
"""How long a signal that does nothing may take to do so."""


async def until_cancelled(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("in good order")


async def hold_on() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


def test_a_process_ends_though_a_task_holds_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "CLOSE_S", 0.05)
    ended: list[str] = []
    begun: list[asyncio.Task[None]] = []

    async def work() -> None:
        begun.append(asyncio.create_task(until_cancelled(ended)))
        begun.append(asyncio.create_task(hold_on(), name="tool look"))
        await asyncio.sleep(0)

    with capture_logs() as told:
        run_until_all_end(work())
    assert ended == ["in good order"]
    assert [(line["event"], line["task"]) for line in told] == [("task_still_running", "tool look")]


@pytest.fixture
def hung_up() -> Iterator[list[int]]:
    """SIGHUPs that no server heeded; they would end this process else."""
    unheeded: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: unheeded.append(number))
    yield unheeded
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("number", "ctrl_c"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
async def test_first_signal_says_whether_it_was_ctrl_c(number: int, ctrl_c: bool) -> None:
    stopped = stop_on_signals(lambda: False)
    os.kill(os.getpid(), number)
    await asyncio.sleep(HANDLED_S)
    assert stopped.is_set()
    assert stopped.ctrl_c is ctrl_c


@pytest.mark.parametrize(
    ("host", "ctrl_c", "patience_s"),
    [("127.0.0.1", True, 5.0), ("127.0.0.1", False, 3600.0), ("0.0.0.0", True, 3600.0)],
)
def test_calls_have_seconds_after_ctrl_c_on_this_machine_only(
    host: str, ctrl_c: bool, patience_s: float
) -> None:
    assert ServerConfig(host=host, open=True).patience_s(ctrl_c) == patience_s


@pytest.mark.parametrize("calls", [0, 2])
def test_draining_with_open_calls_says_how_to_end_them(calls: int) -> None:
    with capture_logs() as told:
        log_draining(calls, 5.0)
    assert (told[0]["calls"], "next" in told[0]) == (calls, calls > 0)


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
