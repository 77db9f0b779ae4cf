"""Reviews of spoken answers by the back LLM: what is withdrawn, what is added, and when nothing happens."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings
from call_world import POLICY, CallWorld, fragment, of, said, speech
from conversation_moves import CALLS, MOVES, run
from hypothesis import given, settings
from hypothesis import strategies as st
from logged_call import log_of

from llmcore.engine import Message, ToolCall, Usage
from voiceagent.calls.log.event_log import read_log
from voiceagent.calls.replaying.replay import replay
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.settings import CallSettings

REVIEWED = replace(POLICY, correction="Sorry, no.")
QUESTION, ANSWER = "when is breakfast", "Breakfast is from six. Come early."
CORRECTION = "WRONG: It is from seven."


def answering(call: CallSettings | None = None) -> tuple[CallWorld, str]:
    """Return a call whose agent is giving its answer, all of it written, and the id of the answer."""
    world = CallWorld(call or call_settings(), REVIEWED)
    world.say(QUESTION)
    response_id = world.response_id()
    for text in ("Breakfast is from six. ", "Come early."):
        world.feed(ev.FragmentReady(response_id, fragment(text)))
        world.feed(ev.SpeechReady(response_id, speech(2.0)))
        world.feed(ev.FragmentSpoken(response_id))
    world.feed(ev.ResponseWritten(response_id, f"{ANSWER} "))
    return world, response_id


def spoken(world: CallWorld) -> list[str]:
    """Return the fixed texts that were spoken."""
    return [start.say for start in of(do.StartResponse, world.commands) if start.say]


def outcomes(world: CallWorld) -> list[str]:
    return [concluded.outcome for concluded in of(do.ReviewConcluded, world.commands)]


def test_answer_is_reviewed_with_its_prompt_once_its_text_is_written():
    world, response_id = answering()
    (review,) = of(do.ReviewResponse, world.commands)
    assert (review.response_id, review.said) == (response_id, ANSWER)
    assert review.request.messages == (Message("user", QUESTION),)
    assert review.request.tool_choice == "none"


def test_contradicted_answer_stops_at_the_played_sample_and_the_correction_follows():
    world, response_id = answering()
    world.played_s = 1.0  # of 2.0 s for "Breakfast is from six."
    world.review(CORRECTION)
    assert do.StopPlayout(response_id, "correction") in world.commands
    assert spoken(world) == ["Sorry, no. It is from seven."]
    heard, _ = world.conversation.history.items[-1], world.make("Sorry, no. It is from seven.")
    assert isinstance(heard, MessageItem) and (heard.text, heard.status) == ("Breakfast is", "incomplete")
    world.play_out(world.begun[-1])
    assert said(world)[-1] == ("assistant", "Breakfast is Sorry, no. It is from seven.")
    assert outcomes(world) == ["corrected"] and world.conversation.idle


def test_client_is_notified_of_the_correction_as_the_cause():
    world, response_id = answering()
    world.review(CORRECTION)
    (ended,) = of(notify.NotifyResponseEnded, world.commands)
    assert (ended.response_id, ended.status, ended.interrupted_by) == (response_id, "cancelled", "correction")


def test_correction_of_words_that_were_not_heard_has_no_phrase_before_it():
    world, _ = answering()
    world.review(CORRECTION)
    assert spoken(world) == ["It is from seven."]


def test_confirmed_answer_stands_and_nothing_is_said_twice():
    world, response_id = answering()
    world.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
    world.review("RIGHT")
    world.play_out(response_id)
    assert said(world)[-1] == ("assistant", ANSWER)
    assert not spoken(world) and outcomes(world) == ["agreed"] and world.conversation.idle


def test_addition_is_said_after_the_answer():
    world, response_id = answering()
    world.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
    assert not of(do.StopPlayout, world.review("MORE: It is in the hall."))
    assert not spoken(world)
    world.play_out(response_id)
    assert spoken(world) == ["It is in the hall."] and outcomes(world) == ["added"]


def test_correction_that_arrives_after_the_answer_was_played_is_said():
    world, response_id = answering()
    world.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
    world.play_out(response_id)
    assert not world.conversation.idle
    world.review(CORRECTION)
    assert spoken(world) == ["Sorry, no. It is from seven."] and not of(do.StopPlayout, world.commands)


def test_answer_stands_if_its_review_fails_or_is_late():
    world, response_id = answering()
    world.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
    world.review(None)
    world.play_out(response_id)
    assert said(world)[-1] == ("assistant", ANSWER)
    assert not spoken(world) and outcomes(world) == ["failed"] and world.conversation.idle


def test_reply_without_a_verdict_changes_nothing():
    world, _ = answering()
    world.review("It is from seven, actually.")
    assert not of(do.StopPlayout, world.commands) and outcomes(world) == ["unreadable"]


def test_barge_in_cancels_the_review():
    world, response_id = answering()
    world.played_s = 1.0
    world.begin_speaking(3.0)
    world.feed(ev.InterruptionCandidate(3.2))
    world.feed(ev.InterruptionConfirmed(3.6))
    assert do.CancelReview(response_id) in world.commands and not world.reviewing
    assert outcomes(world) == ["dropped"]


def test_verdict_while_the_caller_speaks_waits_until_it_is_known_whether_they_interrupt():
    world, response_id = answering()
    item_id = world.begin_speaking(3.0)
    assert not of(do.StopPlayout, world.review(CORRECTION))
    world.pause(item_id, "uh huh", 3.2)
    world.feed(ev.TurnEnded(3.2))
    assert do.StopPlayout(response_id, "correction") in world.commands


def test_turn_after_the_answer_was_played_cancels_its_review():
    world, response_id = answering()
    world.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
    world.play_out(response_id)
    world.say("thank you", at_s=9.0)
    assert do.CancelReview(response_id) in world.commands
    assert not spoken(world)


def test_late_reply_to_a_cancelled_review_is_ignored():
    world, response_id = answering()
    world.feed(ev.ResponseCancelled())
    assert outcomes(world) == ["dropped"]
    assert world.feed(ev.ResponseReviewed(response_id, CORRECTION)) == []


def test_answer_with_tool_calls_is_not_reviewed():
    world = CallWorld(policy=REVIEWED)
    world.say(QUESTION)
    response_id = world.response_id()
    world.feed(ev.FragmentReady(response_id, fragment("I will look.")))
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("c", "f", "{}"),)))
    world.feed(ev.ResponseWritten(response_id, "I will look."))
    assert not of(do.ReviewResponse, world.commands)


def test_fixed_texts_and_texts_to_read_are_not_reviewed():
    world = CallWorld(policy=REVIEWED)
    world.feed(ev.CallStarted("Hello."))
    world.play_out(world.make("Hello."))
    assert not of(do.ReviewResponse, world.commands)
    world = CallWorld(call_settings(output_modality="text"), REVIEWED)
    world.say(QUESTION)
    world.make(ANSWER)
    assert not of(do.ReviewResponse, world.commands)


def test_correction_itself_is_not_reviewed():
    world, _ = answering()
    world.review(CORRECTION)
    world.play_out(world.make("It is from seven."))
    assert len(of(do.ReviewResponse, world.commands)) == 1


def test_preemptive_answer_is_reviewed_only_once_it_is_released():
    world = CallWorld(policy=REVIEWED)
    item_id = world.begin_speaking()
    world.pause(item_id, QUESTION)
    response_id = world.response_id()
    world.feed(ev.FragmentReady(response_id, fragment(ANSWER)))
    world.feed(ev.ResponseWritten(response_id, ANSWER))
    assert not of(do.ReviewResponse, world.commands)
    assert of(do.ReviewResponse, world.feed(ev.TurnEnded(2.0)))


def test_answer_of_a_server_without_a_back_llm_is_not_reviewed():
    world = CallWorld()
    world.say(QUESTION)
    world.make(ANSWER)
    assert not of(do.ReviewResponse, world.commands)


# ---- in any order of events


TURN = (
    ("speak", 1), ("pause", 1), ("answer_flush", 4), ("end", 1),
    ("fragment", 1), ("sound", 9), ("spoken", 1), ("written", 1),
)  # fmt: skip
ANY_MOVES = st.lists(st.tuples(st.sampled_from((*MOVES, "review")), st.integers(0, 9)), max_size=4)


@st.composite
def reviewed_scripts(draw: st.DrawFn) -> list[tuple[str, int]]:
    """A caller is answered twice, with reviews, and anything happens in between."""
    script: list[tuple[str, int]] = []
    for move in 2 * (*TURN, ("review", draw(st.integers(0, 9))), ("generated", 1), ("sent", 1), ("heard", 1)):
        script += [move, *(draw(ANY_MOVES) if draw(st.integers(0, 5)) == 0 else ())]
    return script


REVIEWED_SCRIPTS = reviewed_scripts()


@settings(max_examples=300)
@given(CALLS, REVIEWED_SCRIPTS)
def test_every_response_and_every_review_ends_once(call: CallSettings, script):
    world = run(call, script, REVIEWED)
    assert sorted(world.begun) == sorted(world.ended) and world.conversation.idle
    begun = [one.response_id for one in of(do.ReviewResponse, world.commands)]
    concluded = [one.response_id for one in of(do.ReviewConcluded, world.commands)]
    assert begun == list(dict.fromkeys(begun)) and sorted(begun) == sorted(concluded)


@settings(max_examples=300)
@given(CALLS, REVIEWED_SCRIPTS)
def test_no_review_outlives_an_interruption_by_the_caller(call: CallSettings, script):
    world = run(call, script, REVIEWED)
    running: set[str] = set()
    for step in world.steps:
        for command in step.commands:
            match command:
                case do.ReviewResponse(response_id):
                    running.add(response_id)
                case do.CancelReview(response_id):
                    running.discard(response_id)
                case _:
                    pass
        match step.event:
            case ev.ResponseReviewed(response_id):
                running.discard(response_id)
            case ev.PlayoutStopped(response_id):
                assert response_id not in running


@settings(max_examples=300)
@given(CALLS, REVIEWED_SCRIPTS)
def test_each_verdict_is_said_at_most_once_and_only_if_it_asks_for_it(call: CallSettings, script):
    world = run(call, script, REVIEWED)
    reviewed = [step.event for step in world.steps if isinstance(step.event, ev.ResponseReviewed)]
    verdicts = [event.reply or "" for event in reviewed]
    due = [reply.partition(": ")[2].strip() for reply in verdicts if ": " in reply]
    said_texts = [text.removeprefix("Sorry, no. ") for text in spoken(world) if "ten." in text]
    assert len(said_texts) == len([one for one in outcomes(world) if one in ("corrected", "added")])
    for text in set(said_texts):
        assert said_texts.count(text) <= due.count(text)


@settings(max_examples=300)
@given(CALLS, REVIEWED_SCRIPTS)
def test_history_holds_what_was_heard_of_a_corrected_answer(call: CallSettings, script):
    world = run(call, script, REVIEWED)
    played = {c.response_id: s for c, s in _stops(world) if c.interrupted_by == "correction"}
    texts: dict[str, str] = {}
    items: dict[str, str] = {}
    for command in of(notify.NotifyResponseText, world.commands):
        texts[command.response_id] = texts.get(command.response_id, "") + command.text
        items[command.response_id] = command.item_id
    for response_id, played_s in played.items():
        item_id = items.get(response_id)
        kept = [one for one in world.conversation.history.items if one.item_id == item_id]
        for item in kept:
            assert isinstance(item, MessageItem)
            assert texts[response_id].strip().startswith(item.text.strip())
            assert played_s > 0 or item.text == ""


@settings(max_examples=100)
@given(CALLS, REVIEWED_SCRIPTS)
def test_call_with_reviews_replays_exactly(call: CallSettings, script):
    assert replay(read_log(log_of(run(call, script, REVIEWED)))) is None


def _stops(world: CallWorld) -> list[tuple[do.StopPlayout, float]]:
    stopped = {
        s.event.response_id: s.event.played_s for s in world.steps if isinstance(s.event, ev.PlayoutStopped)
    }
    return [
        (c, stopped[c.response_id]) for c in of(do.StopPlayout, world.commands) if c.response_id in stopped
    ]
