"""Voices over the agent that are much lower than the caller's own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_world import POLICY, CallWorld, of, said
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.turn.proximity import VARIES_DB

CALLERS_DB = -20.0
DISTANT_DB = CALLERS_DB - POLICY.distant_voice_db - 1.0
NEAR_DB = CALLERS_DB - POLICY.distant_voice_db + 1.0


def answered(*levels_db: float | None, world: CallWorld | None = None) -> CallWorld:
    """A call in which the caller spoke so loudly, turn by turn, and the answer to the last is played."""
    world = world or CallWorld(played_s=0.2)
    for number, level_db in enumerate(levels_db):
        item_id = world.begin_speaking(10.0 * number)
        world.pause(item_id, "is there parking", 10.0 * number + 1)
        world.feed(ev.TurnEnded(10.0 * number + 1, level_db))
        response_id = world.make("Yes, there is.")
        if number + 1 < len(levels_db):
            world.play_out(response_id)
    return world


def over_the_agent(
    world: CallWorld, level_db: float | None, words: str = "", at_s: float = 60.0
) -> list[do.Command]:
    """A voice of a second over the agent, which says some words."""
    commands = world.feed(ev.VoiceNoticed(at_s, level_db))
    commands += world.feed(ev.SpeechStarted(at_s, level_db))
    item_id = next(iter(world.recognizing))
    commands += world.feed(ev.InterruptionCandidate(at_s + 0.128))
    commands += world.feed(ev.TranscriptChanged(item_id, words, words))
    commands += world.feed(ev.InterruptionConfirmed(at_s + 0.9))
    return commands


def steps_back(commands: list[do.Command]) -> bool:
    return any(isinstance(command, do.DuckPlayout | do.HoldPlayout | do.StopPlayout) for command in commands)


def after_others(distant_db: float) -> CallWorld:
    """A voice across the room was that loud in the agent's silence; another answer is played now."""
    world = answered(CALLERS_DB)
    over_the_agent(world, distant_db)
    (item_id,) = world.recognizing
    world.pause(item_id, "", 61.0)
    world.feed(ev.TurnEnded(61.0, distant_db))
    world.play_out(world.response_id())
    ask(world)
    return world


def ask(world: CallWorld) -> None:
    """The caller asks, and the answer is played."""
    world.say("is there a pool", 70.0)
    world.make("Yes, there is.")


def test_a_low_voice_silences_the_agent_until_it_has_stayed_low():
    world = answered(CALLERS_DB)
    done = over_the_agent(world, DISTANT_DB, "pass me the salt")
    told = [command for command in done if not isinstance(command, do.StartRecognition)]
    assert told == [do.DuckPlayout(), do.DuckPlayout(), do.HoldPlayout(), do.RestorePlayout()]


def test_the_next_as_low_leaves_the_agent_alone():
    world = after_others(DISTANT_DB - VARIES_DB)
    assert not steps_back(over_the_agent(world, DISTANT_DB, "pass me the salt", at_s=80.0))


def test_one_louder_than_those_across_the_room_silences_it_again():
    world = after_others(DISTANT_DB - VARIES_DB - 1.0)
    assert do.HoldPlayout() in over_the_agent(world, DISTANT_DB, "pass me the salt", at_s=80.0)


def test_who_is_louder_only_later_was_not_across_the_room():
    world = answered(CALLERS_DB)
    over_the_agent(world, DISTANT_DB)
    assert of(do.StopPlayout, world.feed(ev.VoiceLouder(61.4, NEAR_DB)))
    (item_id,) = world.recognizing
    world.pause(item_id, "no wait", 62.0)
    world.feed(ev.TurnEnded(62.0, NEAR_DB))
    world.play_out(world.make("Yes?"))
    ask(world)
    assert do.HoldPlayout() in over_the_agent(world, DISTANT_DB, at_s=80.0)


def test_a_low_voice_that_ends_soon_tells_of_nobody_across_the_room():
    world = answered(CALLERS_DB)
    world.feed(ev.SpeechStarted(60.0, DISTANT_DB))
    (item_id,) = world.recognizing
    world.feed(ev.InterruptionCandidate(60.128))
    world.pause(item_id, "", 60.5)
    assert do.RestorePlayout() in world.feed(ev.TurnEnded(60.5, DISTANT_DB))
    assert do.HoldPlayout() in over_the_agent(world, DISTANT_DB, at_s=80.0)


def test_what_it_says_is_answered_after_the_response():
    world = answered(CALLERS_DB)
    over_the_agent(world, DISTANT_DB, "is there a pool")
    (item_id,) = world.recognizing
    world.pause(item_id, "is there a pool", 61.0)
    assert not steps_back(world.feed(ev.TurnEnded(61.0, DISTANT_DB)))
    assert of(do.StartResponse, world.play_out(world.response_id()))
    assert ("user", "is there a pool") in said(world)


