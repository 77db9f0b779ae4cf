"""Dictation is waited for."""

from __future__ import annotations

from dataclasses import replace

from call_world import POLICY, CallWorld
from turn_pauses import SETTINGS, calling, decision, pauses

from voiceagent.conversation import events as ev


def test_what_the_agent_asks_to_be_dictated_is_waited_for():
    world, dictating = calling(), calling()
    dictating.feed(ev.DictationBegan())
    _, told = pauses(world, "Miller.")
    _, dictated = pauses(dictating, "Miller.")
    assert dictated.silence_s > told.silence_s


def test_what_the_agent_has_asked_for_is_waited_for():
    policy = replace(POLICY, language="en")
    silences = []
    for asked in ("What is your name?", "Who will come?"):
        world = CallWorld(SETTINGS, policy)
        world.feed(ev.CallStarted(asked))
        world.play_out(world.make(asked))
        silences.append(pauses(world, "Miller.", at_s=9.0)[1].silence_s)
    assert silences[0] > silences[1]


def test_the_agents_question_for_a_number_is_taken_into_account():
    world = calling()
    world.say("I'd like a table.", at_s=1.0)
    world.play_out(world.make("Gladly. What is your phone number?"))
    _, asked = pauses(world, "555 123", at_s=9.0)
    assert "open number" in dict(asked.witnesses)


def test_a_dictated_number_is_over_when_it_has_its_digits():
    world = calling()
    world.feed(ev.DictationBegan((6,)))
    item_id, begun = pauses(world, "Four seven two")
    assert begun.silence_s > 1.0
    world.feed(ev.SpeechResumed(2.5))
    assert decision(world.pause(item_id, "Four seven two nine one one", 3.5)).silence_s <= 0.3


def test_the_next_group_of_a_number_of_unknown_length_is_waited_for_as_the_caller_has_paused():
    silences = []
    for resumed_at_s in (2.3, 2.6):
        world = calling()
        world.feed(ev.DictationBegan(()))
        item_id, _ = pauses(world, "123")
        world.feed(ev.SpeechResumed(resumed_at_s))
        silences.append(decision(world.pause(item_id, "123 456", 3.5)).silence_s)
    assert silences[0] < silences[1] < 1.8


def test_a_false_end_is_a_pause_between_groups_too():
    world = calling()
    world.feed(ev.DictationBegan(()))
    world.say("123", at_s=1.0)
    end_s = 2.0
    world.make("Thank you.")
    _, rest = pauses(world, "456", at_s=end_s + 0.6)
    assert rest.silence_s > 2 * 0.6


def test_dictation_is_over_with_the_turn_that_was_dictated():
    world = calling()
    world.feed(ev.DictationBegan((6,)))
    world.say("Four seven two nine one one", at_s=1.0)
    world.play_out(world.make("Thank you."))
    _, after = pauses(world, "Four.", at_s=9.0)
    assert "open number" not in dict(after.witnesses)


def test_dictation_is_over_when_the_agents_code_takes_no_more_turns():
    world = calling()
    world.feed(ev.TurnsClaimed(True))
    world.feed(ev.DictationBegan((6,)))
    world.feed(ev.TurnsClaimed(False))
    _, after = pauses(world, "Four.")
    assert "open number" not in dict(after.witnesses)


def test_who_goes_on_after_a_false_end_dictates_still():
    world = calling()
    world.feed(ev.DictationBegan((6,)))
    world.say("Four seven two", at_s=1.0)
    world.make("Thank you.")
    _, rest = pauses(world, "nine", at_s=2.6)
    assert "open number" in dict(rest.witnesses)
