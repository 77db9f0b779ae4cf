"""What events of an upstream, of the call and of its tools come to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from call_settings import call_settings
from hypothesis import given
from hypothesis import strategies as st
from made_upstream import TONE, response

from llmcore.engine import Tool, ToolCall
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import HistoryLimits, MessageItem, ToolOutputItem
from voiceagent.conversation.settings import AgentTool, TurnDetection
from voiceagent.upstream.conversation import UpstreamConversation
from voiceagent.upstream.messages import Event, Send, Wanted

TOOLS = (AgentTool(Tool("add", "Add.")), AgentTool(Tool("end", "End."), when_played=True))


def conversation() -> UpstreamConversation:
    numbers = iter(range(1_000))
    settings = replace(call_settings(), agent_tools=TOOLS)
    limits = HistoryLimits(max_items=20, max_item_characters=50, max_conversation_characters=1_000)
    return UpstreamConversation(settings, "scribe", limits, lambda prefix: f"{prefix}_{next(numbers)}")


def settings_changed() -> ev.SettingsChanged:
    return ev.SettingsChanged(replace(call_settings(), instructions="Be brief."))


def sent(commands: list[Wanted]) -> list[Event]:
    return [command.event for command in commands if isinstance(command, Send)]


def kinds(commands: list[Wanted]) -> list[str]:
    return [event["type"] for event in sent(commands)]


def created(number: int) -> Event:
    return {"type": "response.created", "response": response(f"resp_{number}", "in_progress")}


def words(number: int, text: str = "one two three four") -> Event:
    place = {"response_id": f"resp_{number}", "item_id": f"item_{number}"}
    return {"type": "response.output_audio_transcript.delta", **place, "delta": text}


def sound(number: int) -> Event:
    return {"type": "response.output_audio.delta", "response_id": f"resp_{number}", "delta": TONE}


def done(number: int, status: str = "completed") -> Event:
    return {"type": "response.done", "response": response(f"resp_{number}", status)}


def called(number: int, name: str) -> Event:
    call = {"id": f"call_item_{name}", "type": "function_call", "call_id": f"call_{name}", "name": name}
    item = {**call, "arguments": "{}"}
    return {"type": "response.output_item.done", "response_id": f"resp_{number}", "item": item}


SPEAKS: Event = {"type": "input_audio_buffer.speech_started", "item_id": "item_s", "audio_start_ms": 0}
STOPS: Event = {"type": "input_audio_buffer.speech_stopped", "item_id": "item_s", "audio_end_ms": 500}


def take(call: UpstreamConversation, *events: Event) -> list[Wanted]:
    return [command for event in events for command in call.take(event)]


def test_a_greeting_waits_for_the_upstream() -> None:
    call = conversation()
    assert sent(call.handle(ev.CallStarted("Hello."))) == []
    update, asked = sent(call.connected())
    assert update["type"] == "session.update"
    assert asked["response"]["instructions"].endswith("nothing else: Hello.")


def test_what_a_client_asks_before_the_upstream_is_there_is_confirmed_at_once() -> None:
    call = conversation()
    assert not [one for one in call.handle(settings_changed()) if isinstance(one, notify.NotifySettings)]
    call.handle(ev.CallStarted())
    changed = call.handle(settings_changed())
    assert [one.created for one in changed if isinstance(one, notify.NotifySettings)] == [False]
    created = call.handle(ev.ItemCreated(MessageItem("item_1", "user", "Hello."), None))
    assert [type(one) for one in created] == [notify.NotifyItemAdded, notify.NotifyItemDone]
    assert kinds(call.connected()) == ["session.update", "conversation.item.create"]


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
    told = call.take({"type": "input_audio_buffer.timeout_triggered", **place})
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
    assert do.StopPlayout("resp_1") in cut
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


def test_a_response_of_which_nothing_came_is_asked_for_again() -> None:
    call = conversation()
    call.connected()
    take(call, created(1))
    call.lost()
    assert kinds(call.connected()) == ["session.update", "response.create"]


def test_a_response_that_was_begun_is_played_as_far_as_it_came() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), sound(1))
    assert do.FinishPlayout("resp_1") in call.lost()
    call.handle(ev.PlayoutPlayed("resp_1"))
    assert kinds(call.connected()) == ["session.update", "conversation.item.create"]


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


OUT_OF_BAND = ev.ResponseRequested(in_conversation=False, modality="text", metadata={"for": "notes"})


def begun_beside(number: int) -> Event:
    begun = response(f"resp_{number}", "in_progress")
    beside = {"conversation_id": None, "output_modalities": ["text"], "metadata": {"for": "notes"}}
    return {"type": "response.created", "response": {**begun, **beside}}


def written(number: int, text: str) -> Event:
    place = {"response_id": f"resp_{number}", "item_id": f"item_{number}"}
    return {"type": "response.output_text.delta", **place, "delta": text}


def test_a_text_out_of_band_ends_while_another_response_is_played() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), sound(1))
    [wanted] = sent(call.handle(OUT_OF_BAND))
    assert wanted["response"]["conversation"] == "none"
    began, text, ended = take(call, begun_beside(2), written(2, "A note."), done(2))
    assert began == notify.NotifyResponseStarted("resp_2", "text", None, False, {"for": "notes"}, beside=True)
    assert text == notify.NotifyResponseText("resp_2", "item_2", None, "A note.")
    assert isinstance(ended, notify.NotifyResponseEnded)
    assert (ended.status, ended.beside) == ("completed", True)
    assert "item_2" not in call.history


def test_a_text_out_of_band_is_cut_by_no_voice_and_by_its_id() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), sound(1), begun_beside(2), SPEAKS)
    cut = call.handle(ev.PlayoutStopped("resp_1", 0.1))
    assert [one.response_id for one in cut if isinstance(one, notify.NotifyResponseEnded)] == ["resp_1"]
    assert take(call, written(2, "A note."))
    assert sent(call.handle(ev.ResponseCancelled("resp_2"))) == [
        {"type": "response.cancel", "response_id": "resp_2"}
    ]


def test_a_text_out_of_band_keeps_no_answer_waiting_and_is_none() -> None:
    call = conversation()
    call.connected()
    call.handle(OUT_OF_BAND)
    assert kinds(call.handle(ev.ResponseRequested())) == ["response.create"]
    take(call, begun_beside(2))
    assert call.quiet is False, "the answer has not begun"
    take(call, created(1), done(1))
    assert call.quiet


def test_a_text_out_of_band_fails_where_the_upstream_is_lost() -> None:
    call = conversation()
    call.connected()
    take(call, begun_beside(2))
    [failed] = call.lost()
    assert isinstance(failed, notify.NotifyResponseEnded)
    assert (failed.response_id, failed.status) == ("resp_2", "failed")


def test_what_is_asked_for_before_the_upstream_is_there_is_asked_for_when_it_comes() -> None:
    call = conversation()
    call.handle(ev.CallStarted())
    wish = ev.ResponseRequested(instructions="Greet the caller.")
    assert call.handle(OUT_OF_BAND) == call.handle(wish) == []
    [refused] = call.handle(replace(wish, client_event_id="mine"))
    assert isinstance(refused, notify.NotifyError)
    assert (refused.code, refused.client_event_id) == ("conversation_already_has_active_response", "mine")
    _, aside, greeting = sent(call.connected())
    assert aside["response"]["metadata"] == {"for": "notes"}
    assert greeting["response"] == {"instructions": "Greet the caller."}


def test_what_was_asked_for_and_has_not_begun_is_asked_for_again_in_the_same_words() -> None:
    call = conversation()
    call.connected()
    asked = sent([*call.handle(OUT_OF_BAND), *call.handle(ev.SpeechRequested("One moment."))])
    call.lost()
    assert sent(call.connected())[1:] == asked
    take(call, begun_beside(1), created(2))
    call.lost()
    assert kinds(call.connected()) == ["session.update", "response.create"], "of the answer nothing came"


def test_a_text_that_the_upstream_refuses_is_not_asked_for_again_and_leaves_the_answer() -> None:
    call = conversation()
    call.connected()
    [aside] = sent(call.handle(OUT_OF_BAND))
    call.handle(ev.ResponseRequested())
    [told] = take(call, {"type": "error", "error": {"code": "no", "event_id": aside["event_id"]}})
    assert isinstance(told, notify.NotifyError)
    assert not call.quiet, "the answer has not begun"
    call.lost()
    assert kinds(call.connected()) == ["session.update", "response.create"]


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


def test_to_cancel_a_text_that_is_over_leaves_the_answer_to_be_heard() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), sound(1), begun_beside(2), done(2))
    [told] = call.handle(ev.ResponseCancelled("resp_2", "mine"))
    assert isinstance(told, notify.NotifyError)
    assert (told.code, told.client_event_id) == ("response_cancel_not_active", "mine")
    assert do.StopPlayout("resp_1") in call.handle(ev.ResponseCancelled("resp_1"))


def test_a_response_is_cancelled_before_it_begins() -> None:
    call = conversation()
    call.connected()
    call.handle(ev.ResponseRequested())
    assert kinds(call.handle(ev.ResponseCancelled())) == ["response.cancel"]


@pytest.mark.parametrize("cut", [True, False])
def test_what_is_heard_while_another_upstream_comes_is_known_to_that(cut: bool) -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), *[sound(1)] * 4, done(1))
    call.lost()
    assert kinds(call.connected()) == ["session.update"], "nobody knows yet how much is heard"
    if cut:
        take(call, SPEAKS)
    over = call.handle(ev.PlayoutStopped("resp_1", 0.5) if cut else ev.PlayoutPlayed("resp_1"))
    [told] = sent(over)
    assert told["type"] == "conversation.item.create"
    assert told["item"]["content"][0]["text"] == ("one two" if cut else "one two three four")


def test_an_item_that_is_not_there_is_an_error_of_the_client() -> None:
    call = conversation()
    [told] = call.handle(ev.ItemDeleted("item_x"))
    assert isinstance(told, notify.NotifyError)
    assert told.code == "item_not_found"


def test_a_client_may_put_in_as_much_as_the_limits_say() -> None:
    call = conversation()
    [told] = call.handle(ev.ItemCreated(MessageItem("item_x", "user", 51 * "x")))
    assert isinstance(told, notify.NotifyError)
    assert "limits.max_item_characters" in told.message
    assert call.history.items == []


def test_after_the_apology_the_call_ends() -> None:
    call = conversation()
    call.handle(ev.CallStarted("Hello."))
    commands = call.give_up("Sorry.", np.ones(240, np.int16))
    [play] = [one for one in commands if isinstance(one, do.Play)]
    assert do.HangUp("the upstream was given up") in call.handle(ev.PlayoutPlayed(play.response_id))


STEPS: list[Any] = [
    *(
        "connected",
        "lost",
        SPEAKS,
        STOPS,
        ev.SpeechRequested("Wait."),
        ev.ReplyRequested("Ask."),
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
            commands = call.take(step)
        else:
            commands = call.handle(step)
        asked += kinds(commands).count("response.create")
        assert asked <= 1
