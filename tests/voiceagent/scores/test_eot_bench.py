"""Agreement with eot-bench's own program on the same pauses, where it is installed (`outside_programs`)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outside_programs import EOT_BENCH, eot_bench_points

from voiceagent.scores.end_of_turn import Judgement, Pause
from voiceagent.scores.scorecard import CallSpeech, scorecard

metrics: Any = pytest.importorskip("eot_harness.metrics")
pandas: Any = pytest.importorskip("pandas")


def pauses(ends_turn: bool) -> st.SearchStrategy[list[Pause]]:
    """Pauses that were judged, as often as not between the steps of the grid."""
    judged = st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 1.0)), min_size=1, max_size=6)

    def pause(seconds: float, judged: list[tuple[float, float]]) -> Pause:
        within = sorted(one for one in judged if one[0] < seconds) or [(0.0, 0.5)]
        return Pause(seconds, ends_turn, tuple(Judgement(*one) for one in within))

    seconds = st.floats(0.3, 6.0) | st.sampled_from([0.2, 0.5, 1.0, 1.5, 5.0])
    return st.lists(st.builds(pause, seconds, judged), min_size=1, max_size=12)


@settings(deadline=None, max_examples=25)
@given(pauses(False), pauses(True))
def test_operating_points_are_theirs(within: list[Pause], ends: list[Pause]) -> None:
    if not any(pause.counts for pause in within):
        return
    call = CallSpeech("call", 60.0, (), (), (*within, *ends))
    ours = {figure.name: figure.value for figure in scorecard([call])}
    theirs = eot_bench_points(metrics, pandas, call.pauses)
    for name in EOT_BENCH:
        assert ours[name] == (None if theirs[name] is None else pytest.approx(theirs[name], abs=1e-9)), name
