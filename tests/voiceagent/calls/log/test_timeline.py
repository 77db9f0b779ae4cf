"""A call as it is drawn: from the lines of its log, all at once or as they come."""

from __future__ import annotations

import json
from typing import Any

import pytest
from call_settings import call_settings, turn_detection
from call_world import CallWorld
from hypothesis import given
from hypothesis import strategies as st
from kept_folder import conversation
from logged_call import log_of, reported, reported_at_the_end

from llmcore.engine import Tool, ToolCall
from voiceagent.calls.log.entries import (
    CallIdentified,
    Fact,
    HeardText,
    LoopStalled,
    RecordingBegan,
    SilentSpan,
    SoundSpan,
)
from voiceagent.calls.log.event_log import LogError, LogWriter
from voiceagent.calls.log.logged_speech import logged_speech
from voiceagent.calls.log.texts import Words
from voiceagent.calls.log.timeline import Timeline
from voiceagent.calls.summary import summarise
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.settings import AgentTool


def drawn(data: bytes) -> dict[str, Any]:
    """The whole call."""
    timeline = Timeline()
    for line in data.splitlines():
        timeline.add_line(line)
    return timeline.changes()


def with_entries(data: bytes, *entries: Any, at: int = 1) -> bytes:
    """The log with these lines in it, in front of line `at`."""
    writer = LogWriter()
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:at], *(writer.entry(entry) for entry in entries), *lines[at:]])


def test_the_wait_is_one_number_in_timeline_summary_and_scores():
    data = reported(conversation())
    *_, answer = drawn(data)["responses"]
    assert answer["report"]["wait_ms"] == 200.0
    assert summarise(data).turns[-1].waited_us == 200_000
    assert logged_speech(data).waits_s[-1] == 0.2


def test_turns_and_responses_have_their_words_and_whose_they_are():
    call = drawn(reported(conversation()))
    (turn,) = call["turns"]
    greeting, answer = call["responses"]
    assert (turn["said"], turn["ended_by"]) == ("is there a pool", "silence")
    assert 0 < turn["began_s"] <= turn["ended_s"] <= turn["decided_s"]
    assert (greeting["turn_id"], greeting["heard"]) == (None, "Hello.")
    assert (answer["turn_id"], answer["written"]) == (turn["turn_id"], "Yes, there is.")
    assert answer["report"]["stages"][0]["ms"] == 200.0
    assert call["call"]["reason"] == "the caller hung up"
    assert (call["call"]["end_code"], turn["end_code"]) == ("caller_hung_up", "silence")
    assert (greeting["interrupted_by"], answer["interrupted_by"]) == ("", "")


def test_typed_text_is_answered_by_the_next_response_to_the_conversation():
    world = CallWorld()
    world.feed(ev.ItemCreated(MessageItem("item_1", "user", "a room please")))
    world.feed(ev.SpeechRequested("One moment."))
    world.play_out(world.make("One moment."))
    for text in ("Gladly.", "Anything else?"):
        world.feed(ev.ResponseRequested())
        world.play_out(world.make(text))
    answered = {one["written"]: one["turn_id"] for one in drawn(reported(world))["responses"]}
    assert answered["Gladly."] == "item_1"
    assert (answered["One moment."], answered["Anything else?"]) == (None, None)


def test_interrupted_response_has_its_cause_also_after_its_last_audio_was_sent():
    for sent in (False, True):
        world = conversation()
        world.say("is there a pool", 10.0)
        response_id = world.make("Yes, there is.")
        if sent:
            world.feed(ev.PlayoutSent(response_id))
        world.begin_speaking(20.0)
        world.feed(ev.InterruptionConfirmed(20.6))
        response = drawn(log_of(world))["responses"][-1]
        assert (response["status"], response["interrupted_by"]) == (
            "completed" if sent else "cancelled",
            "duration",
        )


