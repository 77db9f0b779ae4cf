"""A client's requests about single items."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from call_settings import call_settings
from call_world import POLICY, CallWorld, of, said

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.history_room import HistoryLimits


def test_a_client_that_truncates_late_corrects_the_history():
    world = CallWorld(played_s=9.0)
    world.say("count")
    response_id = world.make("one two three four")
    world.play_out(response_id)
    item_id = world.conversation.history.last_id()
    assert world.feed(ev.ItemTruncated(item_id, 0.5)) == [notify.NotifyItemTruncated(item_id, 0.5)]
    played = said(world)[-1][1]
    assert played and played != "one two three four"


def test_a_client_that_truncates_in_mid_response_stops_it_there():
    world = CallWorld(played_s=9.0)
    world.say("count")
    world.make("one two three four")
    item_id = world.conversation.history.last_id()
    commands = world.feed(ev.ItemTruncated(item_id, 0.0))
    assert of(notify.NotifyItemTruncated, commands) == [notify.NotifyItemTruncated(item_id, 0.0)]
    assert said(world) == [("user", "count")]


@pytest.mark.parametrize("named", [True, False])
def test_a_client_that_cancels_the_response_that_it_has_truncated_makes_no_mistake(named: bool):
    world = CallWorld(played_s=9.0)
    world.say("count")
    response_id = world.make("one two three four")
    world.feed(ev.ItemTruncated(world.conversation.history.last_id(), 0.0))
    cancel = ev.ResponseCancelled(response_id if named else None)
    assert world.feed(cancel) == []
    (error,) = world.feed(cancel)
    assert error.code == "response_cancel_not_active"


def test_a_client_that_has_played_more_than_it_was_sent_heard_no_more_than_that():
    world = CallWorld(played_s=0.3)
    world.say("count")
    world.make("one two three four")
    item_id = world.conversation.history.last_id()
    commands = world.feed(ev.ItemTruncated(item_id, 60.0))
    assert of(notify.NotifyItemTruncated, commands) == [notify.NotifyItemTruncated(item_id, 0.3)]
    assert said(world)[-1] == ("assistant", "one two")


def test_what_a_client_changes_is_told_with_the_next_prompt_and_what_it_adds_is_not():
    world = CallWorld(settings=call_settings(turn_detection=None))
    first, second = (MessageItem(f"typed_{number}", "user", "hello") for number in (1, 2))
    for event, edits in (
        (ev.ItemCreated(first), 0),
        (ev.ItemCreated(second, "root"), 1),
        (ev.ItemDeleted("typed_1"), 2),
    ):
        world.feed(event)
        (start,) = of(do.StartResponse, world.feed(ev.ResponseRequested()))
        assert start.edits == edits
        world.play_out(world.make("Hello."))


def test_a_client_may_truncate_at_all_that_it_was_sent():
    """The last frame of 20 ms is filled up with silence, which clients count too."""
    world = CallWorld()
    world.say("count")
    world.play_out(world.make("one two", seconds=6.223))
    item_id = world.conversation.history.last_id()
    assert world.feed(ev.ItemTruncated(item_id, 6.24)) == [notify.NotifyItemTruncated(item_id, 6.24)]
    assert said(world)[-1] == ("assistant", "one two")
    (error,) = world.feed(ev.ItemTruncated(item_id, 6.3))
    assert "has 6241 ms" in error.message


def test_a_cancel_without_a_response_is_refused_in_openais_words():
    (error,) = CallWorld().feed(ev.ResponseCancelled(None, "mine"))
    assert error.message == "Cancellation failed: no active response found"
    assert (error.code, error.param, error.client_event_id) == ("response_cancel_not_active", None, "mine")


def test_truncating_more_than_there_is_is_an_error():
    world = CallWorld()
    world.say("count")
    world.play_out(world.make("one two"))
    item_id = world.conversation.history.last_id()
    (error,) = world.feed(ev.ItemTruncated(item_id, 60.0))
    assert error.param == "audio_end_ms" and "60000" in error.message


@pytest.mark.parametrize(
    "request_type", [ev.ItemDeleted, ev.ItemRetrieved, partial(ev.ItemTruncated, played_s=1.0)]
)
def test_an_unknown_item_is_an_error_that_names_it(request_type: type):
    (error,) = CallWorld().feed(request_type("item_77"))
    assert re.fullmatch("item_(delete|retrieve|truncate)_invalid_item_id", error.code)
    assert "'item_77'" in error.message


def test_a_picture_stands_in_the_prompt_and_there_are_only_so_many():
    policy = replace(POLICY, limits=HistoryLimits(100, 100, 100, max_images=1))
    world = CallWorld(policy=policy)
    look = MessageItem("look", "user", "What is this?", images=("data:image/png;base64,AAAA",))
    world.feed(ev.ItemCreated(look))
    (start,) = of(do.StartResponse, world.feed(ev.ResponseRequested()))
    assert start.request.messages[-1].images == look.images
    (error,) = world.feed(ev.ItemCreated(replace(look, item_id="again")))
    assert (error.code, "pictures; allowed: at most 1" in error.message) == ("limit_exceeded", True)


# ---- sound in items

SECOND = np.ones(16_000, np.int16)


def create_sound(world: CallWorld, text: str = "") -> list[do.Command]:
    return world.feed(ev.ItemCreated(MessageItem("item_s", "user", text, spoken=True), sound=SECOND))


def test_the_sound_of_an_item_is_recognized_and_answered_when_its_words_are_settled():
    world = CallWorld()
    commands = create_sound(world)
    assert [type(command) for command in commands[:2]] == [notify.NotifyItemAdded, notify.NotifyItemDone]
    (recognize,) = of(do.RecognizeItem, commands)
    assert (recognize.item_id, len(recognize.sound)) == ("item_s", 16_000)
    assert not of(do.StartResponse, world.feed(ev.ResponseRequested())), "its words are not known yet"
    commands = world.feed(ev.TranscriptChanged("item_s", "hello", "hello", settled=True))
    assert of(notify.NotifyTranscript, commands)[-1] == notify.NotifyTranscript("item_s", "hello", True, 1.0)
    (start,) = of(do.StartResponse, commands)
    assert start.request.messages[-1].content == "hello"
    assert not of(notify.NotifySpeechStarted, commands) + of(notify.NotifySpeechStopped, commands)


def test_words_of_an_item_stand_where_it_was_created_and_ask_for_no_answer():
    world = CallWorld()
    create_sound(world, "She said:")
    world.feed(ev.ItemCreated(MessageItem("typed", "user", "What did she say?")))
    commands = world.feed(ev.TranscriptChanged("item_s", "hello", "hello", settled=True))
    assert not of(do.StartResponse, commands)
    assert said(world) == [("user", "She said:\nhello What did she say?")]


def test_sound_that_cannot_be_recognized_is_told_and_keeps_no_response_waiting():
    world = CallWorld()
    create_sound(world)
    world.feed(ev.ResponseRequested())
    commands = world.feed(ev.RecognitionFailed("item_s", "broken"))
    assert of(notify.NotifyTranscriptFailed, commands) and of(do.StartResponse, commands)


def test_an_item_that_is_not_created_is_not_recognized():
    world = CallWorld()
    item = MessageItem("item_s", "user", "", spoken=True)
    commands = world.feed(ev.ItemCreated(item, "item_77", sound=SECOND))
    assert [command.code for command in commands] == ["item_create_invalid_previous_item_id"]
    create_sound(world)
    commands = world.feed(ev.ItemCreated(item, sound=SECOND))
    assert [command.code for command in commands] == ["item_create_duplicate_item_id"]
