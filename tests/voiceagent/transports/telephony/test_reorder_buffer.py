from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.transports.telephony.reorder_buffer import DEPTH, ReorderBuffer


def ordered(numbers: list[int]) -> list[int]:
    order = ReorderBuffer()
    return [payload[0] for number in numbers for payload in order.push(number, bytes([number]))]


def test_what_comes_in_order_goes_through_at_once():
    order = ReorderBuffer()
    assert [order.push(number, b"x") for number in (1, 2, 3)] == [[b"x"]] * 3


def test_what_comes_early_waits_for_what_is_before_it():
    assert ordered([1, 3, 2, 4]) == [1, 2, 3, 4]


def test_what_comes_twice_is_dropped():
    assert ordered([1, 2, 2, 4, 4, 3]) == [1, 2, 3, 4]


def test_what_never_comes_is_given_up_and_late_is_dropped():
    numbers = [1, *range(3, 3 + DEPTH + 1), 2]
    assert ordered(numbers) == [1, *range(3, 3 + DEPTH + 1)]


def test_a_stream_whose_beginning_was_missed_is_heard():
    assert ordered(list(range(100, 110))) == list(range(100, 110))


@given(st.permutations(list(range(1, 30))))
def test_whatever_the_order_it_is_put_right_but_for_what_comes_too_late(numbers):
    heard = ordered(numbers)
    assert heard == sorted(set(heard))


@given(st.lists(st.integers(0, DEPTH - 1), min_size=30, max_size=30))
def test_nothing_is_lost_where_messages_change_places_within_the_depth(delays):
    numbers = sorted(range(1, 31), key=lambda number: number + delays[number - 1])
    heard = ordered(numbers)
    assert heard[:25] == list(range(1, 26))
