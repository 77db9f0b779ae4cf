"""Packets come out in order, at once where they can, and nothing waits for what is lost longer than the
depth.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from audio.jitter import MAX_DEPTH_S, MAX_GAP_S, MIN_DEPTH_S, Gap, JitterBuffer, MediaPacket

RATE_HZ = 48_000
FRAME = 960
FRAME_S = 0.02


def packet(number: int, first: int = 0) -> MediaPacket:
    """The packet with this place in the stream; its payload says which it is."""
    sequence, timestamp = (first + number) % 65_536, (first + number) * FRAME % 2**32
    return MediaPacket(sequence, timestamp, str(number).encode(), FRAME)


@dataclass
class Heard:
    """Output: each packet's number with its time, and the gaps."""

    packets: list[tuple[int, float]]
    gaps: list[Gap]
    order: list[int | None]

    def take(self, ready: list[MediaPacket | Gap], now_s: float) -> None:
        for piece in ready:
            if isinstance(piece, Gap):
                self.gaps.append(piece)
                self.order += [None] * (piece.samples // FRAME)
            else:
                self.packets.append((int(piece.payload), now_s))
                self.order.append(int(piece.payload))


def play(arrivals: list[tuple[float, int]], first: int = 0) -> Heard:
    """Push packets (time, number) into a buffer that is asked whenever it wants to be."""
    buffer, heard = JitterBuffer(RATE_HZ), Heard([], [], [])
    for now_s, number in sorted(arrivals):
        while (due_s := buffer.next_due_s()) is not None and due_s <= now_s:
            heard.take(buffer.due(due_s), due_s)
        heard.take(buffer.push(packet(number, first), now_s), now_s)
    while (due_s := buffer.next_due_s()) is not None:
        heard.take(buffer.due(due_s), due_s)
    return heard


def line(
    count: int, lost: Collection[int] = (), late: dict[int, float] | None = None
) -> list[tuple[float, int]]:
    """Packets at the pace of real time, some lost, some late by seconds."""
    late = late or {}
    return [(n * FRAME_S + late.get(n, 0.0), n) for n in range(count) if n not in lost]


losses = st.sets(st.integers(1, 98))
delays = st.dictionaries(st.integers(1, 98), st.floats(0, 0.3))


@given(st.integers(0, 2**33))
def test_a_clean_line_is_not_delayed_at_all_wherever_its_counters_wrap(first: int) -> None:
    heard = play(line(100), first)
    assert heard.packets == [(n, n * FRAME_S) for n in range(100)]
    assert not heard.gaps


@given(losses, delays)
def test_every_moment_is_heard_once_and_in_order(lost: set[int], late: dict[int, float]) -> None:
    heard = play(line(100, lost, late))
    assert len(heard.order) == 100
    assert all(number is None or number == place for place, number in enumerate(heard.order))


@given(losses, delays)
def test_no_packet_waits_longer_than_the_greatest_depth(lost: set[int], late: dict[int, float]) -> None:
    arrivals = line(100, lost, late)
    arrived_s = {number: at_s for at_s, number in arrivals}
    for number, heard_s in play(arrivals).packets:
        assert heard_s - arrived_s[number] <= MAX_DEPTH_S + 1e-9


@given(losses)
def test_lost_packets_delay_those_behind_them_by_the_depth_and_no_others(lost: set[int]) -> None:
    heard = play(line(100, lost))
    behind = {number + 1 for number in lost}
    for number, heard_s in heard.packets:
        waited_s = heard_s - number * FRAME_S
        assert waited_s <= MIN_DEPTH_S + 1e-9
        if number not in behind and number - 1 not in behind:
            assert waited_s < 1e-9


def test_a_gap_brings_the_packet_behind_it_which_may_carry_a_copy() -> None:
    heard = play(line(10, {4, 5}))
    assert heard.gaps == [Gap(2 * FRAME, b"6")]


def test_a_packet_that_comes_in_time_fills_its_gap() -> None:
    heard = play(line(10, late={4: 0.03}))
    assert heard.order == list(range(10))


@given(st.lists(st.integers(0, 20), max_size=40))
def test_what_comes_twice_is_heard_once(again: list[int]) -> None:
    arrivals = line(21) + [(number * FRAME_S + 0.001, number) for number in again]
    assert play(arrivals).order == list(range(21))


def test_the_depth_grows_with_late_packets_and_shrinks_on_good_lines() -> None:
    buffer = JitterBuffer(RATE_HZ)
    for now_s, number in sorted(line(50, late={10: 0.07})):
        buffer.due(now_s)
        buffer.push(packet(number), now_s)
    grown_s = buffer.depth_s
    assert 0.04 < grown_s < MAX_DEPTH_S
    for number in range(50, 5_000):
        buffer.push(packet(number), number * FRAME_S)
    assert MIN_DEPTH_S <= buffer.depth_s < MIN_DEPTH_S + (grown_s - MIN_DEPTH_S) / 10


def test_once_packets_were_late_the_next_late_one_is_waited_for() -> None:
    assert play(line(100, late={10: 0.06, 20: 0.06})).order[20] == 20


def test_a_sender_that_was_silent_leaves_a_gap_that_nothing_can_fill() -> None:
    buffer = JitterBuffer(RATE_HZ)
    buffer.push(MediaPacket(1, 0, b"1", FRAME), 0.0)
    late = MediaPacket(2, 10 * FRAME, b"2", FRAME)
    assert buffer.push(late, 0.2) == [Gap(9 * FRAME), late]


def test_a_long_gap_is_cut() -> None:
    buffer = JitterBuffer(RATE_HZ)
    buffer.push(MediaPacket(1, 0, b"1", FRAME), 0.0)
    gap = buffer.push(MediaPacket(2, 60 * RATE_HZ, b"2", FRAME), 60.0)[0]
    assert gap == Gap(round(MAX_GAP_S * RATE_HZ))


def test_a_sender_that_begins_anew_is_heard_at_once() -> None:
    buffer = JitterBuffer(RATE_HZ)
    buffer.push(packet(0), 0.0)
    anew = packet(0, first=30_000)
    assert buffer.push(anew, 0.02) == [anew]


@given(st.lists(st.builds(packet, st.integers(0, 70_000)), max_size=200))
def test_no_broken_stream_makes_the_buffer_exceed_its_depth(
    packets: list[MediaPacket],
) -> None:
    buffer = JitterBuffer(RATE_HZ)
    for place, each in enumerate(packets):
        buffer.push(each, place * FRAME_S)
        assert buffer.next_due_s() is None or buffer.next_due_s() <= place * FRAME_S + MAX_DEPTH_S
