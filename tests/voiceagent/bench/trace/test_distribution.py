from __future__ import annotations

import tomllib
from pathlib import Path
from statistics import fmean

import pytest
from llm_load.distribution import Distribution, trace_of

from voiceagent.bench.material import ChatMessage, Conversation

ASKED = [
    Conversation(messages=(ChatMessage(role="user", content=f"Is door number {n} open today?"),))
    for n in range(30)
]


def test_the_file_that_is_shipped_shows_every_key_with_its_default():
    shown = tomllib.loads((Path(__file__).parents[3] / "bench/calls.toml").read_text())
    assert shown == Distribution().model_dump()


def test_a_seed_gives_the_same_calls_again_and_another_one_others():
    described = Distribution()
    assert trace_of(described, ASKED, 1) == trace_of(described, ASKED, 1) != trace_of(described, ASKED, 2)


def test_calls_begin_at_the_rate_that_is_described():
    trace = trace_of(Distribution(calls=400, calls_a_minute=120, turns=1), ASKED, 1)
    assert len(trace) == 400
    assert trace[-1].begins_s / 400 == pytest.approx(0.5, rel=0.15)
    assert [call.begins_s for call in trace] == sorted(call.begins_s for call in trace)


def test_turns_responses_and_interruptions_have_the_described_means():
    trace = trace_of(Distribution(calls=600, turns=5, response_tokens=40, interrupted=0.3), ASKED, 1)
    turns = [turn for call in trace for turn in call.turns]
    cut = [turn.cut_after_s for turn in turns if turn.cut_after_s is not None]
    assert len(turns) / len(trace) == pytest.approx(5, rel=0.1)
    assert fmean(turn.response_tokens for turn in turns) == pytest.approx(40, rel=0.1)
    assert len(cut) / len(turns) == pytest.approx(0.3, rel=0.1)
    assert fmean(cut) == pytest.approx(1.5, rel=0.15)


def test_a_turn_is_spoken_as_long_as_its_words_take():
    turn = trace_of(Distribution(words_a_s=2.0), ASKED, 1)[0].turns[0]
    assert turn.spoken_s == 3.0


def test_who_interrupts_speaks_from_then_on_and_others_when_all_was_played():
    described = Distribution(calls=50, turns=4, pause_s=0.0, spoken_tokens_a_s=4.0, interrupted=0.5)
    for call in trace_of(described, ASKED, 1):
        for turn, following in zip(call.turns, call.turns[1:], strict=False):
            after_s = following.speaks_at_s - turn.speaks_at_s - turn.spoken_s
            due_s = turn.cut_after_s if turn.cut_after_s is not None else turn.response_tokens / 4.0
            assert after_s == pytest.approx(due_s, abs=0.01)


def test_every_call_has_the_history_that_is_described():
    trace = trace_of(Distribution(calls=3, history_tokens=900), ASKED, 1)
    assert [call.history_tokens for call in trace] == [900] * 3
