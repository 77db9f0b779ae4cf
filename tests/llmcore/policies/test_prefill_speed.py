from __future__ import annotations

import pytest

from llmcore.policies.prefill_speed import MIN_LONG_SHARE, MIN_TOKENS, RATE_TOKENS, PrefillSpeed


def read(speed: PrefillSpeed, tokens: int, took_s: float, times: int = 100, **told) -> PrefillSpeed:
    for _ in range(times):
        speed.observe(tokens, took_s, **({"concurrent_tokens": 0, "turn": True, "long": False} | told))
    return speed


def test_what_was_read_tells_how_long_more_takes():
    speed = read(PrefillSpeed(), 100, 0.2)
    assert speed.seconds(1_000) == pytest.approx(2.0)
    assert speed.slot_s == pytest.approx(0.2)
    assert speed.turn_tokens == pytest.approx(100)


def test_half_of_what_was_read_beside_counts_as_read_in_the_time():
    assert read(PrefillSpeed(), 100, 0.2, concurrent_tokens=200).seconds(1_000) == pytest.approx(1.0)


def test_a_prompt_of_a_few_tokens_tells_nothing_of_the_speed():
    speed = PrefillSpeed()
    before = speed.seconds(1_000), speed.seconds_under_load(1_000)
    read(speed, MIN_TOKENS - 1, 5.0)
    assert (speed.seconds(1_000), speed.seconds_under_load(1_000)) == before


def test_a_long_prompt_tells_nothing_of_how_long_a_slot_is_held():
    assert read(PrefillSpeed(), 3_000, 9.0, turn=False, long=True).slot_s == PrefillSpeed().slot_s


def test_a_prompt_that_yields_tells_only_that_no_less_is_read():
    speed = read(PrefillSpeed(), 1_000, 0.1)
    fast_s = speed.seconds_under_load(1_000)
    assert fast_s == pytest.approx(0.1 / MIN_LONG_SHARE)
    read(speed, 1_000, 50.0, turn=False, long=True)
    assert speed.seconds_under_load(1_000) == fast_s
    read(speed, 1_000, 0.05, turn=False, long=True)
    assert speed.seconds_under_load(1_000) == pytest.approx(fast_s / 2)


def test_short_prompts_tell_less_of_the_rate_than_a_long_one():
    speed = read(PrefillSpeed(), round(RATE_TOKENS), 1.0, times=1)
    read(speed, MIN_TOKENS, 0.05, times=1)  # most of which is not reading
    assert speed.seconds_under_load(1_000) == pytest.approx(0.25 / MIN_LONG_SHARE, rel=0.05)


def test_tokens_are_estimated_by_the_texts_that_were_counted():
    speed = PrefillSpeed()
    for _ in range(100):
        speed.observe_length(characters=100, tokens=50)
    assert speed.tokens(200) == 100
    speed.observe_length(characters=0, tokens=5)
    speed.observe_length(characters=100, tokens=0)
    assert speed.tokens(200) == 100
