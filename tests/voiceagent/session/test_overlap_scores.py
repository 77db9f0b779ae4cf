"""Scores of overlapping speech, from the events and commands of conversations."""

from __future__ import annotations

import pytest
from call_world import CallWorld
from prometheus_client import Histogram

from voiceagent.conversation import events as ev
from voiceagent.session.overlap_scores import OverlapScores
from voiceagent.telemetry.metrics import Metrics


class ScoredCall:
    """A conversation and its scores. The caller's audio has arrived up to the position of the last event."""

    def __init__(self) -> None:
        self.world = CallWorld()
        self.metrics = Metrics(log_turns=False)
        self._received_s = 0.0
        self._scores = OverlapScores(self.metrics, lambda: self._received_s)
        self._scored = 0

    def answered(self) -> str:
        """Ask, and get an answer that plays from second 2 on. Return its id."""
        self.world.say("is there parking")
        self.score()
        response_id = self.world.make("Yes, there is.")
        self.score()
        return response_id

    def feed(self, *events: ev.Event) -> None:
        """Feed events, each when it is due."""
        for event in events:
            self._received_s = max(self._received_s, getattr(event, "at_s", 0.0))
            self.world.feed(event)
            self.score()

    def score(self) -> None:
        """Score what was fed to the conversation."""
        for step in self.world.steps[self._scored :]:
            self._received_s = max(self._received_s, getattr(step.event, "at_s", 0.0))
            self._scores.on_event(step.event, step.commands)
        self._scored = len(self.world.steps)

    @property
    def interruptions_by_agent(self) -> float:
        """The counter's value."""
        return self.metrics.registry.get_sample_value("voiceagent_agent_interruptions_total") or 0.0


def observed(histogram: Histogram) -> tuple[float, float]:
    """Return the number and the sum of the observations."""
    (family,) = histogram.collect()
    values = {sample.name.rpartition("_")[2]: sample.value for sample in family.samples}
    return values["count"], values["sum"]


def test_yield_latency_ends_with_the_hold_before_an_interruption() -> None:
    call = ScoredCall()
    call.answered()
    item_id = call.world.begin_speaking(5.0)
    call.score()
    call.feed(ev.InterruptionCandidate(5.3), ev.SpeechPaused(5.6))
    call.feed(ev.TranscriptChanged(item_id, "stop", "stop", True))
    assert observed(call.metrics.yield_seconds) == pytest.approx((1, 0.3))
    assert observed(call.metrics.backchannel_hold_seconds) == (0, 0)


def test_yield_latency_ends_with_the_stop_if_nothing_was_held() -> None:
    call = ScoredCall()
    call.answered()
    item_id = call.world.begin_speaking(5.0)
    call.feed(ev.SpeechPaused(5.4), ev.TranscriptChanged(item_id, "stop", "stop", True))
    assert observed(call.metrics.yield_seconds) == pytest.approx((1, 0.4))


def test_a_backchannel_counts_for_the_time_that_it_held_the_agent() -> None:
    call = ScoredCall()
    call.answered()
    item_id = call.world.begin_speaking(5.0)
    call.feed(ev.InterruptionCandidate(5.2))
    call.world.pause(item_id, "uh huh", 5.4)
    call.score()
    call.feed(ev.TurnEnded(5.7))
    assert observed(call.metrics.backchannel_hold_seconds) == pytest.approx((1, 0.5))
    assert observed(call.metrics.yield_seconds) == (0, 0)


def test_a_backchannel_that_the_agent_talks_through_counts_as_zero() -> None:
    call = ScoredCall()
    call.answered()
    item_id = call.world.begin_speaking(5.0)
    call.world.pause(item_id, "uh huh", 5.3)
    call.world.feed(ev.TurnEnded(5.3))
    call.score()
    assert observed(call.metrics.backchannel_hold_seconds) == (1, 0)


def test_a_turn_over_the_agent_that_is_answered_later_is_no_backchannel() -> None:
    call = ScoredCall()
    call.answered()
    item_id = call.world.begin_speaking(5.0)
    call.feed(ev.InterruptionCandidate(5.2))
    call.world.pause(item_id, "tuesday", 5.4)
    call.world.feed(ev.TurnEnded(5.4))
    call.score()
    assert observed(call.metrics.backchannel_hold_seconds) == (0, 0)


def test_a_voice_while_the_agent_is_silent_is_neither() -> None:
    call = ScoredCall()
    call.world.play_out(call.answered())
    call.score()
    item_id = call.world.begin_speaking(5.0)
    call.world.pause(item_id, "uh huh", 5.3)
    call.world.feed(ev.TurnEnded(5.3))
    call.score()
    assert observed(call.metrics.yield_seconds) == observed(call.metrics.backchannel_hold_seconds) == (0, 0)


@pytest.mark.parametrize(("resumes_at_s", "count"), [(2.5, 1), (4.0, 0)])
def test_an_answer_in_a_short_pause_of_the_caller_is_an_interruption_by_the_agent(
    resumes_at_s: float, count: int
) -> None:
    call = ScoredCall()
    call.answered()  # the caller's voice ended at second 2
    call.feed(ev.SpeechStarted(resumes_at_s))
    assert call.interruptions_by_agent == count
