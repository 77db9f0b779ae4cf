"""The caller's turn, and what is made of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld, fragment, of, speech

from llmcore.engine import Message
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.end_of_turn.llm_end import LlmEnd
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.turn.caller import ANSWER_S

MANUAL = call_settings(turn_detection=None)


def test_a_voice_is_recognized_from_its_start_and_announced():
    world = CallWorld()
    commands = world.feed(ev.SpeechStarted(1.5))
    item_id = of(do.StartRecognition, commands)[0].item_id
    assert commands == [do.StartRecognition(item_id, 1.5), notify.NotifySpeechStarted(item_id, 1.5)]


def test_a_pause_asks_for_the_words_so_far():
    world = CallWorld()
    item_id = world.begin_speaking()
    assert world.feed(ev.SpeechPaused(2.0)) == [do.FlushRecognition(item_id)]


def test_a_pause_of_who_was_asked_for_a_number_asks_for_one():
    world = calling()
    world.say("I'd like a table.", at_s=1.0)
    world.play_out(world.make("Gladly. For how many people?"))
    item_id = world.begin_speaking(8.0)
    assert do.FlushRecognition(item_id, number=True) in world.feed(ev.SpeechPaused(9.0))


def test_an_answer_to_an_older_flush_settles_nothing():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.feed(ev.SpeechPaused(2.0))
    world.feed(ev.SpeechResumed(2.1))
    world.feed(ev.SpeechPaused(3.0))
    assert not of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, "what does", "", True)))
    assert of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, "what does it cost", "", True)))


def test_a_turn_without_words_is_not_answered():
    world = CallWorld()
    commands = world.say("")
    assert not of(do.StartResponse, commands)
    assert of(do.StopRecognition, commands)


def test_words_are_notified_when_stable_and_once_more_when_final():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.feed(ev.TranscriptChanged(item_id, "how much is", "how much"))
    world.feed(ev.TranscriptChanged(item_id, "how much is it", "how much is"))
    world.pause(item_id, "how much is it", at_s=3.0)
    world.feed(ev.TurnEnded(3.0))
    notified = [(n.text, n.final) for n in of(notify.NotifyTranscript, world.commands)]
    assert notified == [("how much", False), (" is", False), (" it", False), ("how much is it", True)]


def test_a_late_transcript_still_starts_the_response():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.feed(ev.SpeechPaused(2.0))
    assert not of(do.StartResponse, world.feed(ev.TurnEnded(2.0)))
    assert of(do.StartResponse, world.feed(ev.TranscriptChanged(item_id, "hello there", "", True)))


def test_manual_turns_are_answered_only_when_asked():
    world = CallWorld(MANUAL)
    item_id = world.begin_speaking(0.0)
    commands = world.feed(ev.InputCommitted(1.5))
    assert of(notify.NotifyInputCommitted, commands) and of(do.FlushRecognition, commands)
    world.feed(ev.TranscriptChanged(item_id, "is there parking", "", True))
    assert not world.live()
    commands = world.feed(ev.ResponseRequested())
    assert of(do.StartResponse, commands)[0].request.messages == (Message("user", "is there parking"),)


def test_committing_nothing_is_an_error():
    (error,) = CallWorld(MANUAL).feed(ev.InputCommitted(0.0, "ev1"))
    assert (error.code, error.client_event_id) == ("input_audio_buffer_commit_empty", "ev1")


def test_clearing_the_input_drops_the_turn():
    world = CallWorld(MANUAL)
    item_id = world.begin_speaking(0.0)
    commands = world.feed(ev.InputCleared())
    assert commands == [
        do.StopRecognition(item_id),
        do.RestorePlayout(),
        do.ClearInput(),
        notify.NotifyInputCleared(),
    ]


def test_clearing_the_input_begins_the_response_that_waited_for_it():
    world = CallWorld(MANUAL)
    first = world.begin_speaking(0.0)
    world.feed(ev.InputCommitted(1.5))
    world.feed(ev.ResponseRequested())
    world.begin_speaking(2.0)
    assert not of(do.StartResponse, world.feed(ev.TranscriptChanged(first, "hello", "", True)))
    (start,) = of(do.StartResponse, world.feed(ev.InputCleared()))
    assert start.request.messages == (Message("user", "hello"),)


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


def more_s(commands: list[do.Command]) -> list[float]:
    """What each silence asked for is longer for the answer's sake."""
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


def test_the_agents_question_is_taken_into_account():
    world = calling()
    world.say("I'd like a table.", at_s=1.0)
    world.play_out(world.make("Gladly. What is your phone number?"))
    _, asked = pauses(world, "555 123", at_s=9.0)
    assert "open number" in dict(asked.witnesses)


def test_what_the_agent_asks_to_be_dictated_is_waited_for():
    world, dictating = calling(), calling()
    dictating.feed(ev.DictationBegan())
    _, told = pauses(world, "Miller.")
    _, dictated = pauses(dictating, "Miller.")
    assert dictated.silence_s > told.silence_s


def test_so_is_what_the_agent_has_asked_for():
    policy = replace(POLICY, language="en")
    silences = []
    for asked in ("What is your name?", "Who will come?"):
        world = CallWorld(SETTINGS, policy)
        world.feed(ev.CallStarted(asked))
        world.play_out(world.make(asked))
        silences.append(pauses(world, "Miller.", at_s=9.0)[1].silence_s)
    assert silences[0] > silences[1]


