from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.processes.policies.flow_control import ReceiveWindow, SendWindow


@given(st.integers(1, 1_000), st.lists(st.integers(1, 3_000), min_size=1))
def test_a_reader_who_reads_all_gets_all(window: int, sizes: list[int]) -> None:
    sending, receiving = SendWindow(window), ReceiveWindow(window)
    for size in sizes:
        assert sending.has_room(size)
        sending.count_sent(size)
        sending.add_credit(receiving.read(size))


@given(st.integers(8, 1_000), st.lists(st.integers(1, 3_000), min_size=1))
def test_unread_frames_fill_the_window_and_no_more_than_one_beside(window: int, sizes: list[int]) -> None:
    sending = SendWindow(window)
    unread = [size for size in sizes if sending.has_room(size) and sending.count_sent(size) is None]
    assert sum(unread[:-1]) <= window


def test_credit_comes_back_a_quarter_of_the_window_at_a_time() -> None:
    receiving = ReceiveWindow(400)
    assert [receiving.read(size) for size in (60, 60, 60, 39, 1)] == [0, 120, 0, 0, 100]
