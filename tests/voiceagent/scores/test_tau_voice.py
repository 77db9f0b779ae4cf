"""Agreement with tau-voice's own program on the same calls, where it is installed (`outside_programs`)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outside_programs import separate, tau_voice_panel

from voiceagent.scores.interaction import TAU_VOICE_TICK_S, CallerSpeech, SpeechKind
from voiceagent.scores.scorecard import CallSpeech, scorecard
from voiceagent.scores.spans import Span

metrics: Any = pytest.importorskip("tau2.metrics.voice_interaction_metrics")

CALL_S = 60.0


def spans(longest_s: float = 6.0) -> st.SearchStrategy[list[Span]]:
    """Spans of one side, in order, with gaps."""
    pieces = st.lists(st.tuples(st.floats(0.05, 5.0), st.floats(0.05, longest_s)), min_size=1, max_size=8)

    def placed(pieces: list[tuple[float, float]]) -> list[Span]:
        at_s, found = 0.0, []
        for gap_s, seconds in pieces:
            found.append(Span(at_s + gap_s, at_s + gap_s + seconds))
            at_s += gap_s + seconds
        return [span for span in found if span.end_s < CALL_S - 3 * TAU_VOICE_TICK_S]

    return pieces.map(placed)


def calls(*kinds: SpeechKind) -> st.SearchStrategy[CallSpeech]:
    """Calls whose caller makes sounds of these kinds."""

    def call(sounds: list[Span], agent: list[Span], chosen: list[SpeechKind]) -> CallSpeech:
        caller = [CallerSpeech(span, kind) for span, kind in zip(sounds, chosen, strict=False)]
        return CallSpeech("call", CALL_S, tuple(caller), tuple(agent))

    return st.builds(call, spans(), spans(), st.lists(st.sampled_from(kinds), min_size=8, max_size=8))


def assert_same(*calls: CallSpeech) -> None:
    ours = {figure.name: figure.on_ticks for figure in scorecard(calls)}
    for name, their in tau_voice_panel(metrics, calls).items():
        our = ours[name]
        assert (our is None) == (their is None), (name, our, their)
        assert our is None or math.isclose(our, their or 0.0, abs_tol=1e-6), (name, our, their)


@settings(deadline=None, max_examples=100)
@given(calls("turn", "turn", "backchannel"))
def test_the_panel_of_turns_and_backchannels_is_theirs(call: CallSpeech) -> None:
    assert_same(call)


@settings(deadline=None, max_examples=100)
@given(calls("noise", "aside"))
def test_selectivity_on_noises_and_asides_is_theirs(call: CallSpeech) -> None:
    if separate(call):
        assert_same(call)


@settings(deadline=None, max_examples=30)
@given(st.lists(calls("turn", "backchannel", "noise", "aside"), min_size=2, max_size=3))
def test_the_panel_of_several_calls_is_theirs(several: list[CallSpeech]) -> None:
    if all(separate(call) for call in several):
        assert_same(*several)
