"""Codes of an interruption and of the end of a turn: the conversation names the rule that decided."""

from __future__ import annotations

import pytest
from call_settings import call_settings, turn_detection
from call_world import CallWorld, of

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import InterruptedBy, TurnEndCode


def answering(**settings: object) -> CallWorld:
    """Return a call whose agent speaks."""
    world = CallWorld(call_settings(**settings))
    world.say("is there parking")
    world.make("Yes, there is.", "It is free.")
    return world


def interrupted_by(world: CallWorld) -> set[InterruptedBy]:
    """Return the causes in all commands: playout and notification agree."""
    stops = of(do.StopPlayout, world.commands)
    ends = [end for end in of(notify.NotifyResponseEnded, world.commands) if end.status == "cancelled"]
    return {command.interrupted_by for command in (*stops, *ends)}


def speak(world: CallWorld, words: str, at_s: float = 9.0, pause: bool = True) -> None:
    item_id = world.begin_speaking(at_s)
    world.feed(ev.InterruptionCandidate(at_s + 0.2))
    if pause:
        world.pause(item_id, words, at_s + 1)
    else:
        world.feed(ev.TranscriptChanged(item_id, words, words))


def test_long_voice_is_interruption_by_duration():
    world = answering()
    world.begin_speaking(9.0)
    world.feed(ev.InterruptionConfirmed(9.6))
    assert interrupted_by(world) == {"duration"}


def test_enough_words_are_interruption_by_words():
    world = answering()
    speak(world, "and is there also a pool", pause=False)
    assert interrupted_by(world) == {"words"}


def test_stop_word_is_interruption_by_stop_word():
    world = answering()
    speak(world, "stop")
    assert interrupted_by(world) == {"stop_word"}


def test_stop_word_that_is_final_after_the_turn_is_interruption_by_stop_word():
    world = answering()
    item_id = world.begin_speaking(9.0)
    world.feed(ev.SpeechPaused(9.5))
    world.feed(ev.TurnEnded(9.5))
    world.feed(ev.TranscriptChanged(item_id, "stop", "stop", True))
    assert interrupted_by(world) == {"stop_word"}


def test_word_soon_after_a_false_end_is_interruption_by_resumed_turn():
    world = answering()
    speak(world, "garage", at_s=2.3, pause=False)
    assert interrupted_by(world) == {"resumed_turn"}


@pytest.mark.parametrize(
    ("request_", "cause"),
    [
        (ev.OutputCleared(by_key=True), "key"),
        (ev.OutputCleared(), "client"),
        (ev.ResponseCancelled(), "client"),
        (ev.ResponseCancelled(sideband=2), "sideband"),
        (ev.OutputCleared(sideband=1), "sideband"),
    ],
)
def test_request_is_cause_of_its_interruption(request_: ev.ClientRequest, cause: InterruptedBy):
    world = answering()
    world.feed(request_)
    assert interrupted_by(world) == {cause}


def test_truncated_item_is_interruption_by_the_client():
    world = answering()
    (text, *_) = of(notify.NotifyResponseText, world.commands)
    world.feed(ev.ItemTruncated(text.item_id, 0.5))
    assert interrupted_by(world) == {"client"}


def test_whole_answer_has_no_interruption():
    world = answering()
    world.play_out(world.response_id())
    assert interrupted_by(world) == set()
    (end,) = of(notify.NotifyResponseEnded, world.commands)
    assert end.interrupted_by == ""


def test_interruption_after_the_last_audio_was_sent_has_its_cause_in_the_playout_command():
    world = answering()
    world.feed(ev.PlayoutSent(world.response_id()))
    world.begin_speaking(9.0)
    world.feed(ev.InterruptionConfirmed(9.6))
    (stop,) = of(do.StopPlayout, world.commands)
    (end,) = of(notify.NotifyResponseEnded, world.commands)
    assert (stop.interrupted_by, end.interrupted_by) == ("duration", "")


def end_code(world: CallWorld) -> TurnEndCode:
    (committed,) = of(notify.NotifyInputCommitted, world.commands)
    code: TurnEndCode = committed.end_code
    return code


def test_turn_of_server_vad_ends_by_silence():
    world = CallWorld()
    world.say("is there parking")
    assert end_code(world) == "silence"


def test_turn_of_semantic_vad_ends_by_probability():
    world = CallWorld(call_settings(turn_detection=turn_detection("semantic_vad")))
    world.say("is there parking")
    assert end_code(world) == "probability"


def test_turn_without_a_final_transcript_ends_by_longest_silence():
    world = CallWorld(call_settings(turn_detection=turn_detection("semantic_vad")))
    world.begin_speaking(1.0)
    world.feed(ev.SpeechPaused(2.0))
    world.feed(ev.TurnEnded(2.0))
    assert end_code(world) == "longest_silence"


def test_rule_of_an_earlier_pause_does_not_end_a_later_one():
    world = CallWorld(call_settings(turn_detection=turn_detection("semantic_vad")))
    world.pause(world.begin_speaking(1.0), "is there")
    world.feed(ev.SpeechResumed(2.5))
    world.feed(ev.SpeechPaused(3.0))
    world.feed(ev.TurnEnded(3.0))
    assert end_code(world) == "longest_silence"


def test_turn_that_the_client_commits_ends_by_the_client():
    world = CallWorld(call_settings(turn_detection=None))
    world.begin_speaking(1.0)
    world.feed(ev.InputCommitted(1.0))
    assert end_code(world) == "client"
