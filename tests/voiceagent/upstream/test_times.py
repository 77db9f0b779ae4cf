"""The turn that an upstream's response answers, by its times."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from llmcore.engine import Usage
from voiceagent.conversation import notifications as notify
from voiceagent.upstream.times import UpstreamTimes


@pytest.fixture
def times() -> UpstreamTimes:
    """The caller has just ended a turn, by a clock that stands still."""
    times = UpstreamTimes(lambda: 10.0, lambda at_s: at_s)
    times.command(notify.NotifySpeechStopped("item_turn", 9.5))
    return times


def turn_of(times: UpstreamTimes, response_id: str, out_of_band: bool = False) -> str:
    """Return the turn whose times are reported as a response ends that was begun now."""
    times.command(notify.NotifyResponseStarted(response_id, "text", out_of_band=out_of_band))
    ended = notify.NotifyResponseEnded(
        response_id, "completed", usage=Usage(10, 0, 5), out_of_band=out_of_band
    )
    report = times.report(ended)
    assert report is not None
    return report.turn_id


def test_the_response_behind_one_that_called_tools_alone_answers_the_turn(times: UpstreamTimes) -> None:
    assert [turn_of(times, one) for one in ("resp_1", "resp_2")] == ["item_turn", "item_turn"]


@pytest.mark.parametrize("first", [turn_of, lambda times, _: ""])
def test_a_text_out_of_band_answers_no_turn(
    times: UpstreamTimes, first: Callable[[UpstreamTimes, str], str]
) -> None:
    first(times, "resp_1")
    assert turn_of(times, "resp_2", out_of_band=True) == "resp_2"
    assert turn_of(times, "resp_3") == "item_turn"
