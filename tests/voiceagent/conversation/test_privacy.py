"""Private turns: the caller's words go to the agent's code and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from call_settings import call_settings
from call_world import POLICY, CallWorld, of

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.privacy import withheld_commands, withheld_event

DIGITS = "four two four two"
AGENT = replace(call_settings(), agent="Bank")


def test_a_private_turn_reaches_the_agents_code_alone() -> None:
    call = CallWorld(settings=AGENT)
    call.feed(ev.TurnsClaimed(True, private=True))
    assert call.conversation.private
    commands = call.say(DIGITS)
    assert do.TurnConcluded(DIGITS) in call.commands
    notified = [one for one in call.commands if isinstance(one, notify.NotifyTranscript)]
    assert DIGITS not in str(notified)
    assert [item.text for item in call.conversation.history.items if isinstance(item, MessageItem)] == [
        "(private)"
    ]
    assert DIGITS not in str(withheld_commands(commands))


def test_keys_are_not_notified_while_input_is_private() -> None:
    call = CallWorld(settings=AGENT)
    call.feed(ev.TurnsClaimed(True, private=True))
    assert call.feed(ev.KeyPressed("4", 0)) == []
    call.feed(ev.TurnsClaimed(False))
    assert call.feed(ev.KeyPressed("4", 0)) == [notify.NotifyKeyPressed("4", 0)]


def test_a_turn_in_progress_stays_private_after_the_release() -> None:
    call = CallWorld(settings=AGENT)
    call.feed(ev.TurnsClaimed(True, private=True))
    item_id = call.begin_speaking()
    call.feed(ev.TurnsClaimed(False))
    assert call.conversation.private
    call.pause(item_id, DIGITS)
    call.feed(ev.TurnEnded(2.0))
    assert not call.conversation.private
    assert DIGITS not in str(call.conversation.history.items)


def test_later_turns_are_public_again() -> None:
    call = CallWorld(settings=AGENT)
    call.feed(ev.TurnsClaimed(True, private=True))
    call.feed(ev.TurnsClaimed(False))
    call.say("thank you")
    assert "thank you" in str(call.conversation.history.items)


def test_events_are_logged_without_words_and_keys() -> None:
    item = ev.ItemCreated(MessageItem("item", "user", DIGITS))
    for event in (
        ev.TranscriptChanged("item", DIGITS, DIGITS, earlier=(DIGITS,)),
        ev.TurnEndScored("item", DIGITS, 0.0),
        item,
    ):
        assert DIGITS not in str(withheld_event(event))
    assert withheld_event(ev.KeyPressed("4", 0)) == ev.KeyPressed("*", 0)
    assert withheld_event(ev.SpeechPaused(1.0)) == ev.SpeechPaused(1.0)


def test_words_that_began_before_the_question_are_private_and_not_answered() -> None:
    call = CallWorld(settings=AGENT)
    item_id = call.begin_speaking()
    call.feed(ev.TurnsClaimed(True, private=True))
    commands = call.pause(item_id, DIGITS) + call.feed(ev.TurnEnded(2.0))
    assert do.TurnConcluded(DIGITS) in commands
    assert DIGITS not in str(call.conversation.history.items)
    assert of(do.StartResponse, commands) == []


def test_continued_private_turn_stays_out_of_prompts_after_the_release() -> None:
    call = CallWorld(settings=AGENT, policy=replace(POLICY, prefill_while_speaking=True))
    call.feed(ev.TurnsClaimed(True, private=True))
    item_id = call.begin_speaking()
    call.feed(ev.SpeechPaused(2.0))
    call.feed(ev.TurnEnded(2.0))
    call.feed(ev.ResponseRequested())  # of the client, to this turn
    call.feed(ev.TranscriptChanged(item_id, DIGITS, DIGITS, True))
    call.make("Thank you.")
    call.feed(ev.TurnsClaimed(False))
    commands = call.feed(ev.SpeechStarted(2.6))
    (rest,) = (one.item_id for one in of(do.StartRecognition, commands))
    commands += call.feed(ev.TranscriptChanged(rest, "and five", "and five"))
    commands += call.pause(rest, "and five", 3.6) + call.feed(ev.TurnEnded(3.6))
    assert of(do.StartResponse, commands), "the turn is answered"
    assert "and five" not in str(of(do.Prefill, commands) + of(do.StartResponse, commands))


def test_audio_items_of_a_client_are_private_too() -> None:
    call = CallWorld(settings=AGENT)
    call.feed(ev.CallStarted())
    call.feed(ev.TurnsClaimed(True, private=True))
    sound = np.full(1600, 1000, np.int16)
    request = ev.ItemCreated(MessageItem("item", "user", ""), sound=sound)
    commands = call.feed(request)
    (recognized,) = of(do.RecognizeItem, commands)
    assert recognized.sound.any(), "the recognizer gets the audio"
    (kept,) = of(do.RecognizeItem, withheld_commands(commands))
    event = withheld_event(request)
    assert isinstance(event, ev.ItemCreated)
    assert not event.sound.any()
    assert not kept.sound.any()
    commands = call.feed(ev.TranscriptChanged("item", DIGITS, DIGITS, True))
    assert do.TurnConcluded(DIGITS) in commands
    assert DIGITS not in str(call.conversation.history.items)