def test_a_dictated_number_is_over_when_it_has_its_digits():
    world = calling()
    world.feed(ev.DictationBegan((6,)))
    item_id, begun = pauses(world, "Four seven two")
    assert begun.silence_s > 1.0
    world.feed(ev.SpeechResumed(2.5))
    assert decision(world.pause(item_id, "Four seven two nine one one", 3.5)).silence_s <= 0.3


def test_the_next_group_of_a_number_of_unknown_length_is_waited_for_as_the_caller_has_paused():
    silences = []
    for resumed_at_s in (2.3, 2.6):
        world = calling()
        world.feed(ev.DictationBegan(()))
        item_id, _ = pauses(world, "123")
        world.feed(ev.SpeechResumed(resumed_at_s))
        silences.append(decision(world.pause(item_id, "123 456", 3.5)).silence_s)
    assert silences[0] < silences[1] < 1.8


def test_a_false_end_is_a_pause_between_groups_too():
    world = calling()
    world.feed(ev.DictationBegan(()))
    world.say("123", at_s=1.0)
    end_s = 2.0
    world.make("Thank you.")
    _, rest = pauses(world, "456", at_s=end_s + 0.6)
    assert rest.silence_s > 2 * 0.6


def test_dictation_is_over_with_the_turn_that_was_dictated():
    world = calling()
    world.feed(ev.DictationBegan((6,)))
    world.say("Four seven two nine one one", at_s=1.0)
    world.play_out(world.make("Thank you."))
    _, after = pauses(world, "Four.", at_s=9.0)
    assert "open number" not in dict(after.witnesses)


def test_dictation_is_over_when_the_agents_code_takes_no_more_turns():
    world = calling()
    world.feed(ev.TurnsClaimed(True))
    world.feed(ev.DictationBegan((6,)))
    world.feed(ev.TurnsClaimed(False))
    _, after = pauses(world, "Four.")
    assert "open number" not in dict(after.witnesses)


def test_who_goes_on_after_a_false_end_dictates_still():
    world = calling()
    world.feed(ev.DictationBegan((6,)))
    world.say("Four seven two", at_s=1.0)
    world.make("Thank you.")
    _, rest = pauses(world, "nine", at_s=2.6)
    assert "open number" in dict(rest.witnesses)


END = LlmEnd(scale=1.0, offset=3.0, weight=0.5)
SURE, UNSURE = -0.01, -9.0
"""What the LLM may say of an end."""


def asking_the_llm(**policy: Any) -> CallWorld:
    return CallWorld(SETTINGS, replace(POLICY, language="en", llm_end=END, **policy))


def asked(commands: list[do.Command]) -> list[str]:
    """The words whose end the LLM is asked for."""
    return [command.words for command in of(do.AskTurnEnd, commands)]


def test_an_llm_that_is_calibrated_is_asked_for_the_end_of_the_words_in_a_pause():
    world = asking_the_llm()
    world.feed(ev.CallStarted())
    commands = world.pause(world.begin_speaking(), STATEMENT)
    (ask,) = of(do.AskTurnEnd, commands)
    assert (ask.words, ask.messages[-1]) == (STATEMENT, Message("user", "I am coming by car"))
    # before the response is begun ahead, which takes what room there is
    assert commands.index(ask) < commands.index(of(do.StartResponse, commands)[0])


def test_no_other_is_asked():
    assert asked(calling().pause("item", "")) == []
    world = calling()
    assert asked(world.pause(world.begin_speaking(), STATEMENT)) == []


def test_nothing_is_asked_for_a_turn_that_silence_alone_ends():
    world = CallWorld(call_settings(), replace(POLICY, llm_end=END))
    assert asked(world.pause(world.begin_speaking(), STATEMENT)) == []


def test_what_the_llm_says_of_the_end_moves_the_decision():
    for said, way in ((SURE, 1), (UNSURE, -1)):
        world = asking_the_llm()
        item_id, before = pauses(world, STATEMENT)
        after = decision(world.feed(ev.TurnEndTold(item_id, STATEMENT, said)))
        assert "llm" not in dict(before.witnesses)
        assert dict(after.witnesses)["llm"] == END.nats(said)
        assert (after.probability - before.probability) * way > 0


def test_the_llm_says_nothing_of_other_words():
    world = asking_the_llm()
    item_id, before = pauses(world, STATEMENT)
    assert decision(world.feed(ev.TurnEndTold(item_id, "I am coming", SURE))) == before
    world.feed(ev.TurnEndTold(item_id, STATEMENT, SURE))
    world.feed(ev.SpeechResumed(2.1))
    commands = world.pause(item_id, f"{STATEMENT} We come late.", 3.0)
    assert "llm" not in dict(decision(commands).witnesses)
    assert asked(commands) == [f"{STATEMENT} We come late."]


def test_the_llm_is_not_asked_again_for_words_that_it_has_judged():
    world = asking_the_llm()
    item_id, _ = pauses(world, STATEMENT)
    world.feed(ev.TurnEndTold(item_id, STATEMENT, SURE))
    world.feed(ev.SpeechResumed(2.1))
    commands = world.pause(item_id, STATEMENT, 3.0)
    assert asked(commands) == []
    assert "llm" in dict(decision(commands).witnesses)


def test_what_the_llm_says_too_late_changes_nothing():
    world = asking_the_llm()
    item_id, _ = pauses(world, STATEMENT)
    world.feed(ev.SpeechResumed(2.3))
    assert world.feed(ev.TurnEndTold(item_id, STATEMENT, SURE)) == []
