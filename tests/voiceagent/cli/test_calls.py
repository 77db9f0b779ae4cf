"""Kept calls on the command line."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld
from fixed_config import write_config
from kept_folder import begin, conversation, keep_calls, keep_one, store_of
from logged_call import log_of

from llmcore.engine import Tool, ToolCall, Usage
from voiceagent.cli.main import main
from voiceagent.conversation import call_events
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.latency import TurnCounts, TurnReport
from voiceagent.conversation.settings import AgentTool
from voiceagent.transports.telephony.outbound.policies.limits import DialLimits
from voiceagent.transports.telephony.outbound.policies.progress import OutboundCall
from voiceagent.transports.telephony.outbound.store import OutboundStore

ENGINES = "".join(f'[{stage}]\nengine = "x:X"\n' for stage in ("recognizer", "llm", "synthesizer"))
OTHER_POLICY = (
    f'"preemptive_attempts":{POLICY.preemptive_attempts}'.encode(),
    b'"preemptive_attempts":0',
)
"""What stands in a log, and what makes its call depart."""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "kept.toml"
    path.write_text(f'{ENGINES}[calls]\nfolder = "./kept"\n')
    return path


def run(config: Path, *words: str | Path) -> int:
    return main([*map(str, words), "--config", str(config)])


def test_calls_are_listed(config: Path, capsys):
    keep_one(config.parent / "kept")
    assert run(config, "calls", "list", "--json") == 0
    (call,) = json.loads(capsys.readouterr().out)["calls"]
    assert (call["call_id"], call["state"]) == ("call_1", "ended")
    assert run(config, "calls", "list") == 0
    assert "call_1" in capsys.readouterr().out


def test_a_call_is_found_by_what_its_phone_line_told_and_shown_with_it(config: Path, capsys):
    kept = keep_calls(config.parent / "kept")
    for name, caller in (("call_1", "+15550100"), ("call_2", "+15550123")):
        call = begin(kept, name)
        call.on_event(call_events.CallIdentified("CA" + name, {"from": caller}))
        call.on_event(call_events.CallEnded("the caller hung up", ()))
    kept.close()
    for told in ("+15550123", "CAcall_2"):
        assert run(config, "calls", "list", "--json", "--provider-value", told) == 0
        assert [call["call_id"] for call in json.loads(capsys.readouterr().out)["calls"]] == ["call_2"]
    assert run(config, "calls", "show", "call_2") == 0
    assert "phone provider: line_call CAcall_2, from +15550123" in capsys.readouterr().out


def test_the_ids_of_calls_are_whole_however_narrow_the_terminal_is(config: Path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    keep_one(config.parent / "kept", "sess_0fdef2f15d024e678192")
    assert run(config, "calls", "list") == 0
    assert "sess_0fdef2f15d024e678192" in capsys.readouterr().out


def test_a_terminal_of_80_columns_has_the_columns_of_the_list_that_can_be_read(
    config: Path, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    keep_one(config.parent / "kept", "sess_0fdef2f15d024e678192")
    assert run(config, "calls", "list") == 0
    listed = capsys.readouterr().out
    assert "…" not in listed
    assert all(len(line) <= 80 for line in listed.splitlines())
    (row,) = [line for line in listed.splitlines() if "sess_0fdef2f15d024e678192" in line]
    assert "ended" in row
    assert "ms" not in row  # nobody waited
    assert "wait" in listed
    assert "responses" in listed
    assert "left out in 80 columns, and in --json: seconds, cut, failures, KiB" in listed


def test_what_is_no_terminal_has_all_columns_of_the_list(config: Path, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    keep_one(config.parent / "kept", "sess_0fdef2f15d024e678192")
    assert run(config, "calls", "list") == 0
    listed = capsys.readouterr().out
    assert "KiB" in listed
    assert "left out" not in listed


def test_a_call_is_shown(config: Path, capsys):
    keep_one(config.parent / "kept")
    assert run(config, "calls", "show", "call_1") == 0
    assert "the caller hung up" in capsys.readouterr().out
    assert run(config, "calls", "show", "call_1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["responses"] == []


def test_what_the_caller_did_not_hear_is_marked_where_nothing_can_be_struck_through(
    config: Path, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    world = CallWorld(played_s=0.4)
    world.say("is there a pool")
    world.make("Yes, there is.")
    world.begin_speaking(5.0)
    world.feed(ev.InterruptionConfirmed(6.0))
    kept = keep_calls(config.parent / "kept")
    writing = kept.keep("call_1", world.settings, POLICY, 16_000)
    for step in world.steps:
        writing.on_event(call_events.EventHandled(step.event, 1.0, step.ids, step.commands))
    writing.on_event(call_events.ResponseDone(TurnReport("item_1", "interrupted", (), (), TurnCounts())))
    writing.on_event(call_events.CallEnded("the caller hung up", world.conversation.history.items))
    kept.close()
    assert run(config, "calls", "show", "call_1") == 0
    assert "Yes, [not heard: there is.]" in capsys.readouterr().out


def test_what_was_typed_what_tools_did_and_what_failed_is_shown(config: Path, capsys, monkeypatch):
    world = CallWorld(settings=call_settings(agent_tools=(AgentTool(Tool("book", "")),)))
    world.feed(ev.CallStarted())
    world.feed(ev.ItemCreated(MessageItem("item_1", "user", "a room please")))
    world.feed(ev.ResponseRequested())
    call = ToolCall("call_t", "bok", "{}")
    world.feed(ev.ToolCallsReady(world.response_id(), (call,)))
    world.feed(ev.ResponseFailed(world.response_id(), "llm", "it is gone"))
    world.feed(ev.HookFailed("on_turn", "shop.py:41, in on_turn", "KeyError: 'pizza'"))
    kept = keep_calls(config.parent / "kept")
    writing = kept.keep("call_1", world.settings, POLICY, 16_000)
    for step in world.steps:
        writing.on_event(call_events.EventHandled(step.event, 1.0, step.ids, step.commands))
    writing.on_event(call_events.CallEnded("the caller hung up", []))
    kept.close()
    monkeypatch.setenv("COLUMNS", "200")
    assert run(config, "calls", "list") == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "call_1" in line]
    assert row.split("│")[7].strip() == "2"  # the engine's and the tool's
    assert run(config, "calls", "show", "call_1") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "typed: a room please" in shown
    assert "tool bok({}): failed" in shown
    assert "there is no tool 'bok'; allowed: book" in shown
    assert "failed: llm: it is gone" in shown
    assert "the agent's on_turn failed at shop.py:41, in on_turn: KeyError: 'pizza'" in shown


def test_typed_text_that_was_answered_is_not_where_a_lost_call_broke_off(config: Path, capsys, monkeypatch):
    world = CallWorld()
    world.feed(ev.CallStarted())
    for text, answer in (("a room please", "Gladly."), ("for two", "")):
        world.feed(ev.ItemCreated(MessageItem(f"item_{text}", "user", text)))
        if answer:
            world.feed(ev.ResponseRequested())
            world.play_out(world.make(answer))
    kept = keep_calls(config.parent / "of the process")
    writing = kept.keep("call_1", world.settings, POLICY, 16_000)
    for step in world.steps:
        writing.on_event(call_events.EventHandled(step.event, 1.0, step.ids, step.commands))
    kept.close()  # without the end of the call
    (day,) = (config.parent / "of the process").glob("*-*-*")
    shutil.copytree(day, config.parent / "kept" / day.name)
    keep_calls(config.parent / "kept").close()
    monkeypatch.setenv("COLUMNS", "200")
    assert run(config, "calls", "show", "call_1") == 0
    shown = capsys.readouterr().out
    assert "broken off in this turn of the caller: for two" in shown
    assert "broken off in this turn of the caller: a room" not in shown


def test_a_response_that_only_calls_a_tool_is_shown_with_its_name(config: Path, capsys, monkeypatch):
    tools = (AgentTool(Tool("book", "")), AgentTool(Tool("look", "")))
    world = CallWorld(settings=call_settings(agent_tools=tools))
    world.feed(ev.CallStarted())
    world.feed(ev.ItemCreated(MessageItem("item_1", "user", "a room please")))
    world.feed(ev.ResponseRequested())
    calls = (ToolCall("call_t", "book", "{}"), ToolCall("call_u", "look", "{}"))
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, calls))
    world.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    world.play_out(response_id)
    kept = keep_calls(config.parent / "kept")
    writing = kept.keep("call_1", world.settings, POLICY, 16_000)
    for step in world.steps:
        writing.on_event(call_events.EventHandled(step.event, 1.0, step.ids, step.commands))
    writing.on_event(call_events.ResponseDone(TurnReport("resp_1", "completed", (), (), TurnCounts())))
    writing.on_event(call_events.CallEnded("the caller hung up", []))
    kept.close()
    monkeypatch.setenv("COLUMNS", "200")
    assert run(config, "calls", "show", "call_1") == 0
    assert "(calls book, look)" in capsys.readouterr().out


def test_a_call_tells_why_a_turn_of_the_caller_ended_when_it_did(config: Path, capsys):
    world = CallWorld(call_settings(turn_detection=turn_detection("semantic_vad")))
    world.feed(ev.CallStarted())
    world.say("is there a pool")
    kept = keep_calls(config.parent / "kept")
    writing = kept.keep("call_1", world.settings, POLICY, 16_000)
    for step in world.steps:
        writing.on_event(call_events.EventHandled(step.event, 1.0, step.ids, step.commands))
    writing.on_event(call_events.CallEnded("the caller hung up", []))
    kept.close()
    assert run(config, "calls", "show", "call_1") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "ms after its last audio: end-of-turn probability " in shown
    assert "ms of silence; " in shown
    assert "up to 400 ms more while its answer had no audio: is there a pool" in shown


def test_words_that_look_like_markup_or_move_the_cursor_are_shown_as_they_are(config: Path, capsys):
    kept = keep_calls(config.parent / "kept")
    kept.keep("call_1", call_settings(), POLICY, 16_000).on_event(call_events.CallEnded("[/b]\x1b[2J", []))
    kept.close()
    assert run(config, "calls", "show", "call_1") == 0
    assert "[/b]\\x1b[2J" in capsys.readouterr().out


def test_an_exported_call_replays_from_its_zip(config: Path, capsys):
    keep_one(config.parent / "kept")
    out = config.parent / "call.zip"
    assert run(config, "calls", "export", "call_1", "--out", out) == 0
    assert set(zipfile.ZipFile(out).namelist()) == {"call.json", "log.jsonl"}
    assert run(config, "replay", out) == 0
    assert "the same commands" in capsys.readouterr().out


def test_a_deleted_call_leaves_no_trace(config: Path):
    kept = config.parent / "kept"
    keep_one(kept)
    assert run(config, "calls", "delete", "call_1") == 0
    assert not store_of(kept).newest()
    assert not list(kept.rglob("log*"))


def test_a_deleted_call_that_the_server_placed_leaves_no_number(config: Path):
    keep_one(config.parent / "kept")
    outbound = OutboundStore(config.parent / "outbound.sqlite")
    placed = OutboundCall("call_1", "+15550123456", "+15550100000", "twilio")
    outbound.add(placed, DialLimits(("+1555",)), "", "")
    assert run(config, "calls", "delete", "call_1") == 0
    assert outbound.find("call_1") is None
    outbound.close()


def test_a_call_that_goes_on_is_not_deleted(config: Path, capsys):
    kept = keep_calls(config.parent / "kept")
    begin(kept)
    while not list(config.parent.rglob("log.jsonl")):
        pass
    assert run(config, "calls", "delete", "call_1") == 1
    assert "goes on" in capsys.readouterr().err
    kept.close()


@pytest.mark.parametrize(
    "words", [*[("calls", what, "call_9") for what in ("show", "delete", "play")], ("replay", "call_9")]
)
def test_a_call_that_is_not_kept_is_named(config: Path, words, capsys):
    keep_one(config.parent / "kept")
    assert run(config, *words) == 1
    assert "no call 'call_9' is kept" in capsys.readouterr().err


def test_where_no_calls_are_kept_the_key_is_named(config: Path, capsys):
    config.write_text(ENGINES)
    assert run(config, "calls", "list") == 2
    assert "calls.folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"), [(["nowhere"], "nowhere: no such folder"), ([], "keeps no calls")]
)
def test_a_score_of_no_kept_calls_says_where_there_may_be_some(words, named, config: Path, capsys):
    keep_one(config.parent / "of_another_configuration")
    config.write_text(ENGINES)
    assert run(config, "score", *words) == 1
    error = capsys.readouterr().err
    assert named in error
    assert "allowed: a folder of kept calls" in error


def test_a_call_that_departs_is_exit_1_with_that_event(config: Path, capsys):
    world = CallWorld()
    world.say("is there a pool")
    log = config.parent / "log.jsonl"
    log.write_bytes(log_of(world).replace(*OTHER_POLICY))
    assert run(config, "replay", log) == 1
    told = capsys.readouterr()
    assert '-{"type":"StartResponse"' in told.out
    assert "departs at event 3" in told.err


def test_a_folder_of_logs_is_replayed(config: Path, capsys):
    keep_one(config.parent / "kept", "call_1")
    keep_one(config.parent / "kept", "call_2")
    assert run(config, "replay", "--all", config.parent, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["calls"], told["failures"]) == (2, {})
    bad = config.parent / "bad.jsonl"
    bad.write_bytes(log_of(conversation()).replace(*OTHER_POLICY))
    assert run(config, "replay", "--all", config.parent) == 1
    assert "1 of 3 calls do not replay" in capsys.readouterr().err


def test_what_would_have_been_is_shown_turn_by_turn(config: Path, capsys):
    keep_one(config.parent / "kept")
    words = ("replay", "call_1", "--set", "turn.preemptive_attempts=0", "--recorded", "--json")
    assert run(config, *words) == 0
    told = json.loads(capsys.readouterr().out)
    assert [turn["said"] for turn in told["before"]["turns"]] == ["is there a pool"]
    assert told["same_requests"] + told["other_requests"] > 0


@pytest.mark.parametrize("changed", ["agent.instructions='Be brief.'", "llm.ttft_s=0.01"])
def test_what_was_not_asked_in_the_call_the_configured_engines_answer(tmp_path: Path, changed: str, capsys):
    fixed = write_config(tmp_path)
    fixed.write_text(fixed.read_text().replace("ttft_s = 0.1", 'ttft_s = 0.1\nresponse = "Up there."'))
    log = tmp_path / "log.jsonl"
    log.write_bytes(log_of(conversation()))
    assert run(fixed, "replay", log, "--set", changed, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [turn["answered"] for turn in told["before"]["turns"]] == ["Yes, there is."]
    assert [turn["answered"] for turn in told["after"]["turns"]] == ["Up there."]
    assert told["live_requests"] > 0


def test_a_call_without_other_requests_needs_no_engines(config: Path, capsys):
    keep_one(config.parent / "kept")
    words = ("replay", "call_1", "--set", "turn.preemptive_attempts=0", "--json")
    assert run(config, *words) == 0
    assert json.loads(capsys.readouterr().out)["live_requests"] == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("turn.threshold=0.7", "changes nothing that a conversation decides"),
        ("turn.silence_s", "allowed: TABLE.KEY=VALUE"),
        ("turn.silence_s=soon", "is no value of TOML"),
        (
            "turn.eagerness=high",
            "a text has its own quotes, and the shell's around them: 'turn.eagerness=\"high\"'",
        ),
        ("turn.patience=1", "unknown key"),
    ],
)
def test_what_cannot_be_set_is_named(config: Path, given: str, message: str, capsys):
    keep_one(config.parent / "kept")
    assert run(config, "replay", "call_1", "--set", given) in {1, 2}
    assert message in capsys.readouterr().err


def test_an_event_from_which_nothing_follows_is_refused(config: Path, capsys):
    keep_one(config.parent / "kept")
    words = ("replay", "call_1", "--set", "turn.preemptive_attempts=0", "--from", "999")
    assert run(config, *words) == 1
    assert "no event 999" in capsys.readouterr().err
