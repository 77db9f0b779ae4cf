"""Limit on a client that sends ahead of real time."""

from __future__ import annotations

import pytest

from voiceagent.session.call import InputOverflow
from voiceagent.session.line_silence import CATCH_UP_S, InputRateLimiter

FRAME_S = 0.02
LIMIT_S = 10.0


def test_sound_ahead_of_real_time_is_taken_up_to_the_limit():
    pace = InputRateLimiter(LIMIT_S, 0.0)
    pace.count(LIMIT_S, 0.0)
    with pytest.raises(InputOverflow, match=r"at most 10\.0 s"):
        pace.count(FRAME_S, 0.0)
    pace.count(FRAME_S, FRAME_S)  # none of what was refused was taken


@pytest.mark.parametrize("stalled_s", [3.0, 8.0, 15.0, CATCH_UP_S])
def test_what_was_spoken_while_the_line_stood_still_may_come_at_once(stalled_s: float) -> None:
    pace = InputRateLimiter(LIMIT_S, 0.0)
    pace.count(1.0, 1.0)
    for _ in range(round(stalled_s / FRAME_S)):
        pace.count(FRAME_S, 1.0 + stalled_s)
    pace.count(LIMIT_S - FRAME_S, 1.0 + stalled_s)  # and it is not ahead of real time by it


def test_who_was_silent_for_long_by_not_sending_may_not_send_all_that_time_at_once():
    pace = InputRateLimiter(LIMIT_S, 0.0)
    with pytest.raises(InputOverflow):
        pace.count(CATCH_UP_S + LIMIT_S + FRAME_S, 3_600.0)
