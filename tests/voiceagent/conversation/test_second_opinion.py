"""The recognizer's second opinion of a turn that is over."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings
from call_world import POLICY, CallWorld, of

from llmcore.engine import Tool, ToolCall
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem


def said_by_the_caller(world: CallWorld) -> list[str]:
    items = world.conversation.history.items
    return [item.text for item in items if isinstance(item, MessageItem) and item.role == "user"]


def asked() -> tuple[CallWorld, str]:
    """A question that was answered, and its item."""
    world = CallWorld(policy=replace(POLICY, prefill_while_speaking=True))
    world.say("do you have a pull", at_s=1.0)
    world.make("Yes, we have a pool.")
    return world, of(notify.NotifyInputCommitted, world.commands)[-1].item_id


def test_its_words_replace_those_of_the_history_and_are_prefilled() -> None:
    world, item_id = asked()
    commands = world.feed(ev.TranscriptRevised(item_id, "do you have a pool"))
    assert said_by_the_caller(world) == ["do you have a pool"]
    assert of(notify.NotifyTranscriptRevised, commands) == [
        notify.NotifyTranscriptRevised(item_id, "do you have a pool")
    ]
    assert "do you have a pool" in str(of(do.Prefill, commands)[0].messages)


def test_it_takes_back_no_response() -> None:
    world, item_id = asked()
    commands = world.feed(ev.TranscriptRevised(item_id, "do you have a pool"))
    assert {type(command) for command in commands} == {notify.NotifyTranscriptRevised, do.Prefill}


def test_the_same_words_change_nothing() -> None:
    world, item_id = asked()
    assert world.feed(ev.TranscriptRevised(item_id, "do you have a pull")) == []


def test_it_is_too_late_once_the_caller_speaks_again() -> None:
    """The LLM prefills the old words for the next turn."""
    world, item_id = asked()
    world.begin_speaking(9.0)
    assert world.feed(ev.TranscriptRevised(item_id, "do you have a pool")) == []
    assert said_by_the_caller(world) == ["do you have a pull"]


def test_it_is_too_late_after_the_next_turn() -> None:
    world, item_id = asked()
    world.say("and a sauna", at_s=9.0)
    assert world.feed(ev.TranscriptRevised(item_id, "do you have a pool")) == []


def test_it_does_not_change_the_prompt_of_a_tool_s_result() -> None:
    world = CallWorld(call_settings(tools=(Tool("look_up", "Look it up."),)))
    world.say("do you have a pull", at_s=1.0)
    item_id = of(notify.NotifyInputCommitted, world.commands)[-1].item_id
    world.feed(ev.ToolCallsReady(world.response_id(), (ToolCall("call_1", "look_up", "{}"),)))
    assert world.feed(ev.TranscriptRevised(item_id, "do you have a pool")) == []


def test_turns_that_were_resumed_get_their_parts() -> None:
    world = CallWorld()
    world.say("do you have a pull or", at_s=1.0)
    world.make("Yes, we have a pool.")
    item_id = world.begin_speaking(2.6)
    world.pause(item_id, "a sour now", 3.6)
    world.feed(ev.TurnEnded(3.6))
    world.feed(ev.TranscriptRevised(item_id, "a sauna", ("do you have a pool or",)))
    assert said_by_the_caller(world) == ["do you have a pool or", "a sauna"]


def test_turns_without_words_stay_without() -> None:
    """Their words were the agent's own, as its echo, or hesitations."""
    world = CallWorld()
    world.say("", at_s=1.0)
    item_id = of(notify.NotifyInputCommitted, world.commands)[-1].item_id
    assert world.feed(ev.TranscriptRevised(item_id, "we have a pool")) == []


def test_deleted_items_stay_deleted() -> None:
    world, item_id = asked()
    world.feed(ev.ItemDeleted(item_id))
    assert world.feed(ev.TranscriptRevised(item_id, "do you have a pool")) == []