@pytest.mark.parametrize(
    ("words", "told"), [("keep", {"line_call": "CA12", "from": "+15550100"}), ("omit", {"line_call": "CA12"})]
)
def test_what_the_phone_line_told_is_told_of_the_call_and_nobody_typed_it(words: Words, told: dict[str, str]):
    world = CallWorld()
    about = MessageItem("made_1", "user", '[About this call: {"from": "+15550100"}]', by_line=True)
    world.feed(ev.ItemCreated(about))
    identified = LogWriter(words).entry(CallIdentified("CA12", (Fact("from", "+15550100"),)))
    world.feed(ev.CallStarted())
    world.feed(ev.ItemCreated(MessageItem("made_2", "user", "a room please")))
    lines = log_of(world, words).splitlines(keepends=True)
    call = drawn(b"".join([*lines[:2], identified, *lines[2:]]))
    assert call["call"]["provider_data"] == told
    assert [(turn["turn_id"], turn["ended_by"]) for turn in call["turns"]] == [("made_2", "typed")]


def test_requests_of_clients_are_told_with_the_sideband_that_made_them():
    world = CallWorld()
    world.feed(ev.CallStarted())
    world.feed(ev.SettingsChanged(call_settings(instructions="Be kind."), sideband=2))
    world.feed(ev.ResponseRequested())
    asked = drawn(log_of(world))["requests"]
    assert [(one["request"], one["sideband"]) for one in asked] == [
        ("session.update", 2),
        ("response.create", 0),
    ]


def test_a_hook_that_failed_stands_where_it_did():
    world = conversation()
    world.feed(ev.HookFailed("on_turn", "shop.py:41, in on_turn", "KeyError: 'pizza'"))
    (hook,) = drawn(log_of(world))["failed_hooks"]
    assert hook["at_s"] > 0
    told = {"name": "on_turn", "place": "shop.py:41, in on_turn", "reason": "KeyError: 'pizza'"}
    assert {key: hook[key] for key in told} == told


def test_what_was_not_heard_is_known_as_soon_as_it_is_told():
    data = log_of(conversation())
    answer = drawn(data)["responses"][-1]
    lines = map(json.loads, data.splitlines())
    commands = [command for line in lines for command in line.get("commands", ())]
    item_id = [c["item_id"] for c in commands if c["type"] == "NotifyResponseText"][-1]
    goes_on = data.splitlines(keepends=True)[:-1]
    cut = with_entries(b"".join(goes_on), HeardText(item_id, "Yes,"), at=len(goes_on))
    call = drawn(cut)
    assert call["call"]["reason"] is None
    assert call["responses"][-1]["heard"] == "Yes,"
    assert answer["heard"] == "Yes, there is."


def test_a_response_that_the_caller_hung_up_on_ended_with_the_call():
    world = CallWorld()
    world.feed(ev.CallStarted())
    world.say("is there a pool")
    assert drawn(log_of(world))["responses"][-1]["status"] == "hung_up"


def test_a_response_that_was_heard_when_the_caller_hung_up_has_its_stages():
    world = CallWorld()
    world.feed(ev.CallStarted())
    world.say("is there a pool")
    response_id = world.make("Yes, there is.")
    world.feed(ev.CallerGone(response_id, 1.0))
    answer = drawn(reported_at_the_end(world, "item_1", response_id))["responses"][-1]
    assert (answer["status"], answer["report"]["outcome"]) == ("hung_up", "hung_up")
    assert [stage["ms"] for stage in answer["report"]["stages"]] == [200.0, 300.0]


@pytest.mark.parametrize("sent", [False, True])
def test_of_what_the_call_ended_in_the_words_heard_are_known(sent: bool):
    world = CallWorld()
    world.feed(ev.CallStarted())
    world.say("is there a pool")
    response_id = world.make("Yes, there is.", " It is heated.")
    if sent:
        world.feed(ev.PlayoutSent(response_id))
    world.feed(ev.CallerGone(response_id, 1.0))
    answer = drawn(log_of(world))["responses"][-1]
    assert (answer["status"], answer["heard"]) == ("completed" if sent else "hung_up", "Yes, there is.")


def test_a_log_without_what_was_played_at_the_end_does_not_tell_it():
    world = CallWorld()
    world.feed(ev.CallStarted())
    world.say("is there a pool")
    response_id = world.make("Yes, there is.")
    playing = drawn(log_of(world))["responses"][-1]
    assert (playing["status"], playing["heard"]) == ("hung_up", None)
    world.feed(ev.PlayoutSent(response_id))
    sent = drawn(log_of(world))["responses"][-1]
    assert (sent["status"], sent["heard"]) == ("completed", None)


