"""The agent's own tools in a call: when they run, and how what they did enters the history."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from call_settings import call_settings
from call_world import POLICY, CallWorld, fragment, of, said, speech
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Tool, ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import CANCELLED, MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.prompting.items import PENDING
from voiceagent.conversation.settings import AgentTool, CallSettings

BOOK = AgentTool(Tool("book", "Books a table."), filler="I am booking.")
LOOK = AgentTool(Tool("look", "Looks something up."), cancellable=True)
BYE = AgentTool(Tool("hang_up", "Ends the call."), when_played=True)
SEARCH = AgentTool(Tool("search", "Searches for long."), model_may_cancel=True)
SETTINGS = call_settings(agent_tools=(BOOK, LOOK, BYE), tools=(Tool("theirs", "The client's."),))


def world(settings: CallSettings = SETTINGS) -> CallWorld:
    """A call in which the caller has asked for something."""
    call = CallWorld(settings)
    call.say("book a table please")
    return call


def calls(call: CallWorld, *names: str, words: str = "") -> list[do.Command]:
    """The response says `words` and calls these tools, with ids of their own."""
    wanted = tuple(ToolCall(f"{name}_1", name, "{}") for name in names)
    response_id = call.response_id()
    commands = call.feed(ev.ToolCallsReady(response_id, wanted))
    if words:
        call.make(words)
    else:
        call.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    return commands


def answered(call: CallWorld, *names: str, words: str = "") -> list[do.Command]:
    """The same, and the response is played to its end."""
    response_id = call.response_id()
    return calls(call, *names, words=words) + call.play_out(response_id)


def finish(call: CallWorld, name: str, output: str = "table 4", **more: object) -> list[do.Command]:
    return call.feed(ev.ToolFinished(f"{name}_1", more.pop("outcome", "done"), output, **more))  # type: ignore[arg-type]


def outputs(call: CallWorld) -> list[tuple[str, str]]:
    items = call.conversation.history.items
    return [(item.call_id, item.output) for item in items if isinstance(item, ToolOutputItem)]


def run(commands: list[do.Command]) -> list[str]:
    return [command.call.name for command in of(do.RunTool, commands)]


def test_a_call_runs_at_once_and_its_result_is_spoken_of() -> None:
    call = world()
    assert run(answered(call, "book")) == ["book"]
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert [message.role for message in begun.request.messages] == ["user", "assistant", "tool"]
    assert begun.request.messages[-1].content == "table 4"


def test_the_model_is_offered_the_agents_tools_and_the_clients() -> None:
    (begun,) = of(do.StartResponse, world().commands)
    assert [tool.name for tool in begun.request.tools] == ["book", "look", "hang_up", "theirs"]


def test_a_call_of_the_clients_tool_goes_to_the_client_alone() -> None:
    call = world()
    commands = calls(call, "theirs")
    assert run(commands) == []
    assert [told.call.name for told in of(notify.NotifyToolCall, commands)] == ["theirs"]


def test_calls_that_a_model_gives_one_id_have_each_an_output_of_the_client() -> None:
    call = world()
    wanted = ToolCall("call_1", "theirs", "{}")
    commands = call.feed(ev.ToolCallsReady(call.response_id(), (wanted, wanted)))
    told = [told.call.call_id for told in of(notify.NotifyToolCall, commands)]
    assert len(set(told)) == 2
    for call_id in told:
        item = ToolOutputItem(f"output_{call_id}", call_id, f"of {call_id}")
        assert not of(notify.NotifyError, call.feed(ev.ItemCreated(item, None, None, ())))
    assert outputs(call) == [(call_id, f"of {call_id}") for call_id in told]


def messages(start: do.StartResponse) -> list[tuple[str, str, list[str]]]:
    """Return the prompt of a response: role, text and called tools of each message."""
    told = start.request.messages
    return [(one.role, one.content, [call.name for call in one.tool_calls]) for one in told]


def test_words_and_call_of_one_response_are_one_message_in_their_order() -> None:
    call = world()
    answered(call, "book", words="One moment please.")
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert messages(begun) == [
        ("user", "book a table please", []),
        ("assistant", "One moment please.", ["book"]),
        ("tool", "table 4", []),
    ]


def test_words_stand_before_their_call_whatever_came_first() -> None:
    call = world(replace(SETTINGS, tools=(Tool("theirs", ""),)))
    response_id = call.response_id()
    wanted = (ToolCall("theirs_1", "theirs", "{}"), ToolCall("book_1", "book", "{}"))
    call.feed(ev.ToolCallsReady(response_id, wanted))
    finish(call, "book")
    call.play_out(call.make("One moment please."))
    kinds = [type(item) for item in call.conversation.history.items]
    assert kinds == [MessageItem, MessageItem, ToolCallItem, ToolCallItem, ToolOutputItem]


def test_the_model_is_asked_about_a_result_while_the_words_beside_its_call_are_played() -> None:
    call = world()
    response_id = call.response_id()
    calls(call, "book", words="One moment please.")
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert begun.preemptive
    assert messages(begun)[1:] == [("assistant", "One moment please.", ["book"]), ("tool", "table 4", [])]
    assert not of(do.Play, call.feed(ev.SpeechReady(begun.response_id, speech(1.0))))
    played = call.play_out(response_id)
    assert of(do.ReleaseResponse, played) == [do.ReleaseResponse(begun.response_id)]
    assert not of(do.StartResponse, played)


def test_the_model_is_asked_once_all_words_are_written_though_not_all_are_spoken() -> None:
    call = world()
    response_id = call.response_id()
    call.feed(ev.ToolCallsReady(response_id, (ToolCall("book_1", "book", "{}"),)))
    assert not of(do.StartResponse, finish(call, "book"))
    (begun,) = of(do.StartResponse, call.feed(ev.ResponseWritten(response_id, "One moment please. ")))
    assert messages(begun)[1:] == [("assistant", "One moment please.", ["book"]), ("tool", "table 4", [])]
    call.make("One moment please. ")
    assert of(do.ReleaseResponse, call.play_out(response_id)) == [do.ReleaseResponse(begun.response_id)]


@pytest.mark.parametrize(
    "event", [ev.SpeechStarted(5.0), ev.SpeechRequested("By the way."), ev.HangUpRequested("bye")]
)
def test_an_answer_about_a_result_is_dropped_where_something_else_comes_first(event: ev.Event) -> None:
    call = world()
    calls(call, "book", words="One moment please.")
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert do.CancelResponse(begun.response_id) in call.feed(event)


def test_where_the_words_are_cut_the_model_is_asked_anew_with_what_was_played() -> None:
    call = world()
    call.played_s = 0.4
    calls(call, "book", words="One moment please.")
    (dropped,) = of(do.StartResponse, finish(call, "book"))
    (begun,) = of(do.StartResponse, call.feed(ev.OutputCleared()))
    assert do.CancelResponse(dropped.response_id) in call.commands
    assert messages(begun)[1:] == [("assistant", "One moment", ["book"]), ("tool", "table 4", [])]


def test_what_a_client_adds_while_the_words_are_played_is_in_the_answer() -> None:
    call = world()
    response_id = call.response_id()
    calls(call, "book", words="One moment please.")
    finish(call, "book")
    call.feed(ev.ItemCreated(MessageItem("typed", "user", "for two")))
    (begun,) = of(do.StartResponse, call.play_out(response_id))
    assert messages(begun)[-1] == ("user", "for two", [])


def test_no_answer_about_a_result_is_begun_ahead_where_none_may_be_dropped() -> None:
    for refuse in (replace(POLICY, preemptive_attempts=0), POLICY):
        call = CallWorld(SETTINGS, refuse)
        call.say("book a table please")
        call.feed(ev.PreemptiveAllowed(False))
        response_id = call.response_id()
        calls(call, "book", words="One moment please.")
        assert not of(do.StartResponse, finish(call, "book"))
        assert of(do.StartResponse, call.play_out(response_id))


def test_a_preemptive_answer_about_a_result_runs_its_tools_once_the_words_before_are_played() -> None:
    call = world()
    response_id = call.response_id()
    calls(call, "book", words="One moment please.")
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert run(call.feed(ev.ToolCallsReady(begun.response_id, (ToolCall("look_1", "look", "{}"),)))) == []
    assert run(call.play_out(response_id)) == ["look"]


@pytest.mark.parametrize("words", ["\n", "  ", ""])
def test_blank_words_before_a_call_are_no_item(words: str) -> None:
    call = world()
    response_id = call.response_id()
    call.feed(ev.FragmentReady(response_id, fragment(words)))
    call.feed(ev.FragmentSpoken(response_id))
    answered(call, "book")
    assert not of(notify.NotifyResponseText, call.commands)
    assert [type(item) for item in call.conversation.history.items] == [MessageItem, ToolCallItem]


def test_a_log_of_a_build_without_tool_rounds_replays_as_it_was_decided() -> None:
    call = CallWorld(SETTINGS, replace(POLICY, max_tool_rounds=None))
    call.say("book a table please")
    response_id = call.response_id()
    call.feed(ev.FragmentReady(response_id, fragment("\n")))
    call.feed(ev.FragmentSpoken(response_id))
    calls(call, "book")
    assert [type(item) for item in call.conversation.history.items][1:] == [MessageItem, ToolCallItem]
    call.play_out(response_id)
    finish(call, "book")
    told = calls(call, "look", words="One moment.")
    assert not of(do.StartResponse, told + finish(call, "look"))
    (begun,) = of(do.StartResponse, call.play_out(call.response_id()))
    assert messages(begun)[3:] == [
        ("assistant", "", ["look"]),
        ("tool", "table 4", []),
        ("assistant", "One moment.", []),
    ]


def test_an_output_that_does_not_follow_its_call_is_told_as_a_late_one() -> None:
    call = world()
    answered(call, "theirs")
    call.say("are you there", 5.0)
    call.play_out(call.make("Yes."))
    for call_id in ("theirs_1", "unknown"):
        call.feed(ev.ItemCreated(ToolOutputItem(f"output of {call_id}", call_id, "42")))
    (begun,) = of(do.StartResponse, call.feed(ev.ResponseRequested()))
    assert messages(begun)[1:] == [
        ("assistant", "", ["theirs"]),
        ("tool", PENDING, []),
        ("user", "are you there", []),
        ("assistant", "Yes.", []),
        ("user", "[theirs has ended by now: 42] [a tool has ended by now: 42]", []),
    ]


def test_of_parallel_calls_all_are_waited_for_and_stand_in_the_order_of_the_calls() -> None:
    call = world()
    answered(call, "book", "look")
    assert not of(do.StartResponse, finish(call, "look", "rain"))
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert [message.content for message in begun.request.messages if message.role == "tool"] == [
        "table 4", "rain",
    ]  # fmt: skip


def test_words_of_the_agents_code_change_nothing_of_what_is_waited_for() -> None:
    call = world()
    answered(call, "book", "look")
    call.feed(ev.SpeechRequested("One moment."))
    call.play_out(call.make("One moment."))
    assert not of(do.StartResponse, finish(call, "look", "rain"))
    assert call.feed(ev.CallerIdle(9.0)) == []
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert (
        begun.request.messages[-1].content == "[look has ended by now: rain] [book has ended by now: table 4]"
    )


@pytest.mark.parametrize("event", [ev.SpeechRequested("One moment."), ev.ReplyRequested("Ask for his name.")])
def test_words_that_the_agents_code_asks_for_cancel_nothing_and_the_callers_do(event: ev.AgentEvent) -> None:
    call = world()
    answered(call, "look")
    call.feed(event)
    call.play_out(call.make("One moment."))
    assert not of(do.CancelTool, call.commands)
    assert of(do.CancelTool, call.say("never mind", 5.0)) == [do.CancelTool("look_1")]


def test_no_output_stands_between_the_calls_of_one_response() -> None:
    call = world()
    answered(call, "book", "sell", "look")
    finish(call, "look", "rain")
    (begun,) = of(do.StartResponse, finish(call, "book"))
    asked, *told = begun.request.messages[-4:]
    assert [one.name for one in asked.tool_calls] == ["book", "sell", "look"]
    assert {one.tool_call_id for one in told} == {"book_1", "sell_1", "look_1"}
    assert all(one.role == "tool" for one in told)


def test_a_preemptive_response_runs_nothing_before_the_turn_is_over() -> None:
    call = CallWorld(SETTINGS)
    item_id = call.begin_speaking()
    call.pause(item_id, "book a table please")
    (response_id,) = call.preemptive
    assert run(call.feed(ev.ToolCallsReady(response_id, (ToolCall("book_1", "book", "{}"),)))) == []
    assert run(call.feed(ev.TurnEnded(2.0))) == ["book"]


def test_the_result_of_a_preemptive_call_stands_at_its_call_as_of_any_other() -> None:
    call = CallWorld(SETTINGS)
    item_id = call.begin_speaking()
    call.pause(item_id, "book a table please")
    (response_id,) = call.preemptive
    call.feed(ev.ToolCallsReady(response_id, (ToolCall("book_1", "book", "{}"),)))
    call.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    call.feed(ev.TurnEnded(2.0))
    (begun,) = of(do.StartResponse, finish(call, "book"))
    asked, told = begun.request.messages[-2:]
    assert [one.name for one in asked.tool_calls] == ["book"]
    assert (told.role, told.content) == ("tool", "table 4")


def test_a_caller_who_goes_on_is_answered_and_the_result_comes_late() -> None:
    call = world()
    answered(call, "book")
    (begun,) = of(do.StartResponse, call.say("and how is the weather", 5.0))
    assert begun.request.messages[-2].content == PENDING
    call.play_out(call.make("It is sunny."))
    (late,) = of(do.StartResponse, finish(call, "book"))
    assert late.request.messages[-1].content == "[book has ended by now: table 4]"
    assert late.request.messages[: len(begun.request.messages)] == begun.request.messages


def test_a_late_result_waits_until_the_caller_is_silent() -> None:
    call = world()
    answered(call, "book")
    call.say("and how is the weather", 5.0)
    call.play_out(call.make("It is sunny."))
    item_id = call.begin_speaking(9.0)
    assert not of(do.StartResponse, finish(call, "book"))
    call.pause(item_id, "thanks", 9.5)
    call.feed(ev.TurnEnded(9.5))
    assert "table 4" in str(call.working[call.response_id()].request.messages)


def test_a_result_that_comes_before_the_answer_stands_at_its_call() -> None:
    call = world()
    answered(call, "book")
    item_id = call.begin_speaking(5.0)
    finish(call, "book")
    call.pause(item_id, "and how is the weather", 6.0)
    call.feed(ev.TurnEnded(6.0))
    (response_id,) = call.live()
    messages = call.working[response_id].request.messages
    assert [message.role for message in messages] == ["user", "assistant", "tool", "user"]


def test_what_may_be_cancelled_is_when_the_caller_goes_on() -> None:
    call = world()
    answered(call, "look")
    assert of(do.CancelTool, call.say("never mind", 5.0)) == [do.CancelTool("look_1")]
    finish(call, "look", "cancelled", outcome="cancelled", reply=False)
    assert outputs(call) == [("look_1", "cancelled")]


@pytest.mark.parametrize(
    ("outcome", "told"), [("cancelled", "thanks"), ("done", "[look has ended by now: cancelled] thanks")]
)
def test_the_answer_to_who_went_on_is_made_knowing_that_the_tool_was_given_up(
    outcome: str, told: str
) -> None:
    call = world()
    answered(call, "look")
    (begun,) = of(do.StartResponse, call.say("never mind", 5.0))
    assert [message.content for message in begun.request.messages[-2:]] == [CANCELLED, "never mind"]
    call.play_out(call.make("Fine."))
    finish(call, "look", CANCELLED, outcome=outcome, reply=False)
    (after,) = of(do.StartResponse, call.say("thanks", 9.0))
    messages = after.request.messages
    assert messages[: len(begun.request.messages)] == begun.request.messages
    assert messages[-1].content == told.replace("cancelled", CANCELLED)


def test_a_tool_that_hands_the_call_over_leaves_its_result_at_its_call() -> None:
    call = world()
    answered(call, "book")
    call.feed(ev.SpeechRequested("Billing here."))
    finish(call, "book", "done", reply=False)
    call.play_out(call.make("Billing here."))
    (begun,) = of(do.StartResponse, call.say("how much is it", 9.0))
    told = [(message.role, message.content) for message in begun.request.messages[-3:]]
    assert told == [("tool", "done"), ("assistant", "Billing here."), ("user", "how much is it")]


def test_a_result_that_a_prompt_called_still_running_comes_late_though_nothing_is_said_of_it() -> None:
    call = world()
    answered(call, "book")
    call.feed(ev.ReplyRequested("Ask for his name."))
    (asked,) = [one for one in of(do.StartResponse, call.commands) if PENDING in str(one.request.messages)]
    finish(call, "book", "done", reply=False)
    call.play_out(call.make("What is your name?"))
    (begun,) = of(do.StartResponse, call.say("Ann", 9.0))
    history = asked.request.messages[:-1]  # behind it stands what it is to say
    assert begun.request.messages[: len(history)] == history


def test_a_result_that_was_quicker_than_its_cancelling_is_not_lost() -> None:
    call = world()
    answered(call, "look")
    call.say("never mind", 5.0)
    finish(call, "look", "rain")
    assert outputs(call) == [("look_1", "rain")]


def test_the_same_call_does_not_run_twice_at_once() -> None:
    call = world()
    answered(call, "book")
    call.say("please book it", 5.0)
    again = ToolCall("book_2", "book", "{ }")
    assert run(call.feed(ev.ToolCallsReady(call.response_id(), (again,)))) == []
    assert outputs(call)[0][1].startswith("not done again")


def test_a_cut_response_that_called_a_tool_is_not_remade() -> None:
    call = world()
    response_id = call.response_id()
    calls(call, "book", words="One moment.")
    item_id = call.begin_speaking(5.0)
    call.feed(ev.InterruptionConfirmed(5.5))
    assert response_id in call.ended
    call.feed(ev.SpeechPaused(6.0))
    call.feed(ev.TranscriptChanged(item_id, "", "", True))
    assert not of(do.StartResponse, call.feed(ev.TurnEnded(6.0)))


def test_hanging_up_waits_until_the_goodbye_was_played() -> None:
    call = world()
    response_id = call.response_id()
    assert run(calls(call, "hang_up", words="Goodbye.")) == []
    assert run(call.feed(ev.PlayoutSent(response_id))) == []
    assert run(call.feed(ev.PlayoutPlayed(response_id))) == ["hang_up"]


def test_a_caller_who_cuts_the_goodbye_keeps_the_agent() -> None:
    call = world()
    calls(call, "hang_up", words="Goodbye.")
    call.begin_speaking(5.0)
    assert run(call.feed(ev.InterruptionConfirmed(5.5))) == []
    assert outputs(call) == [("hang_up_1", "not done: the caller interrupted, and is still there")]


def resume(call: CallWorld, text: str) -> list[do.Command]:
    """The caller goes on 0.3 s after the end of the turn, before the answer was heard."""
    item_id = call.begin_speaking(1.3)
    commands = call.feed(ev.InterruptionCandidate(1.5))
    commands += call.pause(item_id, text, 2.0)
    return commands + call.feed(ev.TurnEnded(2.0))


def test_a_call_that_waited_for_its_words_is_withdrawn_if_the_turn_was_not_over() -> None:
    call = world()
    calls(call, "hang_up", words="Goodbye.")
    commands = resume(call, "for two")
    begun = of(do.StartResponse, commands)[-1]
    assert messages(begun) == [("user", "book a table please for two", [])]
    assert outputs(call) == []
    assert len(of(notify.NotifyItemDeleted, commands)) == 1
    assert run(commands) == []


def test_a_turn_that_went_on_without_a_word_is_answered_after_its_call_was_withdrawn() -> None:
    call = world()
    calls(call, "hang_up", words="Goodbye.")
    begun = of(do.StartResponse, resume(call, ""))[-1]
    assert messages(begun) == [("user", "book a table please", [])]


def test_a_call_that_ran_stays_though_the_turn_was_not_over() -> None:
    call = world()
    calls(call, "book", "hang_up", words="Goodbye.")
    resume(call, "for two")
    finish(call, "book")
    assert outputs(call) == [("book_1", "table 4")]
    assert [item.call.name for item in call.conversation.history.items if isinstance(item, ToolCallItem)] == [
        "book"
    ]


def test_of_two_ways_to_leave_the_first_counts() -> None:
    call = world(replace(SETTINGS, agent_tools=(BYE, AgentTool(Tool("transfer", ""), when_played=True))))
    assert run(answered(call, "transfer", "hang_up", words="Bye.")) == ["transfer"]
    assert outputs(call) == [("hang_up_1", "not done: transfer comes first")]


def test_a_tool_that_there_is_not_is_answered_with_those_there_are() -> None:
    call = world()
    assert run(answered(call, "dance")) == []
    assert outputs(call) == [("dance_1", "there is no tool 'dance'; allowed: book, look, hang_up, theirs")]
    assert call.live()


def test_a_tool_that_an_agent_without_tools_has_not_is_no_clients_either() -> None:
    call = world(call_settings(agent="Boss"))
    assert not of(notify.NotifyToolCall, answered(call, "dance"))
    assert outputs(call) == [("dance_1", "there is no tool 'dance'; allowed: none")]
    assert call.live()


def test_the_filler_of_a_slow_tool_is_not_in_the_history() -> None:
    call = world()
    answered(call, "book")
    (begun,) = of(do.StartResponse, call.feed(ev.ToolSlow("book_1")))
    assert begun.say == "I am booking."
    call.play_out(call.make("I am booking."))
    (answer,) = of(do.StartResponse, finish(call, "book"))
    assert answer.request.messages[-1].content == "table 4"
    assert ("assistant", "I am booking.") not in said(call)


def test_who_waits_for_a_tool_is_not_taken_for_idle() -> None:
    call = world()
    answered(call, "book")
    assert not call.conversation.idle
    assert call.feed(ev.CallerIdle(9.0)) == []


def in_circles(call: CallWorld, rounds: int) -> list[str]:
    """Let the model call a tool in each of `rounds` responses. Return the tool choices it was given."""
    choices = []
    for number in range(rounds):
        response_id = call.response_id()
        choices.append(call.working[response_id].request.tool_choice)
        wanted = ToolCall(f"look_{len(call.steps)}", "look", "{}")
        commands = call.feed(ev.ToolCallsReady(response_id, (wanted,)))
        call.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
        call.play_out(response_id)
        for command in of(do.RunTool, commands):
            call.feed(ev.ToolFinished(command.call.call_id, "done", f"rain {number}"))
    return choices


def test_a_model_that_calls_in_circles_has_one_round_without_tools_and_then_apologises() -> None:
    call = CallWorld(SETTINGS, replace(POLICY, max_tool_rounds=2))
    call.say("book a table please")
    assert in_circles(call, 3) == ["auto", "auto", "none"]
    assert [type(item) for item in call.conversation.history.items[-2:]] == [ToolOutputItem, MessageItem]
    (failed,) = [end for end in of(notify.NotifyResponseEnded, call.commands) if end.status == "failed"]
    assert "max_tool_rounds" in failed.reason
    assert len(of(do.Apologise, call.commands)) == 1
    assert call.conversation.idle


def test_a_response_out_of_band_calls_the_clients_tools_whatever_rounds_are_left() -> None:
    call = CallWorld(SETTINGS, replace(POLICY, max_tool_rounds=1))
    call.say("book a table please")
    in_circles(call, 1)
    wanted = ev.ResponseRequested(in_conversation=False, modality="text")
    (begun,) = of(do.StartResponse, call.feed(wanted))
    commands = call.feed(ev.ToolCallsReady(begun.response_id, (ToolCall("theirs_1", "theirs", "{}"),)))
    assert [told.call.name for told in of(notify.NotifyToolCall, commands)] == ["theirs"]


def test_words_in_the_round_without_tools_are_the_answer() -> None:
    call = CallWorld(SETTINGS, replace(POLICY, max_tool_rounds=1))
    call.say("book a table please")
    in_circles(call, 1)
    response_id = call.response_id()
    call.feed(ev.ToolCallsReady(response_id, (ToolCall("again", "look", "{}"),)))
    call.play_out(call.make("It rains."))
    assert not of(do.Apologise, call.commands)
    assert said(call)[-1] == ("assistant", "It rains.")


def test_the_next_answer_has_all_its_rounds_of_tools_again() -> None:
    call = CallWorld(SETTINGS, replace(POLICY, max_tool_rounds=1))
    call.say("book a table please")
    in_circles(call, 2)
    call.say("and the weather", 5.0)
    assert in_circles(call, 2) == ["auto", "none"]
    call.feed(ev.ReplyRequested("Ask whether that is all."))
    assert in_circles(call, 1) == ["auto"]


def test_a_tool_that_has_the_model_speak_gives_it_no_more_rounds() -> None:
    call = CallWorld(SETTINGS, replace(POLICY, max_tool_rounds=1))
    call.say("book a table please")
    call.feed(ev.ToolCallsReady(call.response_id(), (ToolCall("book_1", "book", "{}"),)))
    call.feed(ev.ReplyRequested("Tell of it."))
    finish(call, "book", reply=False)
    response_id = call.response_id()
    call.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    (begun,) = of(do.StartResponse, call.play_out(response_id))
    assert begun.request.tool_choice == "none"


def test_a_result_without_need_of_words_is_kept_in_silence() -> None:
    call = world()
    answered(call, "book")
    assert not of(do.StartResponse, finish(call, "book", reply=False))
    assert outputs(call) == [("book_1", "table 4")]


def test_a_choice_that_forces_a_call_is_met_by_the_first() -> None:
    call = world(replace(SETTINGS, tool_choice="required"))
    answered(call, "book")
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert begun.request.tool_choice == "auto"


@pytest.mark.parametrize("event", [ev.ToolFinished("none", "done", "x"), ev.ToolSlow("none")])
def test_what_is_told_of_no_known_call_is_ignored(event: ev.AgentEvent) -> None:
    call = world()
    assert call.feed(event) == []


def test_an_agents_tool_that_is_named_like_the_clients_is_renamed_and_runs() -> None:
    call = world(replace(SETTINGS, tools=()))
    call.feed(ev.SettingsChanged(replace(SETTINGS, agent="Shop", tools=(Tool("book", "The client's."),))))
    call.play_out(call.make("For whom?"))
    (begun,) = of(do.StartResponse, call.say("for Ann", 5.0))
    assert [tool.name for tool in begun.request.tools] == ["Shop_book", "look", "hang_up", "book"]
    response_id = call.response_id()
    wanted = (ToolCall("ours", "Shop_book", "{}"), ToolCall("theirs", "book", "{}"))
    commands = call.feed(ev.ToolCallsReady(response_id, wanted))
    assert run(commands) == ["book"]
    assert [told.call.call_id for told in of(notify.NotifyToolCall, commands)] == ["theirs"]
    call.feed(ev.SettingsChanged(replace(call.conversation.settings, tools=())))
    assert [tool.name for tool in call.conversation.settings.agent_tools] == ["book", "look", "hang_up"]


MOVE_NAMES = (
    "call book", "call look", "call both", "call hang_up", "end", "speak", "cut", "played", "slow", "say",
    "respond", "guide", "update", "call search", "call cancel_tool", "call shared", "client",
)  # fmt: skip
MOVES = st.lists(st.sampled_from(MOVE_NAMES), max_size=40)
ENDS = st.lists(st.sampled_from(["done", "failed", "cancelled"]), min_size=1, max_size=8)


@given(moves=MOVES, ends=ENDS)
def test_no_result_is_lost_or_invented_and_no_effect_happens_twice(moves: list[str], ends: list[str]) -> None:
    life = _Life(ends)
    for move in moves:
        life.move(move)
    life.settle()
    ran = [command.call.call_id for command in of(do.RunTool, life.world.commands)]
    assert len(ran) == len(set(ran)), "a call ran twice"
    items = life.world.conversation.history.items
    called = [item.call.call_id for item in items if isinstance(item, ToolCallItem)]
    told = dict(outputs(life.world))
    assert len(outputs(life.world)) == len(told), "two outputs of one call"
    assert set(told) == set(called), "a call without an output, or an output of no call"
    assert {call_id: told[call_id] for call_id in ran} == life.given, "what ran is what the history says"
    prompts = [str(begun.request.messages) for begun in of(do.StartResponse, life.world.commands)]
    due = [output for output in life.given.values() if not output.startswith("cancelled")]
    unspoken = [output for output in due if not any(output in prompt for prompt in prompts)]
    assert not unspoken, "the model was never asked for words about a result, however late it came"


@given(moves=MOVES, ends=ENDS)
def test_a_call_that_ends_with_tools_running_invents_no_result(moves: list[str], ends: list[str]) -> None:
    life = _Life(ends)
    for move in moves:
        life.move(move)
    before = len(life.world.commands)
    life.world.feed(ev.CallerGone("", 0.0))
    assert not [
        *of(do.RunTool, life.world.commands[before:]),
        *of(do.StartResponse, life.world.commands[before:]),
    ]
    ran = {command.call.call_id for command in of(do.RunTool, life.world.commands)}
    assert {call_id: output for call_id, output in outputs(life.world) if call_id in ran} == life.given


class _Life:
    """Moves of model, caller and tools, each where it is possible."""

    def __init__(self, ends: list[str]) -> None:
        tools = (*SETTINGS.agent_tools, SEARCH)
        self.world = CallWorld(replace(SETTINGS, agent="Clerk", agent_tools=tools))
        self.given: dict[str, str] = {}
        self._ends = ends
        self._number = 0
        self._at_s = 1.0
        self.world.say("hello")

    def move(self, name: str) -> None:
        self._at_s += 2.0
        live = next(iter(self.world.live()), None)
        if name.startswith("call") and live in self.world.working:
            several = {"both": ["book", "look"], "shared": ["theirs", "book"]}
            wanted = several.get(name.split()[1], [name.split()[1]])
            made = []
            for tool in wanted:  # side by side, in one answer
                self._number += 1
                given = self._running_label(live) if tool == "cancel_tool" else str(self._number % 3)
                made.append(ToolCall(f"call_{self._number}", tool, given))
            self.world.feed(ev.ToolCallsReady(live, tuple(made)))
            self.world.feed(ev.ResponseGenerated(live, "tool_calls", Usage()))
        elif name == "end":
            self._end_one()
        elif name == "client":
            self._client_answers()
        elif name == "speak":
            self.world.say("something else", self._at_s)
        elif name == "cut":
            item_id = self.world.begin_speaking(self._at_s)
            self.world.feed(ev.InterruptionConfirmed(self._at_s + 0.5))
            self.world.pause(item_id, "wait", self._at_s + 1)
            self.world.feed(ev.TurnEnded(self._at_s + 1))
        elif name == "played" and live is not None:
            self._play(live)
        elif name == "slow":
            waiting = [one.call_id for one in of(do.AwaitClientResult, self.world.commands)]
            for call_id in self._running() + waiting:
                self.world.feed(ev.ToolSlow(call_id))
        elif name == "say":
            self.world.feed(ev.SpeechRequested("by the way"))
        elif name == "update":
            for call_id in self._running():
                self.world.feed(ev.UpdateRequested(call_id, f"still at {call_id}"))
        elif name == "respond":
            self.world.feed(ev.ReplyRequested("Ask for his name."))
        elif name == "guide":
            for call_id in self._running():
                self.world.feed(ev.GuidanceRequested(call_id, f"Tell of {call_id}."))

    def settle(self) -> None:
        """Every tool ends or is slow, every response is played."""
        for _ in range(40):
            for live in list(self.world.live()):
                self._play(live)
            self._end_one()
            self._client_answers()
            self.move("slow")

    def _client_answers(self) -> None:
        """The client sends the output of its next call, and requests a response."""
        items = self.world.conversation.history.items
        theirs = [
            item.call.call_id
            for item in items
            if isinstance(item, ToolCallItem) and item.call.name == "theirs"
        ]
        for call_id in [one for one in theirs if one not in dict(outputs(self.world))][:1]:
            item = ToolOutputItem(f"output_{call_id}", call_id, f"done {call_id}")
            self.world.feed(ev.ItemCreated(item, None, None, ()))
            self.world.feed(ev.ResponseRequested())

    def _running_label(self, response_id: str) -> str:
        """Return the arguments that cancel the last tool that the response was offered, if any."""
        offered = self.world.working[response_id].request.tools
        labels = [
            tool.parameters["properties"]["tool"]["enum"] for tool in offered if tool.name == "cancel_tool"
        ]
        return json.dumps({"tool": labels[0][-1] if labels else "nothing"})

    def _play(self, response_id: str) -> None:
        if response_id in self.world.working:
            self.world.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
        self.world.play_out(response_id)

    def _running(self) -> list[str]:
        ran = [command.call.call_id for command in of(do.RunTool, self.world.commands)]
        return [call_id for call_id in ran if call_id not in self.given]

    def _end_one(self) -> None:
        for call_id in self._running()[:1]:
            outcome = self._ends[len(self.given) % len(self._ends)]
            self.given[call_id] = f"{outcome} {call_id}"
            self.world.feed(ev.ToolFinished(call_id, outcome, self.given[call_id]))  # type: ignore[arg-type]
            self.world.feed(ev.ToolFinished(call_id, outcome, "again"))  # type: ignore[arg-type]


GUIDE = ev.GuidanceRequested("book_1", "Ask for a rating.")


def told(start: do.StartResponse) -> list[str]:
    return [message.content for message in start.request.messages]


@pytest.mark.parametrize("outcome", ["done", "failed"])
def test_a_tools_instruction_is_for_the_one_response_about_its_result(outcome: str) -> None:
    call = world()
    answered(call, "book")
    assert not of(do.StartResponse, call.feed(GUIDE))
    (begun,) = of(do.StartResponse, finish(call, "book", outcome=outcome))
    assert told(begun)[-2:] == ["table 4", "Ask for a rating."]
    assert not of(do.StartResponse, call.play_out(call.make("How was it?")))
    (after,) = of(do.StartResponse, call.say("fine", 9.0))
    assert "Ask for a rating." not in told(after)


def test_a_tools_instruction_has_a_response_though_its_result_needs_none() -> None:
    call = world()
    answered(call, "book")
    call.feed(GUIDE)
    (begun,) = of(do.StartResponse, finish(call, "book", reply=False))
    assert told(begun)[-2:] == ["table 4", "Ask for a rating."]


def test_a_hang_up_waits_for_the_instruction_of_an_ended_tool_behind_other_words() -> None:
    call = world()
    response_id = call.response_id()
    calls(call, "book", words="One moment please.")
    call.feed(GUIDE)
    call.feed(ev.SpeechRequested("Your table is booked."))
    call.feed(ev.HangUpRequested("over"))
    finish(call, "book")
    call.play_out(response_id)
    (begun,) = of(do.StartResponse, call.play_out(call.make("Your table is booked.")))
    assert told(begun)[-1] == "Ask for a rating."
    assert of(do.HangUp, call.play_out(call.make("How was it?")))


def test_tools_side_by_side_have_one_response_with_the_instructions_of_all() -> None:
    call = world()
    answered(call, "book", "look")
    call.feed(GUIDE)
    call.feed(ev.GuidanceRequested("look_1", "Be brief."))
    assert not of(do.StartResponse, finish(call, "look", "rain"))
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert told(begun)[-1] == "Be brief.\nAsk for a rating."


def test_an_instruction_is_in_the_response_that_is_made_while_the_words_before_it_are_played() -> None:
    call = world()
    response_id = call.response_id()
    calls(call, "book", words="One moment please.")
    call.feed(GUIDE)
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert begun.preemptive
    assert told(begun)[-1] == "Ask for a rating."
    released = call.play_out(response_id)
    assert of(do.ReleaseResponse, released) == [do.ReleaseResponse(begun.response_id)]
    assert not of(do.StartResponse, call.play_out(begun.response_id))


def test_the_instruction_of_a_slow_tool_does_not_wait_for_its_end() -> None:
    call = world()
    answered(call, "book")
    call.feed(GUIDE)
    (begun,) = of(do.StartResponse, call.feed(ev.ToolSlow("book_1")))
    assert (begun.say, told(begun)[-1]) == ("", "Ask for a rating.")
    call.play_out(call.make("How was it?"))
    (second,) = of(do.StartResponse, call.feed(GUIDE))
    call.play_out(call.make("And now?"))
    (result,) = of(do.StartResponse, finish(call, "book"))
    assert told(second)[-1] == "Ask for a rating."
    assert told(result)[-1] == "[book has ended by now: table 4]"


def test_the_instruction_of_a_cancelled_tool_is_dropped() -> None:
    call = world()
    answered(call, "look")
    call.feed(ev.GuidanceRequested("look_1", "Ask for a rating."))
    call.say("never mind", 5.0)
    finish(call, "look", CANCELLED, outcome="cancelled", reply=False)
    assert not any("Ask for a rating." in told(start) for start in of(do.StartResponse, call.commands))


STILL = ev.UpdateRequested("book_1", "Still booking.")


def test_an_update_of_a_running_tool_is_spoken_once_the_agent_is_silent_and_its_result_follows() -> None:
    call = world()
    response_id = call.response_id()
    calls(call, "book", words="One moment please.")
    assert not of(do.StartResponse, call.feed(STILL))
    (update,) = of(do.StartResponse, call.play_out(response_id))
    assert (update.say, update.turn_id) == ("Still booking.", None)
    call.play_out(call.make("Still booking."))
    (answer,) = of(do.StartResponse, finish(call, "book"))
    assert [one.content for one in answer.request.messages] == [
        "book a table please",
        "One moment please.",
        PENDING,
        "Still booking.",
        "[book has ended by now: table 4]",
    ]


def test_an_update_is_dropped_once_its_tool_has_ended() -> None:
    call = world()
    response_id = call.response_id()
    calls(call, "book", words="One moment please.")
    call.feed(STILL)
    finish(call, "book")
    call.play_out(response_id)
    call.feed(STILL)
    assert not [start for start in of(do.StartResponse, call.commands) if start.say]
    assert call.conversation.history.outputs() == {"book_1"}


def test_a_newer_update_replaces_one_that_was_not_spoken() -> None:
    call = world()
    response_id = call.response_id()
    calls(call, "book", words="One moment please.")
    call.feed(STILL)
    call.feed(ev.UpdateRequested("book_1", "Nearly done."))
    call.play_out(response_id)
    call.play_out(call.make("Nearly done."))
    assert [start.say for start in of(do.StartResponse, call.commands) if start.say] == ["Nearly done."]


def test_an_update_waits_for_the_caller_and_for_the_answer_to_them() -> None:
    call = world()
    answered(call, "book")
    item_id = call.begin_speaking(5.0)
    assert not of(do.StartResponse, call.feed(STILL))
    (answer,) = of(do.StartResponse, call.pause(item_id, "is there tea", 6.0))
    released = call.feed(ev.TurnEnded(6.0))
    assert of(do.ReleaseResponse, released) == [do.ReleaseResponse(answer.response_id)]
    assert not of(do.StartResponse, released)
    (update,) = of(do.StartResponse, call.play_out(call.make("Yes, there is.")))
    assert update.say == "Still booking."


def test_a_tool_that_is_being_cancelled_gives_no_update() -> None:
    call = world()
    answered(call, "look")
    call.feed(ev.SpeechRequested("One moment."))
    call.feed(ev.UpdateRequested("look_1", "Still looking."))
    call.say("never mind", 5.0)
    call.feed(ev.UpdateRequested("look_1", "Still looking."))
    call.play_out(call.make("All right."))
    assert "Still looking." not in [start.say for start in of(do.StartResponse, call.commands)]


SEARCHING = replace(SETTINGS, agent_tools=(BOOK, SEARCH))


def offered(start: do.StartResponse) -> list[str]:
    """Return what the model may cancel in this response."""
    labels = [
        tool.parameters["properties"]["tool"]["enum"] for tool in start.request.tools if tool.parameters
    ]
    return [label for of_tool in labels for label in of_tool]


def cancels(call: CallWorld, label: str) -> list[do.Command]:
    """The model cancels a tool, and says nothing."""
    response_id = call.response_id()
    wanted = ToolCall("cancel_1", "cancel_tool", json.dumps({"tool": label}))
    commands = call.feed(ev.ToolCallsReady(response_id, (wanted,)))
    commands += call.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    return commands + call.play_out(response_id)


def test_the_model_can_cancel_a_tool_only_while_it_runs() -> None:
    call = world(SEARCHING)
    answered(call, "search", "book")
    call.say("how long will it take", 5.0)
    assert offered(of(do.StartResponse, call.commands)[-1]) == ["search"], "book is no such tool"
    call.play_out(call.make("A minute."))
    (result,) = of(do.StartResponse, finish(call, "search"))
    assert offered(result) == []


def test_a_tool_that_the_model_cancels_is_stopped_and_the_model_speaks_of_it() -> None:
    call = world(SEARCHING)
    answered(call, "search")
    call.say("stop searching please", 5.0)
    assert of(do.CancelTool, cancels(call, "search")) == [do.CancelTool("search_1", by_model=True)]
    (answer,) = of(do.StartResponse, finish(call, "search", CANCELLED, outcome="cancelled", reply=False))
    assert messages(answer) == [
        ("user", "book a table please", []),
        ("assistant", "", ["search"]),
        ("tool", CANCELLED, []),
        ("user", "stop searching please", []),
        ("assistant", "", ["cancel_tool"]),
        ("tool", "cancelled", []),
    ]
    assert offered(answer) == []


def test_a_tool_that_ended_before_it_was_cancelled_gives_its_result() -> None:
    call = world(SEARCHING)
    answered(call, "search")
    call.say("stop searching please", 5.0)
    cancels(call, "search")
    (answer,) = of(do.StartResponse, finish(call, "search", "a table at eight"))
    assert messages(answer)[2:] == [
        ("tool", PENDING, []),
        ("user", "stop searching please", []),
        ("assistant", "", ["cancel_tool"]),
        ("tool", "not cancelled: it had ended already", []),
        ("user", "[search has ended by now: a table at eight]", []),
    ]


def test_the_cancellation_of_a_tool_that_does_not_run_is_refused_with_those_that_do() -> None:
    call = world(SEARCHING)
    answered(call, "search")
    call.say("do not book", 5.0)
    assert not of(do.CancelTool, cancels(call, "book"))
    assert outputs(call) == [("cancel_1", "not done: there is no running tool 'book'; allowed: search")]


def test_two_calls_of_one_tool_are_cancelled_by_their_arguments() -> None:
    call = world(SEARCHING)
    response_id = call.response_id()
    days = (ToolCall("a", "search", '{"day":"mon"}'), ToolCall("b", "search", '{"day":"tue"}'))
    call.feed(ev.ToolCallsReady(response_id, days))
    call.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    call.play_out(response_id)
    call.say("not on Tuesday", 5.0)
    labels = ['search {"day":"mon"}', 'search {"day":"tue"}']
    assert offered(of(do.StartResponse, call.commands)[-1]) == labels
    assert of(do.CancelTool, cancels(call, labels[1])) == [do.CancelTool("b", by_model=True)]


def test_an_agents_own_tool_of_that_name_keeps_it() -> None:
    own = AgentTool(Tool("cancel_tool", "Cancels an order."))
    call = world(replace(SETTINGS, agent_tools=(own, SEARCH)))
    answered(call, "search")
    call.say("cancel my order", 5.0)
    names = [tool.name for tool in of(do.StartResponse, call.commands)[-1].request.tools]
    assert names == ["cancel_tool", "search", "theirs", "server_cancel_tool"]
    assert run(calls(call, "cancel_tool")) == ["cancel_tool"]


def test_turns_that_the_agents_code_takes_are_not_answered() -> None:
    call = world(replace(SETTINGS, agent="Bank"))
    answered(call, "book")
    call.feed(ev.TurnsClaimed(True))
    commands = call.say("four two one", 5.0)
    assert [told.text for told in of(do.TurnConcluded, commands)] == ["four two one"]
    assert not of(do.StartResponse, commands)
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert begun.request.messages[-1].content == "four two one"


def test_a_caller_whom_the_agents_code_asks_is_not_asked_whether_he_is_there() -> None:
    call = world()
    call.play_out(call.make("Yes?"))
    call.feed(ev.TurnsClaimed(True))
    assert not call.conversation.idle
    assert call.feed(ev.CallerIdle(5.0)) == []
    call.feed(ev.TurnsClaimed(False))
    (asked,) = of(do.StartResponse, call.feed(ev.CallerIdle(10.0)))
    assert asked.say == "Are you still there?"


def test_turns_are_answered_again_when_the_agents_code_takes_them_no_more() -> None:
    call = world()
    call.play_out(call.make("Yes?"))
    call.feed(ev.TurnsClaimed(True))
    call.feed(ev.TurnsClaimed(False))
    assert of(do.StartResponse, call.say("hello", 5.0))


def theirs_ends(call: CallWorld) -> list[do.Command]:
    """The client sends the output of its tool, and requests a response."""
    call.feed(ev.ItemCreated(ToolOutputItem("output", "theirs_1", "of theirs"), None, None, ()))
    return call.feed(ev.ResponseRequested())


def test_one_response_answers_the_results_of_the_agents_tool_and_of_the_clients() -> None:
    call = world()
    limits = answered(call, "book", "theirs")
    assert of(do.AwaitClientResult, limits) == [do.AwaitClientResult("theirs_1")]
    assert not of(do.StartResponse, finish(call, "book"))
    (begun,) = of(do.StartResponse, theirs_ends(call))
    assert {"table 4", "of theirs"} <= set(told(begun))
    assert not of(do.StartResponse, call.feed(ev.ToolSlow("theirs_1")))
    assert not of(do.StartResponse, call.play_out(call.make("Done.")))


def test_a_response_that_the_client_requests_waits_for_the_agents_tool_of_the_same_response() -> None:
    call = world()
    answered(call, "theirs", "book")
    assert not of(do.StartResponse, theirs_ends(call))
    (begun,) = of(do.StartResponse, finish(call, "book"))
    assert {"table 4", "of theirs"} <= set(told(begun))
    assert not of(do.StartResponse, call.play_out(call.make("Done.")))


def test_a_client_that_sends_no_result_delays_the_agents_result_until_its_tool_is_slow() -> None:
    call = world()
    answered(call, "book", "theirs")
    assert not of(do.StartResponse, finish(call, "book"))
    (begun,) = of(do.StartResponse, call.feed(ev.ToolSlow("theirs_1")))
    assert "table 4" in told(begun)


def test_a_slow_tool_of_the_agent_does_not_delay_the_response_about_the_clients_result() -> None:
    call = world()
    answered(call, "book", "theirs")
    assert not of(do.StartResponse, theirs_ends(call))
    (begun,) = of(do.StartResponse, call.feed(ev.ToolSlow("book_1")))
    assert not begun.say
    assert "of theirs" in told(begun)


def test_a_caller_who_speaks_is_answered_though_the_client_has_sent_no_result() -> None:
    call = world()
    answered(call, "book", "theirs")
    finish(call, "book")
    count = len(of(do.StartResponse, call.commands))
    call.say("are you there", 5.0)
    begun = of(do.StartResponse, call.commands)[count:]
    assert "table 4" in told(begun[-1])
    call.play_out(call.make("Yes."))
    assert not of(do.StartResponse, call.feed(ev.ToolSlow("theirs_1")))


def test_in_calls_of_older_builds_each_result_has_its_response() -> None:
    call = CallWorld(SETTINGS, policy=replace(POLICY, joins_results=False))
    call.say("book a table please")
    assert not of(do.AwaitClientResult, answered(call, "book", "theirs"))
    assert of(do.StartResponse, finish(call, "book"))


def test_a_tools_instruction_is_for_the_response_that_the_client_requests_about_the_results() -> None:
    call = world()
    answered(call, "book", "theirs")
    call.feed(GUIDE)
    finish(call, "book")
    (begun,) = of(do.StartResponse, theirs_ends(call))
    assert any("Ask for a rating." in text for text in told(begun))
    assert not of(do.StartResponse, call.play_out(call.make("Done.")))
