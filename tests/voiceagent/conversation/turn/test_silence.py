"""Length of the silence that ends the caller's turn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_world import POLICY, CallWorld, fragment, of, speech
from turn_pauses import SETTINGS, calling, decision, pauses

from llmcore.engine import Tool, ToolCall
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.end_of_turn.probability import ACTING_S, MIN_ACTING_S, SILENCES, silence_s
from voiceagent.conversation.settings import AgentTool
from voiceagent.conversation.turn.endpointing_delay import ANSWER_S

STATEMENT = "I am coming by car."
MOMENT = "One moment, please."


def test_a_question_is_answered_sooner_than_what_is_not_finished():
    _, question = pauses(calling(), "Where can I park?")
    _, unfinished = pauses(calling(), "I would like to book a")
    assert question.silence_s < unfinished.silence_s


def more_s(commands: list[do.Command]) -> list[float]:
    """Return the extra silence of each request, for the answer's sake."""
    return [command.more_s for command in commands if isinstance(command, do.RequireSilence)]


def test_a_turn_may_go_on_while_its_answer_is_being_made():
    world = calling()
    item_id = world.begin_speaking()
    commands = world.pause(item_id, "Where can I park?")
    answer = world.response_id()
    assert more_s(commands) == [ANSWER_S]
    assert more_s(world.feed(ev.FragmentReady(answer, fragment("Behind the house.")))) == []
    heard = world.feed(ev.SpeechReady(answer, speech(1.0)))
    assert more_s(heard) == [0.0] and decision(heard) == decision(commands)


@pytest.mark.parametrize(
    ("options", "waits"), [({}, True), ({"cancellable": True}, False), ({"when_played": True}, False)]
)
def test_a_doubtful_end_is_waited_for_longer_before_a_tool_with_effects_runs(options, waits):
    tool = AgentTool(Tool("book", "Book a table."), **options)
    policy = replace(POLICY, language="en", acting_s=ACTING_S)
    world = CallWorld(replace(SETTINGS, agent="FrontDesk", agent_tools=(tool,)), policy)
    before = decision(world.pause(world.begin_speaking(), STATEMENT))
    calls = world.feed(ev.ToolCallsReady(world.response_id(), (ToolCall("1", "book", "{}"),)))
    assert decision(calls).silence_s == pytest.approx(before.silence_s + (ACTING_S if waits else 0.0))


def test_an_end_that_is_certain_is_waited_for_no_longer_before_a_tool_runs():
    usual = SILENCES["auto"]
    assert silence_s(0.99, replace(usual, even_s=usual.even_s + ACTING_S)) == silence_s(0.99, usual)


CERTAIN = "Please wake me at six. Thank you, goodbye."


@pytest.mark.parametrize(("minimum_s", "expected_s"), [(0.0, 0.16), (MIN_ACTING_S, MIN_ACTING_S)])
def test_a_tool_with_effects_runs_after_a_least_silence_however_certain_the_end(minimum_s, expected_s):
    tool = AgentTool(Tool("wake", "Wake the caller."))
    policy = replace(POLICY, language="en", acting_s=ACTING_S, min_acting_s=minimum_s)
    world = CallWorld(replace(SETTINGS, agent="FrontDesk", agent_tools=(tool,)), policy)
    assert decision(world.pause(world.begin_speaking(), CERTAIN)).silence_s == pytest.approx(0.16)
    calls = world.feed(ev.ToolCallsReady(world.response_id(), (ToolCall("1", "wake", "{}"),)))
    ended_after = [one.decision.silence_s for one in of(do.RequireSilence, calls)]
    assert ended_after == [pytest.approx(expected_s)]


def test_the_answer_is_hurried_once_the_turn_would_be_over_if_it_were_there():
    world = calling()
    world.pause(world.begin_speaking(), "Where can I park?")
    assert world.feed(ev.TurnDue(2.0)) == [do.HurryResponse(world.response_id())]


def test_an_answer_that_is_there_is_not_hurried():
    world = calling()
    world.pause(world.begin_speaking(), "Where can I park?")
    world.feed(ev.FragmentReady(world.response_id(), fragment("Behind the house.")))
    world.feed(ev.SpeechReady(world.response_id(), speech(1.0)))
    assert world.feed(ev.TurnDue(2.0)) == []


