"""Data that the LLM server attached to its words and calls is returned unchanged in later prompts."""

from __future__ import annotations

from call_settings import call_settings
from call_world import CallWorld
from logged_call import log_of

from llmcore.engine import Message, Tool, ToolCall, Usage
from voiceagent.calls.log.event_log import read_log
from voiceagent.calls.replaying.replay import replay
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.settings import AgentTool

OPAQUE = '{"server": "https://llm.example", "message": {"signature": "S"}}'
BOOK = AgentTool(Tool("book", "Books a table."))


def newest_prompt(world: CallWorld) -> tuple[Message, ...]:
    starts = [command for command in world.commands if isinstance(command, do.StartResponse)]
    return starts[-1].request.messages


def called() -> CallWorld:
    """Return a call after a tool ran, with the model asked about its result."""
    world = CallWorld(call_settings(agent_tools=(BOOK,)))
    world.say("book a table please")
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("book_1", "book", "{}", OPAQUE),)))
    world.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage()))
    world.play_out(response_id)
    world.feed(ev.ToolFinished("book_1", "done", "table 4"))
    return world


def test_what_came_with_a_call_is_with_it_in_the_next_prompt() -> None:
    calls = [call for message in newest_prompt(called()) for call in message.tool_calls]
    assert [call.opaque for call in calls] == [OPAQUE]


def test_what_came_with_words_is_with_them_in_the_next_prompt() -> None:
    world = CallWorld()
    world.say("is there parking")
    response_id = world.response_id()
    world.make("Yes.", opaque=OPAQUE)
    world.play_out(response_id)
    world.say("is it free")
    answers = [message for message in newest_prompt(world) if message.role == "assistant"]
    assert answers == [Message("assistant", "Yes.", opaque=OPAQUE)]


def test_a_call_is_replayed_with_what_goes_back() -> None:
    log = read_log(log_of(called()))
    assert OPAQUE in [
        call["opaque"]
        for record in log.records
        for command in record.commands
        if command["type"] == "StartResponse"
        for message in command["request"]["messages"]
        for call in message["tool_calls"]
    ]
    assert replay(log) is None
