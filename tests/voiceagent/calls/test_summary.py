"""Outcome of a call, read from its log."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_world import CallWorld, fragment, speech
from kept_folder import conversation
from logged_call import log_of, reported, reported_at_the_end

from llmcore.engine import Message, ToolCall
from voiceagent.calls.log.entries import CallEnded, CallIdentified, Fact
from voiceagent.calls.log.event_log import LogWriter
from voiceagent.calls.log.texts import Words
from voiceagent.calls.summary import Stage, Turn, summarise
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem, ToolOutputItem


def test_turns_have_both_sides_words_and_the_wait():
    summary = summarise(reported(conversation()))
    greeting, answer = summary.turns
    assert (greeting.said, greeting.heard) == ("", "Hello.")
    assert (answer.said, answer.written, answer.heard) == (
        "is there a pool",
        "Yes, there is.",
        "Yes, there is.",
    )
    assert answer.waited_us == 200_000
    assert answer.over_budget == ("endpointing",)
    assert summary.reason == "the caller hung up"
    assert summary.events == len(conversation().steps)


def test_of_an_interrupted_response_the_words_that_were_heard_are_told_apart():
    world = CallWorld()
    world.say("is there a pool")
    world.played_s = 0.6
    world.make("Yes, there is, and it is heated.")
    world.begin_speaking(4.0)
    world.feed(ev.InterruptionConfirmed(5.0))
    (turn,) = summarise(reported(world, "interrupted")).turns
    assert turn.written == "Yes, there is, and it is heated."
    assert turn.heard
    assert turn.written.startswith(turn.heard)
    assert turn.heard != turn.written


def test_of_what_the_call_ended_in_the_words_that_were_heard_are_told_apart():
    world = CallWorld()
    world.say("is there a pool")
    response_id = world.make("Yes, there is.", " It is heated.")
    world.feed(ev.PlayoutSent(response_id))
    world.feed(ev.CallerGone(response_id, 1.0))
    (turn,) = summarise(reported(world)).turns
    assert (turn.written, turn.heard) == ("Yes, there is. It is heated.", "Yes, there is.")


def hung_up_in_the_answer() -> CallWorld:
    world = CallWorld()
    world.say("is there a pool", at_s=0.5)
    response_id = world.response_id()
    world.feed(ev.FragmentReady(response_id, fragment("Yes, there is.")))
    world.feed(ev.SpeechReady(response_id, speech(1.0)))
    world.feed(ev.SpeechReady(response_id, speech(1.0)))
    world.feed(ev.CallerGone(response_id, 1.0))
    return world


def test_an_answer_that_was_heard_when_the_caller_hung_up_is_a_turn_with_its_wait():
    (turn,) = summarise(reported(hung_up_in_the_answer())).turns
    assert (turn.said, turn.written, turn.outcome) == ("is there a pool", "Yes, there is.", "hung_up")
    assert turn.stages[0].name == "endpointing"
    assert turn.waited_us == 1_500_000  # from where the caller fell silent to the event of the first sound


def test_an_answer_whose_report_came_as_the_call_ended_is_one_turn():
    world = hung_up_in_the_answer()
    turn_id, response_id = summarise(log_of(world)).turns[0].turn_id, world.response_id()
    (turn,) = summarise(reported_at_the_end(world, turn_id, response_id)).turns
    assert (turn.said, turn.written, turn.outcome) == ("is there a pool", "Yes, there is.", "hung_up")
    assert turn.waited_us == 500_000


def test_an_answer_that_was_heard_when_its_process_was_lost_is_a_turn_too():
    world = hung_up_in_the_answer()
    world.steps.pop()
    *lines, _ = log_of(world).splitlines(keepends=True)
    (turn,) = summarise(b"".join(lines)).turns
    assert (turn.outcome, turn.waited_us) == ("lost", 1_500_000)


def test_an_answer_of_which_nothing_was_heard_is_no_turn():
    world = CallWorld()
    world.say("is there a pool")
    world.feed(ev.FragmentReady(world.response_id(), fragment("Yes, there is.")))
    world.feed(ev.CallerGone("", 0.0))
    assert summarise(reported(world)).turns == ()


def test_who_hangs_up_in_the_answer_to_what_a_tool_gave_waited_for_the_tool_too():
    world = CallWorld()
    world.say("my room is 12")
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("c1", "find_room", "{}"),)))
    world.feed(ev.ResponseGenerated(response_id, "tool_calls", world.usage))
    world.play_out(response_id)
    world.feed(ev.ItemCreated(ToolOutputItem("i2", "c1", "found")))
    world.feed(ev.ResponseRequested())
    world.feed(ev.FragmentReady(world.response_id(), fragment("It is free.")))
    world.feed(ev.SpeechReady(world.response_id(), speech(1.0)))
    *_, turn = summarise(reported(world)).turns
    assert (turn.said, turn.outcome) == ("my room is 12", "hung_up")
    assert turn.waited_us == 4_000_000


def test_what_the_call_ended_in_is_not_told_as_unheard_where_that_is_not_known():
    world = CallWorld()
    world.say("is there a pool")
    world.feed(ev.PlayoutSent(world.make("Yes, there is.")))
    (turn,) = summarise(reported(world)).turns
    assert (turn.written, turn.heard) == ("Yes, there is.", "Yes, there is.")


def test_tools_have_the_time_until_their_output_and_failures_are_counted():
    world = CallWorld()
    world.say("my room is 12")
    calls = (ToolCall("c1", "find_room", "{}"), ToolCall("c2", "book", "{}"))
    world.feed(ev.ToolCallsReady(world.response_id(), calls))
    world.feed(ev.ItemCreated(ToolOutputItem("i2", "c1", "found")))
    world.feed(ev.RecognitionFailed("item_9", "it broke"))
    summary = summarise(log_of(world))
    assert [(tool.name, tool.took_s) for tool in summary.tools] == [("find_room", 0.5), ("book", None)]
    assert summary.failures == 1


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ("keep", (Fact("line_call", "CA12"), Fact("from", "+15550100"))),
        ("redact", (Fact("line_call", "CA12"),)),
        ("omit", (Fact("line_call", "CA12"),)),
    ],
)
def test_what_the_phone_line_told_is_known_as_far_as_words_are_kept(
    words: Words, facts: tuple[Fact, ...]
) -> None:
    log = log_of(CallWorld(), words)
    log += LogWriter(words).entry(CallIdentified("CA12", (Fact("from", "+15550100"),)))
    assert summarise(log).facts == facts
    assert (b"15550100" in log) == (words == "keep")


def test_a_call_without_a_phone_line_has_nothing_that_one_told() -> None:
    log = log_of(CallWorld()) + LogWriter().entry(CallIdentified("", ()))
    assert summarise(log).facts == ()


def test_a_log_that_broke_off_has_no_reason():
    whole = log_of(conversation())
    assert summarise(whole[:-5]).reason is None


def test_the_length_of_a_call_is_the_time_to_its_last_line():
    world = CallWorld()
    world.feed(ev.CallStarted())
    late = LogWriter().entry(CallEnded("done", 160.0))
    assert summarise(log_of(world) + late).seconds == 60.0


def test_a_typed_turn_and_one_without_audio_have_no_wait():
    stages = Stage("llm_ttft", 300_000, 0), Stage("playout", 1_000, 0)
    turn = Turn("item_1", "completed", "", "Yes.", "Yes.", stages, (), 3.0)
    unheard = replace(turn, stages=(Stage("endpointing", 200_000, 0), Stage("llm_ttft", 50_000, 0)))
    assert (turn.waited_us, unheard.waited_us) == (0, 0)


def typed(world: CallWorld, *texts: str) -> None:
    for text in texts:
        world.feed(ev.ItemCreated(MessageItem(f"item_{text}", "user", text)))


def test_a_response_to_typed_text_has_it_as_the_caller_s_words():
    world = CallWorld()
    typed(world, "a room please", "for two")
    world.feed(ev.ResponseRequested())
    world.play_out(world.make("Gladly."))
    world.feed(ev.ResponseRequested())
    world.play_out(world.make("Anything else?"))
    answer, another = summarise(reported(world)).turns
    assert (answer.said, answer.written) == ("a room please for two", "Gladly.")
    assert another.said == ""


@pytest.mark.parametrize(
    "request_",
    [
        ev.ResponseRequested(in_conversation=False, messages=(Message("user", "Summarise."),)),
        ev.SpeechRequested("One moment."),
    ],
)
def test_a_response_that_does_not_answer_typed_text_leaves_it_to_the_next(request_: ev.Event):
    world = CallWorld()
    typed(world, "a room please")
    world.feed(request_)
    world.play_out(world.make("One moment."))
    world.feed(ev.ResponseRequested())
    world.play_out(world.make("Gladly."))
    assert [turn.said for turn in summarise(reported(world)).turns][-2:] == ["", "a room please"]


def test_text_that_the_phone_line_typed_is_not_the_caller_s():
    world = CallWorld()
    world.feed(ev.ItemCreated(MessageItem("item_1", "user", "pressed 1", by_line=True)))
    world.feed(ev.ResponseRequested())
    world.play_out(world.make("Gladly."))
    assert [turn.said for turn in summarise(reported(world)).turns] == [""]


def test_a_spoken_turn_after_typed_text_has_its_own_words():
    world = CallWorld()
    typed(world, "a room please")
    world.feed(ev.ResponseRequested())
    world.play_out(world.make("Gladly."))
    world.say("is there a pool")
    world.play_out(world.make("Yes."))
    assert [turn.said for turn in summarise(reported(world)).turns] == ["a room please", "is there a pool"]