def test_a_voice_as_near_as_the_callers_cuts_the_agent():
    assert of(do.StopPlayout, over_the_agent(answered(CALLERS_DB), NEAR_DB))


def test_every_voice_counts_before_the_callers_level_is_known():
    assert of(do.StopPlayout, over_the_agent(answered(None), -60.0))


def test_every_voice_counts_where_its_own_level_is_not_told():
    assert of(do.StopPlayout, over_the_agent(answered(CALLERS_DB), None))


def test_every_voice_counts_where_the_policy_says_so():
    world = answered(CALLERS_DB, world=CallWorld(policy=replace(POLICY, distant_voice_db=0.0), played_s=0.2))
    assert of(do.StopPlayout, over_the_agent(world, -60.0))


def test_one_that_grows_louder_is_the_callers_at_once():
    world = after_others(DISTANT_DB)
    world.feed(ev.SpeechStarted(80.0, DISTANT_DB))
    assert world.feed(ev.VoiceLouder(80.06, NEAR_DB)) == [do.DuckPlayout()]
    assert world.feed(ev.InterruptionCandidate(80.128)) == [do.HoldPlayout()]


def test_one_that_is_long_by_then_holds_the_agent():
    world = after_others(DISTANT_DB)
    world.feed(ev.SpeechStarted(80.0, DISTANT_DB))
    world.feed(ev.InterruptionCandidate(80.128))
    assert world.feed(ev.VoiceLouder(80.2, NEAR_DB)) == [do.HoldPlayout()]


@pytest.mark.parametrize("words", ["", "is there a pool"])
def test_one_that_was_long_or_said_enough_cuts_it(words: str):
    world = answered(CALLERS_DB)
    over_the_agent(world, DISTANT_DB, words)
    assert of(do.StopPlayout, world.feed(ev.VoiceLouder(61.0, NEAR_DB)))


def test_one_that_asks_for_the_turn_gets_it():
    world = answered(CALLERS_DB)
    world.feed(ev.SpeechStarted(60.0, DISTANT_DB))
    (item_id,) = world.recognizing
    assert of(do.StopPlayout, world.pause(item_id, "stop", 60.4))


def test_who_goes_on_at_once_is_the_caller_however_low():
    world = answered(CALLERS_DB)  # the turn ended after a second
    assert world.feed(ev.SpeechStarted(1.5, -60.0))[1:] == [do.HoldPlayout()]


def test_a_voice_without_words_teaches_no_level():
    world = answered(CALLERS_DB)
    world.play_out(world.response_id())
    item_id = world.begin_speaking(30.0)
    world.pause(item_id, "", 31.0)
    world.feed(ev.TurnEnded(31.0, 0.0))
    world.say("is there a pool", 40.0)
    world.make("Yes, there is.")
    assert of(do.StopPlayout, over_the_agent(world, NEAR_DB))


def test_another_telephone_is_known_by_its_second_turn():
    world = answered(CALLERS_DB, CALLERS_DB, CALLERS_DB, -45.0, -45.0)
    assert of(do.StopPlayout, over_the_agent(world, -48.0))


def test_one_loud_turn_of_many_makes_no_voice_distant():
    assert of(do.StopPlayout, over_the_agent(answered(CALLERS_DB, CALLERS_DB, 0.0), NEAR_DB))


LEVELS = st.floats(-60.0, 0.0)


@given(st.lists(LEVELS, min_size=1, max_size=4), st.floats(0.0, 30.0), st.booleans())
def test_a_voice_as_loud_as_the_caller_loses_nothing(levels_db: list[float], above_db: float, words: bool):
    """Its effect equals that of a voice without a level."""
    worlds = answered(*levels_db), answered(*levels_db)
    text = "is there a pool" if words else ""
    same = [
        over_the_agent(world, level_db, text)
        for world, level_db in zip(worlds, (max(levels_db) + above_db, None), strict=True)
    ]
    assert same[0] == same[1]


@given(LEVELS, st.lists(st.tuples(st.floats(-60.0, 0.0), st.sampled_from(["louder", "long", "longer"]))))
def test_a_voice_that_is_loud_and_long_at_last_always_cuts(level_db: float, steps: list[tuple[float, str]]):
    """In whatever order it grew loud and long."""
    world = answered(CALLERS_DB)
    world.feed(ev.SpeechStarted(60.0, level_db))
    for louder_db, step in [*steps, (0.0, "louder"), (0.0, "longer")]:
        at_s = 61.0
        if step == "louder":
            world.feed(ev.VoiceLouder(at_s, louder_db))
        else:
            world.feed((ev.InterruptionCandidate if step == "long" else ev.InterruptionConfirmed)(at_s))
    assert of(do.StopPlayout, world.commands)
