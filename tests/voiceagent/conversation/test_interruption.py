"""Barge-in: voices over the agent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld, of, said, speech
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Message
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.interruption import MAX_HUM_S, MIN_WORD_S
from voiceagent.conversation.turn.endpointing_delay import BACKCHANNEL_SILENCE_S

MANUAL = call_settings(turn_detection=None)


def test_a_voice_over_the_agent_ducks_it_and_is_not_announced():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    commands = world.feed(ev.SpeechStarted(5.0))
    assert of(do.DuckPlayout, commands) and not of(notify.NotifySpeechStarted, commands)


def test_what_may_be_a_voice_ducks_and_a_blip_restores():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    assert world.feed(ev.VoiceNoticed(5.0)) == [do.DuckPlayout()]
    assert world.feed(ev.VoiceFaded(5.03)) == [do.RestorePlayout()]


def test_loud_sound_that_lasts_and_may_be_a_voice_holds_the_agent():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    world.feed(ev.VoiceNoticed(5.0))
    assert world.feed(ev.VoiceNoticed(5.0, lasts=True)) == [do.HoldPlayout()]
    assert world.feed(ev.VoiceFaded(5.6)) == [do.RestorePlayout()]


def test_what_may_be_a_voice_changes_nothing_in_silence():
    world = CallWorld()
    assert world.feed(ev.VoiceNoticed(5.0)) == []
    assert world.feed(ev.VoiceFaded(5.03)) == []


def test_a_candidate_holds_the_agent_and_a_backchannel_lets_it_go_on():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert world.feed(ev.InterruptionCandidate(5.2)) == [do.HoldPlayout()]
    world.pause(item_id, "uh huh", 5.4)
    assert of(do.RestorePlayout, world.feed(ev.TurnEnded(5.4)))
    assert world.live()


@pytest.mark.parametrize("kind", ["semantic_vad", "server_vad"])
@pytest.mark.parametrize(("words", "is_short"), [("mm hmm", True), ("", True), ("other", False)])
def test_a_backchannel_over_the_agent_is_over_after_a_short_silence_in_which_the_agent_is_held(
    kind: str, words: str, is_short: bool
):
    world = CallWorld(call_settings(turn_detection=turn_detection(kind=kind)), replace(POLICY, language="en"))
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    world.feed(ev.InterruptionCandidate(5.2))
    required = of(do.RequireSilence, world.pause(item_id, words, 5.4))
    assert [command.silence_s <= BACKCHANNEL_SILENCE_S for command in required] == (
        [is_short] if is_short or kind == "semantic_vad" else []
    )
    world.feed(ev.SpeechResumed(5.5))
    assert world.live(), "the agent goes on, whatever the caller says next"


def test_a_backchannel_that_resumes_a_turn_may_go_on():
    world = CallWorld(
        call_settings(turn_detection=turn_detection(kind="semantic_vad")), replace(POLICY, language="en")
    )
    world.say("is there")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(2.5)
    (required,) = of(do.RequireSilence, world.pause(item_id, "mm", 2.8))
    assert required.silence_s > BACKCHANNEL_SILENCE_S


def test_a_confirmed_voice_interrupts_and_the_history_ends_there():
    world = CallWorld(played_s=0.5)
    world.say("is there parking")
    response_id = world.make("one two three four")
    item_id = world.begin_speaking(5.0)
    commands = world.feed(ev.InterruptionConfirmed(5.0))
    assert notify.NotifySpeechStarted(item_id, 5.0) in commands
    assert of(do.CancelResponse, commands) and of(do.StopPlayout, commands)
    assert of(notify.NotifyResponseEnded, commands)[0].status == "cancelled"
    assert of(notify.NotifyResponseEnded, commands)[0].reason == "turn_detected"
    played = said(world)[-1][1]
    assert "one two three four".startswith(played) and 0 < len(played) < len("one two three four")
    assert not world.feed(ev.SpeechReady(response_id, speech(1.0)))


def test_words_that_are_no_backchannel_interrupt():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert not of(do.StopPlayout, world.feed(ev.TranscriptChanged(item_id, "no wait", "no")))
    assert of(do.StopPlayout, world.feed(ev.TranscriptChanged(item_id, "no wait", "no wait")))


def test_words_beside_backchannels_must_be_enough_to_interrupt():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert not of(do.StopPlayout, world.feed(ev.TranscriptChanged(item_id, "okay i", "okay i")))
    assert of(do.StopPlayout, world.feed(ev.TranscriptChanged(item_id, "okay i think", "okay i think")))


@pytest.mark.parametrize(
    ("heard", "until_s"),
    [
        ("Him and them.", 5.7),
        ("Amen, then.", 5.7),
        ("I am.", 5.7),
        ("And then,", 5.7),
        ("I am in the.", 5.7),
        ("Amend them.", 5.7),
        ("That's it.", 5.06),  # nobody says that in so short a time: the first breath of an "uh huh"
    ],
)
def test_a_hum_misheard_as_words_stops_nothing_and_leaves_no_trace(heard: str, until_s: float):
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    before = said(world)
    item_id = world.begin_speaking(5.0)
    commands = world.pause(item_id, heard, until_s) + world.feed(ev.TurnEnded(until_s))
    assert of(do.RestorePlayout, commands) and not of(do.StopPlayout, commands)
    assert said(world) == before


def test_what_is_understood_when_the_voice_went_on_counts():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert not of(do.StopPlayout, world.pause(item_id, "That's it.", 5.06))
    world.feed(ev.SpeechResumed(5.2))
    assert of(do.StopPlayout, world.pause(item_id, "That's it, thanks.", 5.8))


def test_words_that_a_hum_may_be_interrupt_beside_another():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert of(do.StopPlayout, world.pause(item_id, "I am leaving", 5.7))


def test_a_long_voice_interrupts_though_its_words_may_be_a_hum():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    world.feed(ev.TranscriptChanged(item_id, "and then I", "and then"))
    assert of(do.StopPlayout, world.feed(ev.InterruptionConfirmed(5.9)))


def test_one_word_is_answered_when_the_agent_has_finished():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    world.feed(ev.InterruptionCandidate(5.2))
    world.pause(item_id, "tuesday", 5.3)
    commands = world.feed(ev.TurnEnded(5.3))
    assert of(do.RestorePlayout, commands) and not of(do.StopPlayout, commands)
    (start,) = of(do.StartResponse, world.play_out(response_id))
    assert start.request.messages[-1] == Message("user", "tuesday")


def test_a_backchannel_brings_the_voice_back_and_leaves_no_trace():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    before = said(world)
    item_id = world.begin_speaking(5.0)
    world.pause(item_id, "uh huh", 5.3)
    commands = world.feed(ev.TurnEnded(5.3))
    assert commands == [do.StopRecognition(item_id), do.RestorePlayout()]
    assert said(world) == before


def test_a_settled_word_that_asks_for_the_turn_interrupts():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    assert of(do.StopPlayout, world.pause(item_id, "stop", 5.3))


def test_words_that_come_after_the_turn_has_ended_interrupt_too():
    world = CallWorld()
    world.say("is there parking")
    world.make("Yes, there is.")
    item_id = world.begin_speaking(5.0)
    world.feed(ev.SpeechPaused(5.3))
    world.feed(ev.TurnEnded(5.3))
    commands = world.feed(ev.TranscriptChanged(item_id, "stop", "", True))
    assert of(do.StopPlayout, commands)
    assert said(world)[-1] == ("user", "is there parking stop")
    assert world.working


@given(
    seconds=st.floats(1.0, 2.0),
    breaks=st.lists(st.floats(0.1, 0.9), max_size=2, unique=True),
    settled_late=st.booleans(),
    confirmed=st.booleans(),
    text=st.sampled_from(["stop", "tuesday", "could you help me with something", "him and them"]),
)
def test_a_second_of_speech_over_the_agent_is_answered(
    seconds: float, breaks: list[float], settled_late: bool, confirmed: bool, text: str
):
    """In one turn or, where breaks were taken for its end, in several; but for what is said in a hum."""
    world = CallWorld(played_s=0.2)
    world.say("is there parking")
    response_id = world.make("Yes, there is.")
    ends = [5.0 + part * seconds for part in sorted(breaks)] + [5.0 + seconds]
    begins = [5.0] + [end + 0.02 for end in ends[:-1]]
    longest = max(end - begin for begin, end in zip(begins, ends, strict=True))
    confirmed = confirmed and longest >= 0.9
    for begin_s, end_s in zip(begins, ends, strict=True):
        item_id = world.begin_speaking(begin_s)
        world.feed(ev.InterruptionCandidate(begin_s + 0.128))
        if confirmed and end_s - begin_s >= 0.9:
            world.feed(ev.InterruptionConfirmed(begin_s + 0.9))
        world.feed(ev.SpeechPaused(end_s))
        settled = ev.TranscriptChanged(item_id, text, text, True)
        for event in (ev.TurnEnded(end_s), settled) if settled_late else (settled, ev.TurnEnded(end_s)):
            world.feed(event)
    if response_id in world.live():
        world.play_out(response_id)
    hums = longest <= MAX_HUM_S and longest < MIN_WORD_S * len(text.split())
    hums = hums or (text == "him and them" and not confirmed)
    assert bool(world.working) is not hums


def test_more_words_than_there_was_time_for_are_answered_later():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.make("Yes, there is.")
    item_id = world.begin_speaking(5.6)  # the beginning of what he said was not noticed
    world.feed(ev.InterruptionCandidate(5.8))
    commands = world.pause(item_id, "could you help me with something", 6.15) + world.feed(ev.TurnEnded(6.15))
    assert of(do.RestorePlayout, commands) and not of(do.StopPlayout, commands)
    (start,) = of(do.StartResponse, world.play_out(response_id))
    assert start.request.messages[-1] == Message("user", "could you help me with something")


def test_a_voice_that_outlasts_the_response_becomes_a_turn():
    world = CallWorld()
    world.say("is there parking")
    response_id = world.make("Yes.")
    item_id = world.begin_speaking(5.0)
    assert notify.NotifySpeechStarted(item_id, 5.0) in world.play_out(response_id)


def test_an_answer_to_a_question_just_asked_is_no_backchannel():
    world = CallWorld()
    world.say("book a room")
    response_id = world.make("Shall I?")
    world.feed(ev.PlayoutSent(response_id))
    item_id = world.begin_speaking(5.0)
    world.pause(item_id, "yes", 5.3)
    world.feed(ev.TurnEnded(5.3))
    world.feed(ev.PlayoutPlayed(response_id))
    assert said(world)[-1] == ("user", "yes")
    assert world.working


def test_words_that_may_not_be_cut_go_on_and_the_turn_waits():
    world = CallWorld()
    world.feed(ev.SpeechRequested("This call is recorded.", interruptible=False))
    response_id = world.make("This call is recorded.")
    commands = world.say("what about parking", 5.0) + world.feed(ev.InterruptionConfirmed(5.0))
    for silencing in (do.StopPlayout, do.HoldPlayout, do.DuckPlayout, do.StartResponse):
        assert not of(silencing, commands)
    commands = world.play_out(response_id)
    (start,) = of(do.StartResponse, commands)
    assert start.request.messages[-1] == Message("user", "what about parking")


def _asked(answers: tuple[str, ...] = ("yes", "uh huh", "right")) -> tuple[CallWorld, str]:
    """Return a call in which the agent's code asks whether something is right, 3 s long, and the response."""
    world = CallWorld(call_settings(agent="hotel"), replace(POLICY, language="en"))
    world.say("book it")
    world.play_out(world.make("One moment."))
    world.feed(ev.TurnsClaimed(True))
    world.feed(ev.SpeechRequested("I have T, O, M. Is that right?", answers=answers))
    return world, world.make("I have T, O, M.", "Is that right?", seconds=1.5)


