from __future__ import annotations

import numpy as np
import pytest

from voiceagent.bench.measured import Measured
from voiceagent.conversation.latency import LatencyBudget, TurnCounts, TurnLedger, TurnReport
from voiceagent.transports.local_call import FORMAT, Exchange, PlayedResponse, Recording

SECOND = np.full(FORMAT.rate_hz, 8_000, np.int16)
QUESTION = Recording("q", np.concatenate([SECOND, np.zeros(FORMAT.rate_hz, np.int16)]))
"""Its voice ends after one second."""


def report(turn_id: str = "t", **counts: int) -> TurnReport:
    ledger = TurnLedger(turn_id)
    ledger.stamp("speech_end", 11.0)
    ledger.stamp("first_frame", 11.3)
    return ledger.report(LatencyBudget(), "completed", TurnCounts(**counts))


def test_the_wait_is_counted_from_the_end_of_the_voice():
    measured = Measured()
    exchange = Exchange(
        spoken_from_s=10.0, decided_s=[11.2], responses=[PlayedResponse(11.4)], reports=[report()]
    )
    measured.add(QUESTION, exchange)
    assert measured.to_first_frame == pytest.approx([400])
    assert measured.rows()["total"] == pytest.approx([300])


def cut_off(*early: PlayedResponse) -> Measured:
    """A turn that was ended before its voice, answered with `early`, and answered again."""
    measured = Measured()
    responses = [*early, PlayedResponse(11.4, sound_s=2.0)]
    reports = [report() for _ in responses]
    exchange = Exchange(spoken_from_s=10.0, decided_s=[10.6, 11.2], responses=responses, reports=reports)
    measured.add(QUESTION, exchange)
    return measured


def test_a_response_before_the_voice_ended_is_a_false_end_without_wait():
    measured = cut_off(PlayedResponse(10.7, sound_s=0.5, cut=True))
    assert measured.cut_off == measured.heard == measured.in_two == ["q"]
    assert not measured.to_first_frame
    assert measured.summary()["false cut-offs %"] == 100


def test_a_false_end_noticed_at_once_leaves_one_wait():
    measured = cut_off(PlayedResponse(10.7, sound_s=0.1, cut=True, false_end=True))
    assert measured.cut_off == ["q"] and not measured.heard and not measured.in_two
    assert measured.to_first_frame == pytest.approx([400])


def test_one_that_was_taken_back_later_is_heard():
    measured = cut_off(PlayedResponse(10.7, sound_s=0.3, cut=True, false_end=True))
    assert measured.heard == ["q"] and not measured.in_two


def test_one_that_was_played_out_answers_the_turn_in_two():
    measured = cut_off(PlayedResponse(10.7, sound_s=0.1))
    assert measured.heard == measured.in_two == ["q"]


def test_one_that_never_sounded_is_only_a_wrong_decision():
    measured = cut_off(PlayedResponse(None, cut=True))
    assert measured.cut_off == ["q"] and not measured.heard


def test_a_turn_without_a_response_is_unanswered():
    measured = Measured()
    measured.add(QUESTION, Exchange(spoken_from_s=10.0, decided_s=[11.2]))
    assert measured.unanswered == ["q"]


def test_what_a_turn_cost_is_counted_once_however_many_reports_it_has():
    measured = Measured()
    first = report(preemptive_attempts=1, tokens_wasted=5, prompt_tokens_after_turn=7)
    last = report(preemptive_attempts=2, preemptive_hits=1, tokens_wasted=5, prompt_tokens_after_turn=9)
    exchange = Exchange(
        spoken_from_s=10.0, decided_s=[11.2], responses=[PlayedResponse(11.4)], reports=[first, last]
    )
    measured.add(QUESTION, exchange)
    summary = measured.summary()
    assert (summary["preemptive responses"], summary["preemptive hits"]) == (2, 1)
    assert summary["tokens wasted"] == 5
    assert summary["prompt tokens read after the turn"] == 9


def test_nothing_measured_has_no_figures():
    assert Measured().summary() == {} and Measured().rows() == {}
