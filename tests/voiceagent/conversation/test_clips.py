"""Clips of a client, which are played in place of the agent's speech."""

from __future__ import annotations

from call_world import CallWorld, of, said

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify

CLIP = ev.ClipRequested("resp_clip")


def test_clip_of_a_quiet_call_plays_at_once_without_an_engine():
    world = CallWorld()
    commands = world.feed(CLIP)
    assert [type(command) for command in commands] == [do.PlayClip, do.FinishPlayout]
    assert not world.conversation.idle
    assert world.feed(ev.PlayoutSent("resp_clip")) == [notify.NotifyClipEnded("resp_clip", True)]
    world.feed(ev.PlayoutPlayed("resp_clip"))
    assert world.conversation.idle
    assert not said(world), "it joins no history"


def test_clip_cuts_the_response_and_starts_once_that_has_stopped():
    world = CallWorld(played_s=0.0)
    world.say("is there a pool")
    response_id = world.make("There is one.")
    commands = world.feed(CLIP)
    stopped = commands.index(do.StopPlayout(response_id, "client"))
    (clip,) = of(do.PlayClip, commands)
    assert stopped < commands.index(clip)
    world.play_out("resp_clip")
    assert len(of(do.StartResponse, world.commands)) == 1, "the answer that was cut is not made again"


def test_voice_over_a_clip_is_answered_after_it():
    world = CallWorld()
    world.feed(CLIP)
    world.say("no wait", at_s=2.0)
    assert not of(do.StopPlayout, world.commands)
    assert not of(do.StartResponse, world.commands)
    world.feed(ev.PlayoutSent("resp_clip"))
    assert of(do.StartResponse, world.feed(ev.PlayoutPlayed("resp_clip")))


def test_second_clip_cuts_the_first_which_is_not_complete():
    world = CallWorld()
    world.feed(CLIP)
    commands = world.feed(ev.ClipRequested("resp_other"))
    assert notify.NotifyClipEnded("resp_clip", completed=False) in commands
    assert of(do.PlayClip, commands)[0].response_id == "resp_other"


def test_speech_of_the_agents_code_waits_for_the_clip():
    world = CallWorld()
    world.feed(CLIP)
    world.feed(ev.SpeechRequested("Goodbye."))
    assert not of(do.StartResponse, world.commands)
    world.feed(ev.PlayoutSent("resp_clip"))
    assert of(do.StartResponse, world.feed(ev.PlayoutPlayed("resp_clip")))[0].say == "Goodbye."


def test_clip_that_waits_for_its_start_ends_when_all_speech_is_stopped():
    world = CallWorld()
    world.say("is there a pool")
    world.make("There is one.")
    world.conversation.handle(CLIP)  # the response has not stopped yet
    commands = world.conversation.handle(ev.SettingsChanged(world.conversation.settings.as_transcription()))
    assert notify.NotifyClipEnded("resp_clip", completed=False) in commands
