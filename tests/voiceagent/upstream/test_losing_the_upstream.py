"""A call whose upstream is not there yet, is lost, or is given up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from call_settings import call_settings
from upstream_call import (
    OUT_OF_BAND,
    SPEAKS,
    begun_beside,
    conversation,
    created,
    done,
    kinds,
    sent,
    sound,
    take,
    words,
)

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem


def settings_changed() -> ev.SettingsChanged:
    return ev.SettingsChanged(replace(call_settings(), instructions="Be brief."))


def test_a_greeting_waits_for_the_upstream() -> None:
    call = conversation()
    assert sent(call.handle(ev.CallStarted("Hello."))) == []
    update, asked = sent(call.connected())
    assert update["type"] == "session.update"
    assert asked["response"]["instructions"].endswith("nothing else: Hello.")


def test_what_a_client_asks_before_the_upstream_is_there_is_confirmed_at_once() -> None:
    call = conversation()
    assert not [one for one in call.handle(settings_changed()) if isinstance(one, notify.NotifySettings)]
    call.handle(ev.CallStarted())
    changed = call.handle(settings_changed())
    assert [one.created for one in changed if isinstance(one, notify.NotifySettings)] == [False]
    created = call.handle(ev.ItemCreated(MessageItem("item_1", "user", "Hello."), None))
    assert [type(one) for one in created] == [notify.NotifyItemAdded, notify.NotifyItemDone]
    assert kinds(call.connected()) == ["session.update", "conversation.item.create"]


def test_what_is_asked_for_before_the_upstream_is_there_is_asked_for_when_it_comes() -> None:
    call = conversation()
    call.handle(ev.CallStarted())
    wish = ev.ResponseRequested(instructions="Greet the caller.")
    assert call.handle(OUT_OF_BAND) == call.handle(wish) == []
    [refused] = call.handle(replace(wish, client_event_id="mine"))
    assert isinstance(refused, notify.NotifyError)
    assert (refused.code, refused.client_event_id) == ("conversation_already_has_active_response", "mine")
    _, aside, greeting = sent(call.connected())
    assert aside["response"]["metadata"] == {"for": "notes"}
    assert greeting["response"] == {"instructions": "Greet the caller."}


def test_a_response_of_which_nothing_came_is_asked_for_again() -> None:
    call = conversation()
    call.connected()
    take(call, created(1))
    call.lost()
    assert kinds(call.connected()) == ["session.update", "response.create"]


def test_a_response_that_was_begun_is_played_as_far_as_it_came() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), sound(1))
    assert do.FinishPlayout("resp_1") in call.lost()
    call.handle(ev.PlayoutPlayed("resp_1"))
    assert kinds(call.connected()) == ["session.update", "conversation.item.create"]


def test_what_was_asked_for_and_has_not_begun_is_asked_for_again_in_the_same_words() -> None:
    call = conversation()
    call.connected()
    asked = sent([*call.handle(OUT_OF_BAND), *call.handle(ev.SpeechRequested("One moment."))])
    call.lost()
    assert sent(call.connected())[1:] == asked
    take(call, begun_beside(1), created(2))
    call.lost()
    assert kinds(call.connected()) == ["session.update", "response.create"], "of the answer nothing came"


@pytest.mark.parametrize("cut", [True, False])
def test_what_is_heard_while_another_upstream_comes_is_known_to_that(cut: bool) -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), *[sound(1)] * 4, done(1))
    call.lost()
    assert kinds(call.connected()) == ["session.update"], "nobody knows yet how much is heard"
    if cut:
        take(call, SPEAKS)
    over = call.handle(ev.PlayoutStopped("resp_1", 0.5) if cut else ev.PlayoutPlayed("resp_1"))
    [told] = sent(over)
    assert told["type"] == "conversation.item.create"
    assert told["item"]["content"][0]["text"] == ("one two" if cut else "one two three four")


def test_after_the_apology_the_call_ends() -> None:
    call = conversation()
    call.handle(ev.CallStarted("Hello."))
    commands = call.give_up("Sorry.", np.ones(240, np.int16))
    [play] = [one for one in commands if isinstance(one, do.Play)]
    assert do.HangUp("the upstream was given up") in call.handle(ev.PlayoutPlayed(play.response_id))
