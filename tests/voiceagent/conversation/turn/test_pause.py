"""How long a pause may be, once the words before it are known."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.end_of_turn.probability import EndOfTurn

SETTINGS = call_settings(turn_detection=turn_detection(kind="semantic_vad"))
STATEMENT = "I am coming by car."


def calling() -> CallWorld:
    return CallWorld(SETTINGS, replace(POLICY, language="en"))


def pauses(world: CallWorld, words: str, at_s: float = 1.0) -> tuple[str, EndOfTurn]:
    """The caller says `words` and pauses a second later; the turn's item, and what is decided."""
    item_id = world.begin_speaking(at_s)
    return item_id, decision(world.pause(item_id, words, at_s + 1))


def decision(commands: list[do.Command]) -> EndOfTurn:
    (found,) = [command.decision for command in commands if isinstance(command, do.RequireSilence)]
    return found


def test_a_question_is_answered_sooner_than_what_is_not_finished():
    _, question = pauses(calling(), "Where can I park?")
    _, unfinished = pauses(calling(), "I would like to book a")
    assert question.silence_s < unfinished.silence_s


def test_the_turn_model_moves_the_decision():
    world = calling()
    item_id, before = pauses(world, STATEMENT)
    after = decision(world.feed(ev.TurnJudged(item_id, 0.99)))
    assert after.probability > before.probability and "sound" in dict(after.witnesses)


def test_the_turn_model_says_nothing_of_the_next_pause():
    world = calling()
    item_id, _ = pauses(world, STATEMENT)
    world.feed(ev.TurnJudged(item_id, 0.99))
    world.feed(ev.SpeechResumed(2.1))
    assert "sound" not in dict(decision(world.pause(item_id, f"{STATEMENT} We come late.", 3.0)).witnesses)


def test_a_judgement_that_comes_too_late_changes_nothing():
    world = calling()
    item_id, _ = pauses(world, STATEMENT)
    world.feed(ev.SpeechResumed(2.3))
    assert world.feed(ev.TurnJudged(item_id, 0.99)) == []


def test_who_has_gone_on_after_a_pause_is_given_more_time():
    world = calling()
    item_id, before = pauses(world, STATEMENT)
    world.feed(ev.SpeechResumed(2.5))
    assert decision(world.pause(item_id, STATEMENT, 3.0)).silence_s > before.silence_s


def test_a_gap_within_words_is_no_pause_of_the_callers():
    world = calling()
    item_id, before = pauses(world, STATEMENT)
    world.feed(ev.SpeechResumed(2.1))
    assert decision(world.pause(item_id, STATEMENT, 3.0)) == before


def test_an_end_that_was_false_counts_as_a_pause():
    world = calling()
    pauses(world, "Where can I park?")
    world.feed(ev.TurnEnded(2.0))
    world.make("Behind the house.")
    resumed = world.begin_speaking(2.6)
    assert "pauses" in dict(decision(world.pause(resumed, "And what does it cost?", 3.6)).witnesses)


def test_the_agents_question_is_taken_into_account():
    world = calling()
    world.say("I'd like a table.", at_s=1.0)
    world.play_out(world.make("Gladly. What is your phone number?"))
    _, asked = pauses(world, "555 123", at_s=9.0)
    assert "open number" in dict(asked.witnesses)
