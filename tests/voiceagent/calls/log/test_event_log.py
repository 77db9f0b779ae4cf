"""The lines of a call's log: what they hold, what is left out of them, and what becomes of broken ones."""

from __future__ import annotations

import pytest
from call_settings import call_settings, turn_detection
from call_world import CallWorld
from logged_call import log_of

from llmcore.engine import ToolCall
from voiceagent.calls.log.codec import Inline, encode
from voiceagent.calls.log.event_log import LogError, read_log
from voiceagent.calls.log.texts import REMEMBERED_TEXTS, TextTable, Words, redacted
from voiceagent.conversation import events as ev
from voiceagent.conversation.end_of_turn.probability import WEIGHTS
from voiceagent.conversation.history import MessageItem, ToolOutputItem

SECRETS = ("Marlowe", "4711", "555-0100", "Rosebud", "wharf")


def confiding_call() -> CallWorld:
    """The caller says secrets in every possible way."""
    world = CallWorld()
    world.feed(ev.CallStarted("Welcome to the wharf."))
    world.feed(ev.ItemCreated(MessageItem("i1", "system", "The caller is 555-0100.")))
    world.say("my name is Marlowe")
    world.make("Thank you, Marlowe.")
    response_id = world.response_id()
    world.play_out(response_id)
    world.say("my room is 4711")
    world.feed(ev.ToolCallsReady(world.response_id(), (ToolCall("c1", "find_room", '{"room": 4711}'),)))
    world.feed(ev.ItemCreated(ToolOutputItem("i2", "c1", "Rosebud")))
    return world


def test_a_log_keeps_the_words_by_default():
    log = log_of(confiding_call()).decode()
    assert all(secret in log for secret in SECRETS)


@pytest.mark.parametrize("words", ["redact", "omit"])
def test_a_log_without_words_holds_none_of_what_was_said(words: Words):
    log = log_of(confiding_call(), words).decode()
    assert not [secret for secret in SECRETS if secret in log]
    assert "find_room" in log  # a function's name is no person's


@pytest.mark.parametrize("words", ["redact", "omit"])
def test_why_a_turn_ended_is_told_without_its_words(words: Words):
    world = CallWorld(call_settings(turn_detection=turn_detection(kind="semantic_vad")))
    world.say("my name is Marlowe")
    log = read_log(log_of(world, words))
    commands = [command for record in log.records for command in record.commands]
    decision = next(c["decision"] for c in commands if c["type"] == "RequireSilence")
    assert {name for name, _ in decision["witnesses"]} <= WEIGHTS.keys()
    assert "bias" in dict(decision["witnesses"])


def test_what_is_redacted_keeps_its_shape():
    assert redacted("Room 12, Mr. Ünal!") == "Xxxx 00, Xx. Xxxx!"


def test_a_log_without_words_can_be_read():
    log = read_log(log_of(confiding_call(), "omit"))
    assert [type(record.event) for record in log.records] == [
        type(step.event) for step in confiding_call().steps
    ]


def test_a_text_is_written_again_when_long_not_used():
    table = TextTable("keep")
    first = table.written("hello")
    assert table.written("hello") == first
    assert table.take_new() == {"1": "hello"}
    for number in range(REMEMBERED_TEXTS):
        table.written(str(number))
    table.take_new()
    assert table.written("hello") != first
    assert list(table.take_new().values()) == ["hello"]


@pytest.mark.parametrize(
    ("former", "event"),
    [
        (b'"type":"TurnEndTold"', ev.TurnEndScored("item_1", "I am coming", -0.5)),
        (b'"type":"UpstreamTold","name":"lost","told":', ev.UpstreamEvent("lost", "{}")),
    ],
)
def test_events_are_read_by_their_former_names(former: bytes, event: ev.Event):
    world = CallWorld()
    world.feed(event)
    newer = former.replace(b"TurnEndTold", b"TurnEndScored").replace(b"UpstreamTold", b"UpstreamEvent")
    newer = newer.replace(b'"told"', b'"body"')
    log = log_of(world)
    assert newer in log
    (record,) = read_log(log.replace(newer, former)).records
    assert encode(record.event, Inline()) == encode(event, Inline())


def test_commands_are_read_with_the_present_names_of_their_fields():
    log = log_of(confiding_call())
    older = log.replace(b'"out_of_band":', b'"beside":')
    assert older != log
    assert [r.commands for r in read_log(older).records] == [r.commands for r in read_log(log).records]


def test_half_a_last_line_is_left_out():
    whole = log_of(confiding_call())
    assert len(read_log(whole[:-1]).records) == len(read_log(whole).records)
    assert read_log(whole).ended is not None
    assert read_log(whole[:-1]).ended is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "there is not one whole line"),
        (b'{"log":9}\n', "log is 9; allowed: 1"),
        (b"[]\n", "log is None"),
        (b"what\n", "line 1: this is no JSON"),
    ],
)
def test_what_is_no_log_is_refused_with_its_line(data: bytes, message: str):
    with pytest.raises(LogError, match=message):
        read_log(data, "call_1.jsonl")


def test_a_broken_line_in_the_middle_is_named():
    lines = log_of(confiding_call()).splitlines(keepends=True)
    lines[2] = b'{"n":2,"s":1,"heard_s":1,"event":{"type":"Shouted"},"ids":[],"commands":[]}\n'
    with pytest.raises(LogError, match=r"call_1\.jsonl, line 3: type 'Shouted'"):
        read_log(b"".join(lines), "call_1.jsonl")
