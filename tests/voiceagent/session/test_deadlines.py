"""Deadlines of a call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.engines.timeouts import FALLBACK_SHARE, TimeoutsConfig
from voiceagent.session.deadlines import LOG_WAIT_AFTER_S, Awaited, Deadlines, StageLimits

SOUND = Awaited("resp_1", "synthesizer", "first sound")
TOKEN = Awaited("resp_1", "llm", "first token")
LIMIT_S = 4.5


def test_what_comes_in_time_is_not_overdue() -> None:
    deadlines = Deadlines()
    deadlines.start(SOUND, LIMIT_S, 100.0)
    deadlines.cancel("resp_1", "synthesizer")
    assert list(deadlines.overdue(1_000.0)) == []


def test_what_does_not_come_is_told_once_and_given_up_once() -> None:
    deadlines = Deadlines()
    deadlines.start(SOUND, LIMIT_S, 100.0)
    found = [overdue for tick in range(100) for overdue in deadlines.overdue(100.0 + tick / 10)]
    assert [(overdue.awaited, overdue.given_up) for overdue in found] == [(SOUND, False), (SOUND, True)]
    assert LOG_WAIT_AFTER_S <= found[0].waited_s < LIMIT_S <= found[1].waited_s
    assert len(deadlines) == 0


def test_stages_of_one_response_are_waited_for_apart() -> None:
    deadlines = Deadlines()
    deadlines.start(TOKEN, 12.0, 100.0)
    deadlines.start(SOUND, LIMIT_S, 100.0)
    deadlines.cancel("resp_1", "llm")
    assert [overdue.awaited for overdue in deadlines.overdue(105.0)] == [SOUND]


def test_a_new_wait_takes_the_place_of_the_old_one() -> None:
    deadlines = Deadlines()
    deadlines.start(SOUND, LIMIT_S, 100.0)
    deadlines.start(SOUND._replace(what="further sound"), LIMIT_S, 104.0)
    assert list(deadlines.overdue(105.0)) == []
    assert [overdue.awaited.what for overdue in deadlines.overdue(109.0)] == ["further sound"]


@given(st.lists(st.tuples(st.floats(0, 10), st.booleans())), st.floats(0.1, 20))
def test_time_in_which_the_process_stood_still_does_not_count(
    steps: list[tuple[float, bool]], limit_s: float
) -> None:
    deadlines, now_s, ran_s = Deadlines(), 0.0, 0.0
    deadlines.start(SOUND, limit_s, now_s)
    for step_s, stood_still in steps:
        now_s += step_s
        if stood_still:
            deadlines.excuse(step_s)
        else:
            ran_s += step_s
        given_up = any(overdue.given_up for overdue in deadlines.overdue(now_s))
        assert not given_up or ran_s >= limit_s - 1e-6


@given(
    st.builds(
        TimeoutsConfig,
        **dict.fromkeys(("transcript_s", "first_token_s", "first_audio_s"), st.floats(0.01, 600)),
    )
)
def test_the_fallback_has_its_turn_before_the_call_gives_up(timeouts: TimeoutsConfig) -> None:
    limits = StageLimits.of(timeouts)
    assert limits.first_token_s > 2 * timeouts.first_token_s
    assert limits.token_s > timeouts.token_s
    assert limits.transcript_s > FALLBACK_SHARE * timeouts.transcript_s
    assert limits.first_audio_s > FALLBACK_SHARE * timeouts.first_audio_s


def test_the_defaults_of_a_call_are_those_of_the_configuration() -> None:
    assert StageLimits.of(TimeoutsConfig()) == StageLimits()


@pytest.mark.parametrize(("first_token_s", "token_s"), [(15.0, 15.0), (2.0, TimeoutsConfig.min_token_s)])
def test_tokens_may_come_as_late_as_the_first_one_and_never_have_less_than_five_seconds(
    first_token_s: float, token_s: float
) -> None:
    assert TimeoutsConfig(first_token_s=first_token_s).token_s == token_s
