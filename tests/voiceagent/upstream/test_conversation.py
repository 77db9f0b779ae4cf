"""Reactions to events of an upstream, of the call and of its tools."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from upstream_call import SPEAKS, STOPS, called, conversation, created, done, kinds, sent, sound, take, words

from llmcore.engine import ToolCall
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem, ToolOutputItem
from voiceagent.conversation.settings import TurnDetection


def test_a_response_is_played_when_the_one_before_it_has_been() -> None:
    call = conversation()
    call.connected()
    first = take(call, created(1), words(1), sound(1), done(1), created(2), words(2), sound(2), done(2))
    assert [one.response_id for one in first if isinstance(one, do.Play | do.FinishPlayout)] == ["resp_1"] * 2
    then = call.handle(ev.PlayoutPlayed("resp_1"))
    assert [one.response_id for one in then if isinstance(one, do.Play | do.FinishPlayout)] == ["resp_2"] * 2


def test_a_response_that_is_cut_after_its_last_frame_ends_once() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), sound(1), done(1))
    [ended] = call.handle(ev.PlayoutSent("resp_1"))
    assert isinstance(ended, notify.NotifyResponseEnded)
    cut = call.handle(ev.PlayoutStopped("resp_1", 0.1))
    assert kinds(cut) == ["conversation.item.truncate"]
    assert not [one for one in cut if isinstance(one, notify.NotifyResponseEnded)]


def test_a_silence_that_the_upstream_found_too_long_is_told() -> None:
    call = conversation()
    call.connected()
    place = {"item_id": "item_i", "audio_start_ms": 2_000, "audio_end_ms": 8_000}
    told = call.on_upstream_event({"type": "input_audio_buffer.timeout_triggered", **place})
    assert told == [notify.NotifyIdle("item_i", 8.0)]


def test_the_client_is_told_of_an_end_when_all_sound_was_sent() -> None:
    call = conversation()
    call.connected()
    begun = take(call, created(1), words(1), sound(1), done(1))
    assert not [one for one in begun if isinstance(one, notify.NotifyResponseEnded)]
    [ended] = call.handle(ev.PlayoutSent("resp_1"))
    assert isinstance(ended, notify.NotifyResponseEnded)


def test_only_what_was_heard_of_a_cut_response_is_kept() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), *[sound(1)] * 4, done(1))
    cut = take(call, SPEAKS)
    assert do.StopPlayout("resp_1", "upstream") in cut
    stopped = call.handle(ev.PlayoutStopped("resp_1", 0.5))
    [truncated] = sent(stopped)
    assert (truncated["item_id"], truncated["audio_end_ms"]) == ("item_1", 500)
    assert call.history.items == [MessageItem("item_1", "assistant", "one two", True, "incomplete")]
    assert do.ResponseConcluded("one two", interrupted=True) in stopped
    assert take(call, sound(1), done(1, "cancelled")) == []


def test_an_item_that_is_deleted_while_its_words_come_stays_deleted() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), sound(1))
    call.handle(ev.ItemDeleted("item_1"))
    more = take(call, words(1, " five"), sound(1), done(1))
    assert [type(one) for one in more] == [do.Play, do.FinishPlayout]
    call.handle(ev.PlayoutPlayed("resp_1"))
    assert call.history.items == []


def test_a_caller_who_hangs_up_leaves_what_he_heard_and_nothing_to_do() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), *[sound(1)] * 4, done(1))
    assert call.handle(ev.CallerGone("resp_1", 0.5)) == []
    assert call.history.items == [MessageItem("item_1", "assistant", "one two", True, "incomplete")]


def test_words_whose_sound_is_still_to_come_were_not_heard() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1, "one two three four five six seven eight nine ten"), *[sound(1)] * 4)
    take(call, SPEAKS)
    call.handle(ev.PlayoutStopped("resp_1", 0.8))
    assert call.history.items == [MessageItem("item_1", "assistant", "one two", True, "incomplete")]


def test_a_caller_who_does_not_interrupt_cuts_nothing() -> None:
    call = conversation()
    call.connected()
    detection = call.settings.turn_detection
    assert detection is not None
    call.handle(
        ev.SettingsChanged(
            replace(call.settings, turn_detection=replace(detection, interrupt_response=False))
        )
    )
    take(call, created(1), words(1), sound(1))
    assert not [one for one in take(call, SPEAKS) if isinstance(one, do.StopPlayout)]


def test_a_session_does_not_become_one_that_only_transcribes() -> None:
    call = conversation()
    call.connected()
    [refused] = call.handle(ev.SettingsChanged(call.settings.as_transcription()))
    assert isinstance(refused, notify.NotifyError)
    assert refused.param == "session.type"
    assert not call.settings.only_transcribes


def test_a_result_is_spoken_of_when_nobody_speaks() -> None:
    call = conversation()
    call.connected()
    assert do.RunTool(ToolCall("call_add", "add", "{}")) in take(call, created(1), called(1, "add"), done(1))
    take(call, SPEAKS)
    assert kinds(call.handle(ev.ToolFinished("call_add", "done", "added"))) == ["conversation.item.create"]
    answer = take(call, STOPS, created(2), words(2), sound(2), done(2))
    assert "response.create" not in kinds(answer), "the upstream answers the turn, and knows the result"


def test_of_parallel_calls_all_results_are_waited_for() -> None:
    call = conversation()
    call.connected()
    one, other = ToolCall("call_add", "add", "{}"), ToolCall("call_b", "add", "{}")
    second = called(1, "add")
    second["item"] = {**second["item"], "id": "other", "call_id": "call_b"}
    run = take(call, created(1), called(1, "add"), second, done(1))
    assert [command.call for command in run if isinstance(command, do.RunTool)] == [one, other]
    assert "response.create" not in kinds(call.handle(ev.ToolFinished("call_add", "done", "1")))
    assert kinds(call.handle(ev.ToolFinished("call_b", "done", "2")))[-1] == "response.create"


@pytest.mark.parametrize("slow", [False, True])
def test_the_instruction_of_a_tool_is_for_the_response_about_its_result_unless_it_is_slow(slow: bool) -> None:
    call = conversation()
    call.connected()
    take(call, created(1), called(1, "add"), done(1))
    assert not call.handle(ev.GuidanceRequested("call_add", "Ask for a rating."))
    event = ev.ToolSlow("call_add") if slow else ev.ToolFinished("call_add", "done", "added")
    *_, wanted = sent(call.handle(event))
    assert wanted["response"]["instructions"].endswith("Ask for a rating.")
    assert "response.create" not in kinds(take(call, created(2), words(2), sound(2), done(2)))


HAND_OVER = ev.AgentChanged("boss", (), "You are the boss.", None)


@pytest.mark.parametrize("ends", [ev.HangUpRequested("done"), HAND_OVER])
def test_the_instruction_of_a_tool_is_followed_before_its_hang_up_or_hand_over(ends: ev.AgentEvent) -> None:
    call = conversation()
    call.connected()
    take(call, created(1), called(1, "add"), done(1))
    call.handle(ev.GuidanceRequested("call_add", "Say goodbye."))
    actions = call.handle(ends)
    assert not [action for action in actions if isinstance(action, do.HangUp)]
    wanted = sent(actions)[0]["response"]["instructions"]
    assert wanted.endswith("Say goodbye.")
    assert "boss" not in wanted


@pytest.mark.parametrize("cut", [True, False])
def test_what_waits_for_the_end_of_the_words_is_not_done_where_they_are_cut(cut: bool) -> None:
    call = conversation()
    call.connected()
    assert not [
        one
        for one in take(call, created(1), words(1), sound(1), called(1, "end"), done(1))
        if isinstance(one, do.RunTool)
    ]
    if not cut:
        assert do.RunTool(ToolCall("call_end", "end", "{}")) in call.handle(ev.PlayoutPlayed("resp_1"))
        return
    take(call, SPEAKS)
    stopped = call.handle(ev.PlayoutStopped("resp_1", 0.1))
    assert not [one for one in stopped if isinstance(one, do.RunTool)]
    [output] = [item for item in call.history.items if isinstance(item, ToolOutputItem)]
    assert output.output == "not done: the caller went on"


def test_the_agents_digits_are_not_answered_by_the_upstream() -> None:
    call = conversation()
    call.connected()
    [claimed] = sent(call.handle(ev.TurnsClaimed(True)))
    assert claimed["session"]["audio"]["input"]["turn_detection"]["create_response"] is False


def test_who_is_asked_for_digits_is_not_asked_by_the_upstream_whether_he_is_there() -> None:
    call = conversation()
    waits = TurnDetection("server_vad", 0.5, 0.3, 0.5, 20.0, "auto")
    call.handle(ev.SettingsChanged(replace(call.settings, turn_detection=waits)))
    [asked] = sent(call.connected())
    [claimed] = sent(call.handle(ev.TurnsClaimed(True)))
    [given_back] = sent(call.handle(ev.TurnsClaimed(False)))
    after_ms = [
        event["session"]["audio"]["input"]["turn_detection"]["idle_timeout_ms"]
        for event in (asked, claimed, given_back)
    ]
    assert after_ms == [20_000, None, 20_000]


def test_what_the_agents_code_has_the_upstream_say_is_told_beside_its_instructions() -> None:
    call = conversation()
    call.connected()
    instructions = call.settings.instructions
    [wanted] = sent(call.handle(ev.ReplyRequested("Ask for a rating.")))
    assert wanted["response"]["instructions"] == f"{instructions}\n\nAsk for a rating.".strip()
    assert "tools" not in wanted["response"]


@pytest.mark.parametrize("told_first", [True, False])
def test_what_was_to_be_said_as_the_upstream_began_an_answer_is_said_behind_it(told_first: bool) -> None:
    call = conversation()
    call.connected()
    [wanted] = sent(call.handle(ev.SpeechRequested("One moment.")))
    code = "conversation_already_has_active_response"
    refused = {"type": "error", "error": {"code": code, "event_id": wanted["event_id"]}}
    answer = [created(1), words(1), sound(1), done(1)]
    told = take(call, *([answer[0], refused, *answer[1:]] if told_first else [refused, *answer]))
    assert not [one for one in told if isinstance(one, notify.NotifyError)]
    assert sent(call.handle(ev.PlayoutPlayed("resp_1"))) == [wanted]


def test_an_error_of_something_else_leaves_a_response_awaited() -> None:
    call = conversation()
    call.connected()
    call.handle(ev.ResponseRequested())
    take(call, {"type": "error", "error": {"code": "item_not_found", "event_id": "mine"}})
    assert not call.quiet


def test_a_response_is_cancelled_before_it_begins() -> None:
    call = conversation()
    call.connected()
    call.handle(ev.ResponseRequested())
    assert kinds(call.handle(ev.ResponseCancelled())) == ["response.cancel"]


def test_an_item_that_is_not_there_is_an_error_of_the_client() -> None:
    call = conversation()
    [told] = call.handle(ev.ItemDeleted("item_x"))
    assert isinstance(told, notify.NotifyError)
    assert told.code == "item_delete_invalid_item_id"


def test_a_client_may_put_in_as_much_as_the_limits_say() -> None:
    call = conversation()
    [told] = call.handle(ev.ItemCreated(MessageItem("item_x", "user", 51 * "x")))
    assert isinstance(told, notify.NotifyError)
    assert "51 characters; allowed: at most 50" in told.message
    assert call.history.items == []


STEPS: list[Any] = [
    *(
        "connected",
        "lost",
        SPEAKS,
        STOPS,
        ev.SpeechRequested("Wait."),
        ev.ReplyRequested("Ask."),
        ev.GuidanceRequested("call_add", "Ask more."),
        ev.ToolSlow("call_add"),
        ev.ResponseRequested(),
    ),
    *(ev.ToolFinished("call_add", "done", "added"), ev.OutputCleared()),
    *(make(number) for number in (1, 2) for make in (created, words, sound, done)),
    *(called(1, "add"), called(2, "end")),
    *(ev.PlayoutPlayed(f"resp_{number}") for number in (1, 2)),
    *(ev.PlayoutStopped(f"resp_{number}", 0.1) for number in (1, 2)),
]


@given(st.lists(st.sampled_from(STEPS), max_size=40))
def test_whatever_happens_a_response_is_asked_for_once_at_a_time(steps: list[Any]) -> None:
    call, asked, begun = conversation(), 0, set()
    for step in steps:
        if isinstance(step, str):
            commands = getattr(call, step)()
            asked = 0 if step == "lost" else asked
        elif isinstance(step, dict):
            new = step["type"] == "response.created" and step["response"]["id"] not in begun
            if step["type"] == "response.created" and not new:
                continue  # an upstream makes each id once
            begun |= {step["response"]["id"]} if new else set()
            asked = 0 if new else asked
            commands = call.on_upstream_event(step)
        else:
            commands = call.handle(step)
        asked += kinds(commands).count("response.create")
        assert asked <= 1


def test_voice_of_one_response_is_sent_to_the_upstream() -> None:
    call = conversation()
    call.connected()
    [event] = sent(call.handle(ev.ResponseRequested(voice="cedar")))
    assert event["response"] == {"audio": {"output": {"voice": "cedar"}}}
