"""Pauses of inference while neither side speaks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_settings import call_settings
from call_world import POLICY, CallWorld, of

from llmcore.engine import Tool
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.settings import AgentTool, CallSettings, InferencePause

PAUSING = call_settings(pause=InferencePause(30.0, 0.8))
PAUSED = [do.PauseListening(0.8), notify.NotifyInferencePaused()]
RESUMED = [do.ResumeListening(), notify.NotifyInferenceResumed()]


def paused(settings: CallSettings = PAUSING) -> CallWorld:
    world = CallWorld(settings, replace(POLICY, prefill_while_speaking=True))
    world.feed(ev.CallStarted())
    assert world.feed(ev.InferenceIdle(30.0)) == PAUSED
    assert world.conversation.paused
    return world


def test_call_without_a_pause_never_pauses():
    assert CallWorld().feed(ev.InferenceIdle(30.0)) == []


def test_call_whose_client_ends_turns_never_pauses():
    assert CallWorld(replace(PAUSING, turn_detection=None)).feed(ev.InferenceIdle(30.0)) == []


def test_call_does_not_pause_while_the_agent_speaks():
    world = CallWorld(PAUSING)
    world.say("is there a pool")
    assert world.feed(ev.InferenceIdle(30.0)) == []


def test_paused_call_does_not_pause_again():
    assert paused().feed(ev.InferenceIdle(60.0)) == []


def test_caller_wakes_the_call_and_the_turn_is_answered():
    world = paused()
    assert world.feed(ev.CallerWoke(40.0)) == RESUMED
    world.say("is there a pool", at_s=39.5)
    assert of(do.StartRecognition, world.commands)[0].at_s == 39.5
    assert of(do.StartResponse, world.commands)


@pytest.mark.parametrize(
    "event",
    [
        ev.SpeechRequested("Your taxi is here."),
        ev.ReplyRequested("Say that the taxi is here."),
        ev.ResponseRequested(),
        ev.ClipRequested("resp_clip"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_something_to_say_wakes_the_call(event: ev.Event):
    world = paused()
    assert world.feed(event)[:2] == RESUMED
    assert not world.conversation.paused


def test_paused_call_prefills_nothing():
    world = paused()
    tool = AgentTool(Tool("look", "Looks something up."))
    commands = world.feed(ev.AgentChanged("Clerk", (tool,), "You keep the desk."))
    assert not of(do.Prefill, commands)
    assert of(do.Prefill, started().feed(ev.AgentChanged("Clerk", (tool,), "You keep the desk.")))
    assert world.conversation.paused


def started(settings: CallSettings = PAUSING) -> CallWorld:
    world = CallWorld(settings, replace(POLICY, prefill_while_speaking=True))
    world.feed(ev.CallStarted())
    return world
