from __future__ import annotations

from dataclasses import replace

from call_world import CallWorld
from llm_load.logs import trace_of
from logged_call import log_of

from voiceagent.calls.log.event_log import CallLog, read_log
from voiceagent.conversation import events as ev


def answered() -> CallWorld:
    world = CallWorld()
    world.feed(ev.CallStarted("Hello."))
    world.play_out(world.make("Hello."))
    world.say("is there a pool")
    return world


def call() -> CallLog:
    world = answered()
    world.play_out(world.make("Yes, there is one on the roof."))
    return read_log(log_of(world))


def test_a_turn_has_its_words_and_the_length_of_what_was_answered():
    (traced,) = trace_of([call()])
    (turn,) = traced.turns
    assert turn.said == "is there a pool"
    assert turn.response_tokens == round(len("Yes, there is one on the roof.") / 4.2)
    assert turn.cut_after_s is None


def test_an_interruption_is_told_from_the_end_of_the_turn():
    world = answered()
    world.make("Yes, there is one on the roof.")
    world.begin_speaking(5.0)
    world.feed(ev.InterruptionConfirmed(5.0))
    log = read_log(log_of(world))
    (turn,) = trace_of([log])[0].turns
    stopped_s = next(r.clock_s for r in log.records if isinstance(r.event, ev.PlayoutStopped))
    assert turn.cut_after_s == stopped_s - log.header.clock_s - turn.speaks_at_s - turn.spoken_s


def test_calls_begin_as_far_from_each_other_as_they_did():
    later, first = call(), call()
    later = replace(later, header=replace(later.header, started_at=first.header.started_at + 7.5))
    assert [traced.begins_s for traced in trace_of([later, first])] == [0.0, 7.5]


def test_a_call_without_words_is_left_out():
    world = CallWorld()
    world.say("is there a pool")
    assert trace_of([read_log(log_of(world, words="omit"))]) == ()
