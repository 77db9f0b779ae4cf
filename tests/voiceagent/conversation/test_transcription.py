"""Sessions that only transcribe use neither the LLM nor the voice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_settings import call_settings, turn_detection
from call_world import CallWorld
from conversation_moves import SCRIPTS, Caller
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.settings import CallSettings

SPEAKING = do.LlmCommand | do.Play | do.FinishPlayout | do.Apologise | do.Fill | notify.NotifyResponseStarted
CALLS = st.sampled_from(
    [
        call_settings(),
        call_settings(turn_detection=turn_detection("semantic_vad")),
        call_settings(turn_detection=turn_detection(idle_timeout_s=1.0)),
        call_settings(turn_detection=None),
    ]
)


@given(CALLS, SCRIPTS)
def test_whatever_happens_nothing_is_asked_of_llm_or_voice(
    settings: CallSettings, script: list[tuple[str, int]]
):
    world = CallWorld(settings.as_transcription())
    world.policy = replace(world.policy, prefill_while_speaking=True)
    world.feed(ev.CallStarted("Hello."))
    caller = Caller(world)
    for name, number in script:
        caller.move(name, number)
    world.feed(ev.SpeechRequested("Hello?"))
    world.feed(ev.ReplyRequested("Greet."))
    assert [command for command in world.commands if isinstance(command, SPEAKING)] == []


def test_a_turn_is_committed_added_and_transcribed_with_its_seconds_and_probability():
    world = CallWorld(call_settings().as_transcription())
    world.feed(ev.CallStarted(""))
    world.feed(ev.SpeechStarted(1.0))
    item_id = next(iter(world.recognizing))
    world.feed(ev.TranscriptChanged(item_id, "is there", "is there"))
    world.feed(ev.SpeechPaused(2.0))
    world.feed(ev.TranscriptChanged(item_id, "is there a pool", "is there a pool", True, 0.5))
    world.feed(ev.TurnEnded(2.0))
    told = [command for command in world.commands if isinstance(command, notify.Notification)]
    assert [type(one).__name__ for one in told] == [
        "NotifySettings",
        "NotifySpeechStarted",
        "NotifyTranscript",
        "NotifyTranscript",
        "NotifySpeechStopped",
        "NotifyInputCommitted",
        "NotifyItemAdded",
        "NotifyItemDone",
        "NotifyTranscript",
    ]
    final = told[-1]
    assert isinstance(final, notify.NotifyTranscript)
    assert (final.text, final.final, final.seconds) == ("is there a pool", True, 1.0)
    assert final.logprob == pytest.approx(-0.693, abs=0.001)


def test_a_session_that_begins_to_transcribe_stops_its_response_and_makes_no_more():
    world = CallWorld()
    world.feed(ev.CallStarted(""))
    world.feed(ev.ResponseRequested())
    begun = world.live()
    assert begun
    transcribes = world.conversation.settings.as_transcription()
    world.feed(ev.SettingsChanged(transcribes))
    assert not world.live()
    before = len(world.commands)
    world.feed(ev.ResponseRequested(client_event_id="mine"))
    (error,) = world.commands[before:]
    assert isinstance(error, notify.NotifyError)
    assert (error.client_event_id, "transcription session" in error.message) == ("mine", True)
