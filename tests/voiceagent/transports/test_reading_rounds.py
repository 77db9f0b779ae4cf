"""Connections that are read together: sockets of the kernel, a clock and timers of the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from voiceagent.processes.rounds import ROUND_S, Rounds
from voiceagent.transports.reading_rounds import FEW, MANY, ReadingRounds, RoundTransport


class Clock:
    """A running event loop's clock and timers. wakes: how often a timer woke it."""

    def __init__(self) -> None:
        self.now_s, self.wakes = 100.0, 0
        self.failures: list[object] = []
        self._timers: list[tuple[float, object]] = []

    def time(self) -> float:
        return self.now_s

    def call_at(self, when_s: float, call: object, context: object = None) -> Clock:
        self._timers.append((when_s, call))
        return self

    def cancel(self) -> None:
        self._timers.clear()

    def call_exception_handler(self, context: dict[str, object]) -> None:
        self.failures.append(context["exception"])

    def pass_s(self, seconds: float) -> None:
        """So much time goes by."""
        until_s = self.now_s + seconds
        while self._timers and self._timers[0][0] <= until_s + 1e-9:
            when_s, call = self._timers.pop(0)
            self.now_s = max(self.now_s, when_s)
            self.wakes += 1
            call()
        self.now_s = max(self.now_s, until_s)


class Socket(asyncio.Transport):
    """A connection as the event loop has it. reading: True while the loop reads it."""

    def __init__(self) -> None:
        self.far, self.near = socket.socketpair()
        self.near.setblocking(False)
        self.reading, self.closed = True, False

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self.near if name == "socket" else default

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True
        self.far.close()
        self.near.close()

    abort = close


@pytest.fixture(name="clock")
def _clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)
    return clock


class Lines:
    """Connections that have joined. taken: what came, and of which."""

    def __init__(self) -> None:
        self.rounds, self.taken = ReadingRounds(Rounds()), list[tuple[int, bytes]]()
        self.sockets: list[Socket] = []
        self.joined: list[RoundTransport] = []

    def add(self, count: int) -> None:
        for _ in range(count):
            number = len(self.sockets)
            self.sockets.append(Socket())
            line = RoundTransport(self.sockets[-1], lambda data, n=number: self.take(n, data), self.rounds)
            self.joined.append(line)
            line.join()

    def take(self, number: int, data: bytes) -> None:
        self.taken.append((number, data))


@pytest.fixture(name="lines")
def _lines(clock: Clock) -> Iterator[Lines]:
    lines = Lines()
    yield lines
    for line in lines.joined:
        line.close()


def test_few_are_read_by_the_event_loop(clock: Clock, lines: Lines) -> None:
    lines.add(MANY)
    clock.pass_s(1.0)
    assert clock.wakes == 0
    assert all(socket.reading for socket in lines.sockets)


@pytest.mark.parametrize("calls", [MANY + 1, 40])
def test_many_wake_the_process_once_a_round(clock: Clock, lines: Lines, calls: int) -> None:
    lines.add(calls)
    for _ in range(50):
        for one in lines.sockets:
            one.far.send(b"20 ms")
        clock.pass_s(ROUND_S)
    assert clock.wakes == 50
    assert len(lines.taken) == 50 * calls
    assert not any(socket.reading for socket in lines.sockets)


def test_what_came_before_the_first_round_is_read_in_order(clock: Clock, lines: Lines) -> None:
    lines.add(MANY)
    lines.sockets[0].far.send(b"one, ")
    lines.sockets[0].far.send(b"two")
    lines.add(1)
    clock.pass_s(ROUND_S)
    assert lines.taken == [(0, b"one, two")]


def test_a_late_round_is_not_made_up_for(clock: Clock, lines: Lines) -> None:
    lines.add(MANY + 1)
    clock.now_s += 10 * ROUND_S  # the loop stood still
    clock.pass_s(0.0)
    clock.pass_s(ROUND_S)
    assert clock.wakes == 2


def test_where_few_are_left_they_are_read_at_once_again(clock: Clock, lines: Lines) -> None:
    lines.add(MANY + 1)
    for line in lines.joined[FEW - 1 :]:
        line.close()
    clock.pass_s(1.0)
    assert clock.wakes == 0
    assert all(socket.reading for socket in lines.sockets[: FEW - 1])


def test_a_paused_one_is_not_read_until_it_goes_on(clock: Clock, lines: Lines) -> None:
    lines.add(MANY + 1)
    lines.joined[0].pause_reading()
    lines.sockets[0].far.send(b"sound")
    clock.pass_s(ROUND_S)
    assert not lines.taken
    lines.joined[0].resume_reading()
    clock.pass_s(ROUND_S)
    assert lines.taken == [(0, b"sound")]


def test_the_end_of_a_connection_is_found_by_its_transport(clock: Clock, lines: Lines) -> None:
    lines.add(MANY + 1)
    lines.sockets[0].far.shutdown(socket.SHUT_WR)
    clock.pass_s(ROUND_S)
    assert lines.sockets[0].reading
    assert not lines.taken


def test_one_that_fails_is_cut_and_hurts_no_other(
    clock: Clock, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = list[int]()

    def take(number: int, _: bytes) -> None:
        if number == 0:
            raise ValueError("broken")
        taken.append(number)

    lines.add(MANY + 1)
    monkeypatch.setattr(lines, "take", take)
    for one in lines.sockets:
        one.far.send(b"sound")
    clock.pass_s(ROUND_S)
    assert sorted(taken) == list(range(1, MANY + 1))
    assert lines.sockets[0].closed
    assert [str(failure) for failure in clock.failures] == ["broken"]


def test_one_that_is_closed_by_another_in_a_round_is_not_read(
    clock: Clock, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = list[int]()

    def take(number: int, _: bytes) -> None:
        taken.append(number)
        for other in lines.joined[FEW:]:
            if other is not lines.joined[number]:
                other.close()

    lines.add(MANY + 1)
    monkeypatch.setattr(lines, "take", take)
    for one in lines.sockets[FEW:]:
        one.far.send(b"sound")
    clock.pass_s(ROUND_S)
    assert len(taken) == 1
