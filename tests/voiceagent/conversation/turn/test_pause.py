"""How long a pause may be, once the words before it are known."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.end_of_turn import END_OF_TURN_WORDS, SILENCES

AUTO = SILENCES["auto"]
SETTINGS = call_settings(turn_detection=turn_detection(kind="semantic_vad"))
STATEMENT = "I am coming by car."


def calling() -> CallWorld:
    return CallWorld(SETTINGS, replace(POLICY, end_of_turn_words=END_OF_TURN_WORDS["en"]))


def pauses(world: CallWorld, words: str, at_s: float = 1.0) -> tuple[str, list[do.Command]]:
    """The caller says `words` and pauses a second later; the turn's item, and what is to be done."""
    item_id = world.begin_speaking(at_s)
    return item_id, world.pause(item_id, words, at_s + 1)


def silences(commands: list[do.Command]) -> list[float]:
    return [command.seconds for command in commands if isinstance(command, do.RequireSilence)]


def test_a_question_may_be_answered_soon():
    _, commands = pauses(calling(), "Where can I park?")
    assert silences(commands) == [AUTO.complete_s]
    assert not any(isinstance(command, do.JudgePitch) for command in commands)


def test_of_a_statement_the_pitch_is_asked_for():
    item_id, commands = pauses(calling(), STATEMENT)
    assert do.JudgePitch(item_id, 2.0) in commands
    assert silences(commands) == [AUTO.preliminary_s]


def test_a_statement_that_ends_low_may_be_answered_sooner():
    world = calling()
    item_id, _ = pauses(world, STATEMENT)
    assert silences(world.feed(ev.PitchJudged(item_id, falls=True))) == [AUTO.unsure_s]


def test_after_a_statement_that_does_not_end_low_the_agent_waits():
    world = calling()
    item_id, _ = pauses(world, STATEMENT)
    commands = world.feed(ev.PitchJudged(item_id, falls=False))
    assert silences(commands) == [AUTO.preliminary_s]
    assert not any(isinstance(command, do.JudgePitch) for command in commands)


def test_of_words_hardly_understood_more_are_waited_for():
    world = calling()
    item_id, _ = pauses(world, "")
    world.feed(ev.SpeechResumed(2.2))
    world.feed(ev.SpeechPaused(3.0))
    unsure_words = ev.TranscriptChanged(item_id, "Where it is like.", settled=True, confidence=0.4)
    commands = world.feed(unsure_words)
    assert silences(commands) == [AUTO.preliminary_s]
    assert not any(isinstance(command, do.JudgePitch) for command in commands)


def test_the_pitch_before_a_pause_says_nothing_of_the_next():
    world = calling()
    item_id, _ = pauses(world, STATEMENT)
    world.feed(ev.PitchJudged(item_id, falls=True))
    world.feed(ev.SpeechResumed(2.3))
    commands = world.pause(item_id, f"{STATEMENT} We come late.", 3.0)
    assert do.JudgePitch(item_id, 3.0) in commands


def test_a_judgement_that_comes_too_late_changes_nothing():
    world = calling()
    item_id, _ = pauses(world, STATEMENT)
    world.feed(ev.SpeechResumed(2.3))
    assert world.feed(ev.PitchJudged(item_id, falls=True)) == []


def test_what_answers_the_agent_may_be_answered_sooner():
    world = calling()
    world.say("I'd like a room.", at_s=1.0)
    world.play_out(world.make("Gladly. Which one would you like?"))
    _, commands = pauses(world, STATEMENT, at_s=9.0)
    assert silences(commands) == [AUTO.unsure_s]
