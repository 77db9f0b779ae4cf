"""Replacement of old turns by their summary in the course of a call."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings
from call_world import POLICY, CallWorld, of

from llmcore.compression.history_budget import HistoryBudget
from llmcore.engine import Message, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify

SETTINGS = call_settings(instructions="You keep the desk.")
SMALL = replace(POLICY, prefill_while_speaking=True, history=HistoryBudget(max_tokens=30, kept_tokens=12))


def answered(world: CallWorld, words: str, at_s: float) -> None:
    """A whole turn with its answer, heard to its end."""
    world.say(words, at_s)
    world.play_out(world.make(f"You said: {words}"))


def grown() -> CallWorld:
    """A call whose history has just outgrown its budget."""
    world = CallWorld(SETTINGS, SMALL, usage=Usage())
    for number in range(9):
        answered(world, f"I want {number} rooms on this floor", 10.0 * number)
        if of(do.Summarise, world.commands):
            return world
    raise AssertionError("no summary was asked for")


def test_a_summary_is_asked_for_when_the_response_is_written():
    world = CallWorld(SETTINGS, SMALL, usage=Usage())
    for number in range(9):
        world.say(f"I want {number} rooms on this floor", 10.0 * number)
        before = len(world.commands)
        response_id = world.make("As you wish.")
        if asked := of(do.Summarise, world.commands[before:]):
            break
        world.play_out(response_id)
    (wanted,) = asked
    assert wanted.prompt[0] == Message("system", "You keep the desk.")
    assert wanted.prompt[1:] == wanted.said
    assert wanted.said[0].content == "I want 0 rooms on this floor"


def test_between_turns_the_summary_takes_its_place_and_is_prefilled():
    world = grown()
    (read,) = of(do.Prefill, world.feed(ev.HistorySummarised("They booked.")))
    assert read.messages[0] == Message("system", "You keep the desk.")
    assert read.messages[1].content.startswith("[Earlier in this call: They booked.] I want")
    assert read.messages[-1] == Message("user", "")


def test_while_the_caller_speaks_it_waits_for_the_next_turn():
    world = grown()
    item_id = world.begin_speaking(100.0)
    assert not of(do.Prefill, world.feed(ev.HistorySummarised("They booked.")))
    world.pause(item_id, "and a towel", 101.0)
    world.feed(ev.TurnEnded(101.0))
    assert "They booked." not in str(world.working[world.response_id()].request.messages)
    world.play_out(world.make("Surely."))
    world.say("thank you", 110.0)
    assert "They booked." in str(world.working[world.response_id()].request.messages)


def test_a_caller_who_cuts_in_gets_it_with_the_new_turn():
    world = grown()
    world.say("and a towel", 100.0)
    response_id = world.make("Surely, I will have one brought.")
    world.feed(ev.HistorySummarised("They booked."))
    item_id = world.begin_speaking(103.0)
    world.feed(ev.InterruptionConfirmed(103.9))
    world.pause(item_id, "no wait", 104.0)
    world.feed(ev.TurnEnded(104.0))
    assert world.response_id() != response_id
    assert "They booked." in str(world.working[world.response_id()].request.messages)


def test_a_response_stops_the_summary_and_it_is_asked_for_again():
    world = grown()
    world.say("and a towel", 100.0)
    assert not of(do.Prefill, world.feed(ev.HistorySummarised("They booked.")))
    before = len(world.commands)
    world.play_out(world.make("Surely."))
    assert of(do.Summarise, world.commands[before:])


def test_the_plan_tells_that_the_prompt_has_a_new_beginning():
    world = grown()
    world.feed(ev.HistorySummarised("They booked."))
    world.say("thank you", 110.0)
    assert world.working[world.response_id()].replacements == 1


def test_what_the_client_sees_of_the_conversation_does_not_change():
    world = grown()
    items = list(world.conversation.history.items)
    assert not of(notify.NotifyItemDeleted, world.feed(ev.HistorySummarised("They booked.")))
    assert world.conversation.history.items == items