def test_a_response_that_the_caller_never_knew_of_is_left_out():
    world = CallWorld()
    world.feed(ev.CallStarted())
    world.pause(world.begin_speaking(), "is there", at_s=2.0)
    world.feed(ev.SpeechResumed(2.1))
    assert drawn(log_of(world))["responses"] == []


def test_sound_stands_where_the_recording_has_it_and_what_comes_behind_a_silence_later():
    data = log_of(conversation())
    response_id = drawn(data)["responses"][0]["response_id"]
    (before,) = drawn(with_entries(data, RecordingBegan(1_000)))["turns"]
    recorded = with_entries(data, RecordingBegan(1_000), SilentSpan(500, 3_500))
    call = drawn(with_entries(recorded, SoundSpan(response_id, 250, 1_250), at=len(data.splitlines())))
    assert call["responses"][0]["sound"] == [[0.25, 1.25]]
    assert call["turns"][0]["began_s"] == before["began_s"] + 3.0
    assert call["call"]["rate_hz"] == 1_000


def test_a_stall_of_the_event_loop_stands_where_it_began():
    (stall,) = drawn(with_entries(log_of(conversation()), LoopStalled(103.5, 0.25)))["stalls"]
    assert stall == {"at_s": 3.25, "lag_ms": 250.0}


def test_what_the_page_measured_stands_at_its_turn():
    world = conversation()
    turn_id = drawn(log_of(world))["turns"][0]["turn_id"]
    world.feed(ev.PlayoutMeasured(turn_id, jitter_ms=40.0))
    world.feed(ev.PlayoutMeasured("item_of_nobody", jitter_ms=1.0))
    (turn,) = drawn(log_of(world))["turns"]
    assert turn["playout"] == {"line_ms": None, "jitter_ms": 40.0, "output_ms": None, "heard_ms": None}


def test_a_tool_has_what_it_was_given_and_what_came_of_it():
    world = CallWorld()
    world.feed(ev.CallStarted())
    world.say("book it")
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("call_t", "book", '{"room": 1}'),)))
    (running,) = drawn(log_of(world))["tools"]
    assert (running["ended_s"], running["outcome"]) == (None, "")
    world.feed(ev.ToolFinished("call_t", "failed", "there is none"))
    (tool,) = drawn(log_of(world))["tools"]
    assert (tool["name"], tool["arguments"]) == ("book", '{"room": 1}')
    assert (tool["outcome"], tool["output"]) == ("failed", "there is none")
    assert tool["ended_s"] > tool["began_s"]


BOOK = AgentTool(Tool("book", ""))


def paused(words: str) -> tuple[CallWorld, str]:
    """A call whose caller has paused, with a response begun ahead, and the id of his turn."""
    settings = call_settings(agent_tools=(BOOK,), turn_detection=turn_detection("semantic_vad"))
    world = CallWorld(settings)
    world.feed(ev.CallStarted())
    item_id = world.begin_speaking(1.0)
    world.pause(item_id, words, 2.0)
    return world, item_id


def test_a_tool_that_was_called_in_a_pause_took_the_time_in_which_it_ran():
    world, _ = paused("book it")
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("call_t", "book", "{}"),)))
    assert drawn(log_of(world))["tools"] == []  # nothing runs in a pause
    world.feed(ev.ResponseGenerated(response_id, "tool_calls", world.usage))
    world.feed(ev.TurnEnded(2.0))
    world.feed(ev.ToolFinished("call_t", "done", "booked"))
    call = drawn(log_of(world))
    (tool,), (turn,) = call["tools"], call["turns"]
    assert (tool["began_s"], tool["response_id"]) == (turn["decided_s"], response_id)
    (use,) = summarise(log_of(world)).tools
    assert use.took_s == pytest.approx(tool["ended_s"] - tool["began_s"])


def test_a_tool_of_a_response_that_was_dropped_in_a_pause_was_never_called():
    world, _ = paused("book it")
    world.feed(ev.ToolCallsReady(world.response_id(), (ToolCall("call_t", "book", "{}"),)))
    world.feed(ev.SpeechResumed(2.4))
    assert drawn(log_of(world))["tools"] == []
    assert summarise(log_of(world)).tools == ()