def _over(
    world: CallWorld, response_id: str, words: str, played_s: float, voiced_s: float = 0.4
) -> list[do.Command]:
    """The caller says something from this position of a response on."""
    item_id = world.begin_speaking(10.0)
    commands = world.feed(ev.SpokeOverAgent(response_id, played_s)) + world.feed(
        ev.InterruptionCandidate(10.2)
    )
    world.played_s = played_s + 0.2
    ended_s = 10.0 + voiced_s
    return commands + world.pause(item_id, words, ended_s) + world.feed(ev.TurnEnded(ended_s))


@pytest.mark.parametrize("words", ["Yes.", "Uh huh.", "Yes, right."])
def test_a_yes_over_the_last_words_of_a_question_answers_it(words: str):
    world, response_id = _asked()
    commands = _over(world, response_id, words, 2.0)
    assert of(do.StopPlayout, commands)
    assert of(do.TurnConcluded, commands) == [do.TurnConcluded(words)]


@pytest.mark.parametrize(
    ("words", "played_s"), [("Yes.", 0.5), ("Mm hmm.", 2.0), ("Right.", 2.0), ("Right.", 2.9)]
)
def test_a_backchannel_before_them_and_what_may_be_an_echo_of_them_answer_nothing(
    words: str, played_s: float
):
    world, response_id = _asked()
    commands = _over(world, response_id, words, played_s)
    assert not of(do.StopPlayout, commands) and not of(do.TurnConcluded, commands)


def test_more_words_than_the_voice_had_time_for_answer_nothing():
    world, response_id = _asked()
    commands = _over(world, response_id, "Yes, yes, yes.", 2.0, voiced_s=0.25)
    assert not of(do.StopPlayout, commands) and not of(do.TurnConcluded, commands)


def test_a_yes_over_other_speech_is_a_backchannel():
    world, response_id = _asked(answers=())
    assert not of(do.TurnConcluded, _over(world, response_id, "Yes.", 2.0))


def test_a_no_over_a_question_answers_it():
    world, response_id = _asked()
    assert of(do.TurnConcluded, _over(world, response_id, "No.", 1.0)) == [do.TurnConcluded("No.")]
