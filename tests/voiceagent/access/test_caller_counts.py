"""Limits on tries of a key by one address."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.access.caller_counts import MINUTE_S, WrongKeys

ADDRESSES = st.sampled_from([f"192.0.2.{last}" for last in range(20)])


@given(st.lists(st.tuples(ADDRESSES, st.floats(0, 100)), max_size=100), st.integers(1, 5))
def test_an_address_is_blocked_by_its_own_keys_of_a_minute(tried: list[tuple[str, float]], most: int) -> None:
    keys, began = WrongKeys(), dict[str, list[float]]()
    for address, at_s in sorted(tried, key=lambda each: each[1]):
        own = began.setdefault(address, [])
        if own and at_s - own[0] >= MINUTE_S:
            own.clear()
        assert keys.blocked(address, at_s, most) is (len(own) >= most)
        keys.note(address, at_s)
        own.append(at_s)


def test_of_very_many_addresses_the_newest_are_known() -> None:
    keys = WrongKeys()
    for number in range(20_000):
        keys.note(f"2001:db8::{number:x}", number / 1000)
    assert keys.blocked("2001:db8::4e1f", 20.0, 1)


def test_a_clock_that_is_set_back_blocks_nobody_for_longer() -> None:
    keys = WrongKeys()
    keys.note("192.0.2.7", 10_000.0)
    assert keys.blocked("192.0.2.7", 10_001.0, 1)
    assert not keys.blocked("192.0.2.7", 5_000.0, 1)
