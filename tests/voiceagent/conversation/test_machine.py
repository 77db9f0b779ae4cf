"""A call as a whole."""

from __future__ import annotations

from call_settings import call_settings
from call_world import CallWorld, of, said

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify


def test_a_call_begins_with_its_settings():
    world = CallWorld()
    assert world.feed(ev.CallStarted()) == [notify.NotifySettings(world.settings, created=True)]


def test_settings_changed_before_the_call_are_notified_once():
    world = CallWorld()
    changed = call_settings(instructions="You keep the desk.")
    configure = [do.ConfigureListening(changed), do.ConfigureSpeaking(changed)]
    assert world.feed(ev.SettingsChanged(changed)) == configure
    assert world.feed(ev.CallStarted()) == [notify.NotifySettings(changed, created=True)]
    assert world.feed(ev.SettingsChanged(changed)) == [notify.NotifySettings(changed), *configure]


def test_a_greeting_is_said_without_asking_the_llm():
    world = CallWorld()
    commands = world.feed(ev.CallStarted("Good evening."))
    assert of(do.StartResponse, commands)[0].say == "Good evening."
    world.play_out(world.make("Good evening."))
    assert said(world) == [("assistant", "Good evening.")]