def test_two_calls_to_which_the_engine_gave_one_id_are_two_tools():
    world, _ = paused("book two")
    world.feed(ev.TurnEnded(2.0))
    calls = ToolCall("call_0", "book", '{"room": 1}'), ToolCall("call_0", "book", '{"room": 2}')
    commands = world.feed(ev.ToolCallsReady(world.response_id(), calls))
    for command in commands:
        if isinstance(command, do.RunTool):
            world.feed(ev.ToolFinished(command.call.call_id, "done", command.call.arguments))
    tools = drawn(log_of(world))["tools"]
    assert [(tool["arguments"], tool["output"]) for tool in tools] == [
        ('{"room": 1}',) * 2,
        ('{"room": 2}',) * 2,
    ]
    assert [use.took_s is not None for use in summarise(log_of(world)).tools] == [True, True]


def test_a_tool_that_was_refused_as_a_pause_turned_out_to_be_the_end_has_failed():
    world, _ = paused("book it")
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("call_t", "bok", "{}"),)))
    world.feed(ev.TurnEnded(2.0))
    (tool,) = drawn(log_of(world))["tools"]
    assert (tool["outcome"], tool["response_id"]) == ("failed", response_id)


def test_a_turn_tells_when_its_words_were_settled_and_how_long_it_was_to_wait_for_its_answer():
    world, item_id = paused("is there a pool")
    world.feed(ev.TurnEnded(2.0))
    (turn,) = drawn(log_of(world))["turns"]
    assert turn["turn_id"] == item_id
    assert turn["began_s"] < turn["settled_s"] < turn["decided_s"]
    assert turn["end_of_turn"]["awaited_ms"] == 400.0


def test_a_tool_that_there_is_not_has_failed_with_what_the_model_was_told():
    world = CallWorld(settings=call_settings(agent_tools=(AgentTool(Tool("book", "")),)))
    world.feed(ev.CallStarted())
    world.say("book it")
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("call_t", "bok", "{}"),)))
    (tool,) = drawn(log_of(world))["tools"]
    assert (tool["outcome"], tool["output"]) == ("failed", "there is no tool 'bok'; allowed: book")
    (use,) = summarise(log_of(world)).tools
    assert (use.failed, use.took_s) == (True, 0.0)


def test_a_call_has_the_agents_that_had_it_in_order():
    world = CallWorld(settings=call_settings(agent="desk"))
    world.feed(ev.CallStarted())
    for agent in ("desk", "billing", "desk"):
        world.feed(ev.AgentChanged(agent, ()))
    assert drawn(log_of(world))["call"]["agents"] == ["desk", "billing", "desk"]


def test_an_agent_in_code_has_its_call_from_the_beginning():
    world = CallWorld()
    world.feed(ev.AgentChanged("desk", ()))
    world.feed(ev.CallStarted())
    assert drawn(log_of(world))["call"]["agents"] == ["desk"]


KEYS = {"turns": "turn_id", "responses": "response_id", "tools": "call_id", "stalls": "at_s"}


@given(st.sets(st.integers(1, 40)))
def test_changes_put_together_are_the_whole(asked_behind: set[int]):
    data = with_entries(reported(conversation()), RecordingBegan(1_000), SilentSpan(700, 900), at=6)
    timeline, known = Timeline(), {kind: {} for kind in KEYS}
    lines = data.splitlines()
    for number, line in enumerate(lines, 1):
        timeline.add_line(line)
        if number in asked_behind or number == len(lines):
            told = timeline.changes()
            for kind, key in KEYS.items():
                known[kind].update({item[key]: item for item in told[kind]})
    whole = drawn(data)
    assert told["call"] == whole["call"]
    for kind in KEYS:
        assert list(known[kind].values()) == whole[kind]


@pytest.mark.parametrize("line", [b"no JSON", b"[]", b'{"log": 99, "call_id": "x"}', b'{"n": 1}', b"{}"])
def test_what_is_no_log_is_refused(line: bytes):
    with pytest.raises(LogError):
        Timeline().add_line(line)


def test_a_log_whose_words_were_left_out_is_drawn_without_them():
    call = drawn(log_of(conversation(), "omit"))
    assert call["turns"][0]["said"] == ""
    assert call["responses"][-1]["written"] == ""
