"""A call's progress, as its worker reports it."""

from __future__ import annotations

import pytest
from call_world import CallWorld

from voiceagent.conversation import call_events
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem
from voiceagent.server.call_progress import CallOver, CallProgress, ProgressReporter


def told_of(world: CallWorld) -> list[CallProgress | CallOver]:
    """Return the reports of a call to the supervisor."""
    told: list[CallProgress | CallOver] = []
    call = ProgressReporter("call_1", told.append, None)
    for step in world.steps:
        call.on_event(call_events.EventHandled(step.event, 1.0, step.ids, step.commands))
    call.on_event(call_events.CallEnded("the caller hung up", ()))
    return told


def test_each_turn_and_who_speaks_in_it_is_told():
    world = CallWorld()
    world.feed(ev.CallStarted("Hello."))
    world.play_out(world.make("Hello."))
    world.say("is there a pool")
    world.play_out(world.make("Yes, there is."))
    *told, over = told_of(world)
    stands = [(one.turn, one.doing) for one in told if isinstance(one, CallProgress)]
    assert stands[:4] == [
        (0, "nobody speaks"),
        (0, "the answer is made"),
        (0, "the agent speaks"),
        (0, "nobody speaks"),
    ]
    assert stands[-3:] == [(1, "the answer is made"), (1, "the agent speaks"), (1, "nobody speaks")]
    assert over == CallOver("call_1")


def test_what_a_phone_line_told_is_no_turn_of_the_caller():
    world = CallWorld()
    world.feed(ev.ItemCreated(MessageItem("made_1", "user", "[About this call: {}]", by_line=True)))
    world.say("is there a pool")
    *_, last, over = told_of(world)
    assert isinstance(last, CallProgress)
    assert (last.turn, over) == (1, CallOver("call_1"))


@pytest.mark.parametrize("words", ["is there a pool"])
def test_nobodys_words_are_told(words: str):
    world = CallWorld()
    world.say(words)
    world.play_out(world.make("Yes, there is."))
    assert "pool" not in repr(told_of(world))
    assert "there" not in repr(told_of(world))
