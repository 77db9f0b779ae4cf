from __future__ import annotations

import numpy as np
import pytest

from voiceagent.bench.measured import Measured
from voiceagent.conversation.latency import LatencyBudget, TurnCounts, TurnLedger, TurnReport
from voiceagent.local_call import FORMAT, Exchange
from voiceagent.talk import Question

SECOND = np.full(FORMAT.rate_hz, 8_000, np.int16)
QUESTION = Question("q", np.concatenate([SECOND, np.zeros(FORMAT.rate_hz, np.int16)]))
"""Its voice ends after one second."""


def report(turn_id: str = "t", **counts: int) -> TurnReport:
    ledger = TurnLedger(turn_id)
    ledger.stamp("speech_end", 11.0)
    ledger.stamp("first_frame", 11.3)
    return ledger.report(LatencyBudget(), "completed", TurnCounts(**counts))


def test_the_wait_is_counted_from_the_end_of_the_voice_in_the_material():
    measured = Measured()
    exchange = Exchange(spoken_from_s=10.0, decided_s=[11.2], first_frame_s=11.4, reports=[report()])
    measured.add(QUESTION, exchange)
    assert measured.to_first_frame == pytest.approx([400])
    assert measured.stages["total"] == pytest.approx([300])


def test_a_turn_decided_before_the_voice_had_ended_is_a_false_cut_off_and_has_no_wait():
    measured = Measured()
    exchange = Exchange(spoken_from_s=10.0, decided_s=[10.6, 11.2], first_frame_s=11.4, reports=[report()])
    measured.add(QUESTION, exchange)
    assert measured.cut_off == ["q"] and not measured.to_first_frame
    assert measured.summary()["false cut-offs %"] == 100


def test_a_turn_without_a_reply_is_unanswered():
    measured = Measured()
    measured.add(QUESTION, Exchange(spoken_from_s=10.0, decided_s=[11.2]))
    assert measured.unanswered == ["q"]


def test_what_a_turn_cost_is_counted_once_however_many_reports_it_has():
    measured = Measured()
    first = report(provisional_attempts=1, tokens_wasted=5, prefilled_tokens=7)
    last = report(provisional_attempts=2, provisional_hits=1, tokens_wasted=5, prefilled_tokens=9)
    exchange = Exchange(spoken_from_s=10.0, decided_s=[11.2], first_frame_s=11.4, reports=[first, last])
    measured.add(QUESTION, exchange)
    assert (measured.attempts, measured.hits, measured.tokens_wasted) == (2, 1, 5)
    assert measured.prefilled == [9]


def test_nothing_measured_has_no_figures():
    assert Measured().summary() == {} and Measured().rows() == {}
