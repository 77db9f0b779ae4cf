"""Backchannels of the agent: in a pause that surely ends no turn, and not while the caller speaks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld, of
from conversation_moves import SCRIPTS, run
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.calls.log.codec import Inline, encode
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.backchannels import (
    MAX_PROBABILITY,
    MIN_GAP_S,
    MIN_PAUSE_S,
    MIN_SPEECH_S,
    MIN_WORDS,
    PHRASE_S,
    Backchannels,
    suits,
)
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.turn.caller_turn import (
    CallerTurn,
    Paused,
    RecognitionState,
    Speaking,
    TurnVisibility,
)

SETTINGS = call_settings(turn_detection=turn_detection("semantic_vad"), backchannels="all")
OPEN = EndOfTurn(0.02, 1.5, (), "probability")
WORDS = "so I went to the station because the"


def paused(spoke_s: float = 6.0, words: str = WORDS) -> CallerTurn:
    turn = CallerTurn("item_1", 1.0, phase=Paused(1.0 + spoke_s), recognition=RecognitionState(words))
    turn.visibility = TurnVisibility.ANNOUNCED
    return turn


def a_call(**changes: Any) -> CallWorld:
    return CallWorld(replace(SETTINGS, **changes), replace(POLICY, language="en"))


def talk(world: CallWorld, words: str = WORDS, until_s: float = 7.0) -> list[do.Command]:
    """The caller speaks from 1 s on, and pauses."""
    return world.pause(world.begin_speaking(1.0), words, until_s)


def test_pause_in_the_middle_of_a_sentence_gets_one_backchannel():
    world = a_call()
    commands = talk(world)
    assert of(do.PlayBackchannel, commands) == [do.PlayBackchannel(1, 7.0 + MIN_PAUSE_S)]
    (item_id,) = world.recognizing
    assert not of(do.PlayBackchannel, world.feed(ev.TurnJudged(item_id, 0.01))), "one a pause"


def test_backchannel_stops_when_the_caller_continues():
    world = a_call()
    talk(world)
    assert of(do.StopBackchannel, world.feed(ev.SpeechResumed(7.3)))
    world.feed(ev.SpeechPaused(7.8))
    assert not of(do.StopBackchannel, world.feed(ev.SpeechResumed(8.0))), "nothing is left to stop"


def test_backchannel_that_was_not_played_holds_no_later_one_back():
    backchannels, turn = Backchannels("en"), paused()
    assert backchannels.on_pause(turn, OPEN) == [do.PlayBackchannel(1, 7.0 + MIN_PAUSE_S)]
    assert backchannels.on_speech(7.0 + MIN_PAUSE_S - 0.01) == [do.StopBackchannel()]
    turn.phase = Paused(8.5)
    assert backchannels.on_pause(turn, OPEN) == [do.PlayBackchannel(2, 8.5 + MIN_PAUSE_S)]
    assert backchannels.on_speech(8.5 + MIN_PAUSE_S) == [do.StopBackchannel()]
    turn.phase = Paused(10.0)
    assert not backchannels.on_pause(turn, OPEN), "the second one was played"


def test_pause_that_may_end_the_turn_before_a_backchannel_is_over_gets_none():
    short = replace(OPEN, silence_s=MIN_PAUSE_S + PHRASE_S - 0.01)
    assert not Backchannels("en").on_pause(paused(), short)


def test_backchannel_stops_once_the_turn_may_end_sooner():
    backchannels = Backchannels("en")
    assert backchannels.on_pause(paused(), OPEN)
    assert backchannels.on_pause(paused(), replace(OPEN, silence_s=0.4)) == [do.StopBackchannel()]


def test_backchannel_stops_at_the_end_of_its_turn():
    world = a_call()
    talk(world)
    assert of(do.StopBackchannel, world.feed(ev.TurnEnded(7.0)))


def test_calls_of_builds_that_did_not_wait_replay():
    """Their logs have no `backchannel_after_s`, and commands without a time."""
    world = CallWorld(SETTINGS, replace(POLICY, language="en", backchannel_after_s=0.0))
    assert of(do.PlayBackchannel, talk(world)) == [do.PlayBackchannel(1)]
    assert encode(do.PlayBackchannel(1), Inline()) == {"type": "PlayBackchannel", "number": 1}
    assert not of(do.StopBackchannel, world.feed(ev.TurnEnded(7.0)))


def test_backchannel_is_no_response_and_joins_no_history():
    world = a_call()
    talk(world)
    assert not world.begun
    assert not world.conversation.history.items


@pytest.mark.parametrize("use", ["off", "live"])
def test_calls_that_are_not_to_have_any_get_none(use):
    world = a_call(backchannels=use)
    assert not of(do.PlayBackchannel, talk(world))


def test_complete_sentence_gets_none():
    assert not of(do.PlayBackchannel, talk(a_call(), "is there a pool in the hotel"))


def test_voice_over_the_agent_gets_none():
    world = a_call()
    world.feed(ev.CallStarted("Good evening."))
    world.make("Good evening.")
    assert not of(do.PlayBackchannel, talk(world))


def test_claimed_turns_get_none():
    world = a_call()
    world.feed(ev.TurnsClaimed(True))
    assert not of(do.PlayBackchannel, talk(world))


@pytest.mark.parametrize(
    ("turn", "decision", "since_s"),
    [
        (paused(MIN_SPEECH_S - 0.1), OPEN, 60.0),
        (paused(words="so I"), OPEN, 60.0),
        (paused(), OPEN, MIN_GAP_S - 0.1),
        (paused(), replace(OPEN, probability=MAX_PROBABILITY + 0.01), 60.0),
        (paused(), replace(OPEN, rule="moment"), 60.0),
        (paused(), replace(OPEN, rule="dictation"), 60.0),
    ],
    ids=["too early", "too few words", "too soon", "may be the end", "asked for a moment", "dictates"],
)
def test_unsuited_pause(turn: CallerTurn, decision: EndOfTurn, since_s: float):
    assert suits(paused(), OPEN, 60.0)
    assert not suits(turn, decision, since_s)


@pytest.mark.parametrize(
    ("words", "language"),
    [
        ("my phone number at the office is oh seven seven", "en"),
        ("my phone number at the office is 0 7 7", "en"),
        ("you can reach me on 0770 9", "en"),
        ("and the booking that I made has twenty", "en"),
        ("the reference of the order is B as in", "en"),
        ("my name is spelled s m i", "en"),
        ("so my name is Ao and that is a o", "en"),
        ("you can write to me at jane.doe@", "en"),
        ("yes sure so the number of my booking is", "en"),
        ("and I think that the email address is", "en"),
        ("ja gern also meine Telefonnummer im Büro ist", "de"),
        ("claro que sí mi número de teléfono es", "es"),
        ("meine Telefonnummer im Büro ist null sieben sieben", "de"),
        ("mi número de teléfono es seis cuatro", "es"),
    ],
)
def test_digits_and_spelling_get_none(words: str, language: str):
    assert suits(paused(words=words), OPEN, 60.0)
    assert not Backchannels(language).on_pause(paused(words=words), OPEN)


@pytest.mark.parametrize(
    "words",
    [
        WORDS,
        "I think that this is the one that we had a look at because the",
        "there were quite a number of people and we had to wait outside because the",
        "we have three children, and the oldest of them goes to a school that is not near because the",
    ],
)
def test_number_that_is_not_dictated_holds_no_backchannel_back(words: str):
    assert Backchannels("en").on_pause(paused(words=words), OPEN)


@pytest.mark.parametrize(
    ("asked", "gets_one"),
    [("Good evening.", True), ("What is your phone number?", False), ("Please spell your last name.", False)],
)
def test_dictation_that_the_agent_asked_for_gets_none(asked: str, gets_one: bool):
    world = a_call()
    world.feed(ev.CallStarted(asked))
    world.play_out(world.make(asked))
    commands = talk(world, "yes sure I have it here on the", 9.0)
    assert bool(of(do.PlayBackchannel, commands)) is gets_one


def test_dictation_that_the_agents_code_asked_for_gets_none():
    world = a_call()
    world.feed(ev.DictationBegan(()))
    assert not of(do.PlayBackchannel, talk(world))


PAUSES = st.lists(st.tuples(st.floats(0.1, 8.0), st.floats(0, 1), st.integers(0, 12)), max_size=40)


@given(PAUSES)
def test_backchannels_keep_their_distance_and_end_with_the_pause(pauses: list[tuple[float, float, int]]):
    backchannels, turn, at_s = Backchannels("en"), paused(), 1.0
    said: list[float] = []
    for spoke_s, probability, words in pauses:
        at_s += spoke_s
        turn.phase = Paused(at_s)
        turn.recognition = RecognitionState(" ".join(["word"] * words))
        decision = replace(OPEN, probability=probability)
        played = backchannels.on_pause(turn, decision)
        assert not backchannels.on_pause(turn, decision), "one a pause"
        if played:
            said.append(at_s)
            assert probability <= MAX_PROBABILITY
            assert words >= MIN_WORDS
        turn.phase = Speaking()
        assert not backchannels.on_pause(turn, decision), "over a word"
        assert bool(backchannels.on_speech(at_s + MIN_PAUSE_S)) is bool(played)
    assert all(later - earlier >= MIN_GAP_S for earlier, later in pairwise(said))


@settings(max_examples=200)
@given(SCRIPTS)
def test_no_backchannel_in_any_call_is_over_the_agent_or_the_caller(script):
    world = run(replace(SETTINGS, output_modality="audio"), script)
    speaking, begun = False, 0
    for step in world.steps:
        match step.event:
            case ev.SpeechStarted() | ev.SpeechResumed():
                speaking = True
            case ev.SpeechPaused() | ev.TurnEnded():
                speaking = False
        nods = of(do.PlayBackchannel, step.commands)
        begun += len(nods)
        assert not (speaking and nods)
    assert [one.number for one in of(do.PlayBackchannel, world.commands)] == list(range(1, begun + 1))