def test_a_text_is_ready_with_its_first_words():
    world = CallWorld(replace(SETTINGS, output_modality="text"), replace(POLICY, language="en"))
    assert more_s(world.pause(world.begin_speaking(), "Where can I park?")) == [ANSWER_S]
    assert more_s(world.feed(ev.FragmentReady(world.response_id(), fragment("Behind.")))) == [0.0]


def test_no_turn_goes_on_for_an_answer_that_failed():
    world = calling()
    world.pause(world.begin_speaking(), "Where can I park?")
    assert more_s(world.feed(ev.ResponseFailed(world.response_id(), "llm", "busy"))) == [0.0]


def test_no_turn_goes_on_where_no_answer_is_begun_before_its_end():
    world = CallWorld(SETTINGS, replace(POLICY, language="en", preemptive_attempts=0))
    assert more_s(world.pause(world.begin_speaking(), "Where can I park?")) == [0.0]


def test_a_pause_that_begins_again_where_the_voice_had_ended_asks_for_the_words_again():
    # what was heard between them may be the end of a word that is only low: the "x" of "six"
    world = calling()
    pauses(world, "Wake me at half past sick")
    world.feed(ev.SpeechResumed(2.04))
    assert of(do.FlushRecognition, world.feed(ev.SpeechPaused(2.0)))


def test_the_turn_model_moves_the_decision():
    world = calling()
    item_id, before = pauses(world, STATEMENT)
    after = decision(world.feed(ev.TurnJudged(item_id, 0.05)))
    assert after.probability < before.probability and "sound" in dict(after.witnesses)


def test_how_complete_the_recognizer_hears_a_turn_moves_the_decision():
    likely = []
    for complete in (0.05, 0.95):
        world = calling()
        item_id = world.begin_speaking(1.0)
        world.feed(ev.SpeechPaused(2.0))
        heard = ev.TranscriptChanged(item_id, STATEMENT, STATEMENT, settled=True, complete=complete)
        likely.append(decision(world.feed(heard)).probability)
    assert likely[0] < likely[1]


def test_a_comma_that_the_recognizer_takes_back_is_waited_behind():
    silences = []
    for before in ("Where can I park my car?", "Where can I park my car,"):
        world = calling()
        item_id = world.begin_speaking(1.0)
        for heard in ("Where can I park?", before):
            world.feed(ev.TranscriptChanged(item_id, heard, ""))
        world.feed(ev.SpeechPaused(2.0))
        settled = ev.TranscriptChanged(item_id, "Where can I park my car?", "", settled=True, complete=0.99)
        world.feed(settled)
        silences.append(decision(world.feed(settled)).silence_s)
    assert silences[0] < silences[1]


def test_the_turn_model_is_believed_and_not_the_recognizer():
    world = calling()
    item_id = world.begin_speaking(1.0)
    world.feed(ev.SpeechPaused(2.0))
    world.feed(ev.TranscriptChanged(item_id, STATEMENT, STATEMENT, settled=True, complete=0.9))
    told = dict(decision(world.feed(ev.TurnJudged(item_id, 0.05))).witnesses)
    assert told["sound"] < 0


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


def test_claimed_turns_end_after_the_claims_silence_at_the_latest():
    """Words that ask for patience are a greeting like any other while it is not known who answered."""
    world = calling()
    unclaimed = decision(world.pause(world.begin_speaking(), MOMENT))
    claimed = calling()
    claimed.feed(ev.TurnsClaimed(True, max_silence_s=0.5))
    assert unclaimed.silence_s > 0.5
    assert decision(claimed.pause(claimed.begin_speaking(), MOMENT)).silence_s == 0.5


def test_turns_that_are_claimed_without_a_silence_or_released_end_as_usual():
    world = calling()
    usual = decision(world.pause(world.begin_speaking(), MOMENT))
    for claim in (ev.TurnsClaimed(True), ev.TurnsClaimed(False)):
        other = calling()
        other.feed(ev.TurnsClaimed(True, max_silence_s=0.5))
        other.feed(claim)
        assert decision(other.pause(other.begin_speaking(), MOMENT)) == usual
