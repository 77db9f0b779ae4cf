"""The largest conversation that a client can make costs work in proportion to its items, never more."""

from __future__ import annotations

import json

import pytest
from call_settings import call_settings
from work import calls

from llmcore.compression.prune import prune
from llmcore.engine import ToolCall
from voiceagent.conversation import events as ev
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.config import ConversationLimits, HistoryConfig, TurnConfig
from voiceagent.conversation.history import Item, MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation.prompting.items import to_messages

LIMITS = ConversationLimits()


def said(number: int) -> Item:
    return MessageItem(f"item {number}", "user", "hello " * 8)


def alternating(number: int) -> Item:
    role = "user" if number % 2 == 0 else "assistant"
    return MessageItem(f"item {number}", role, "hello " * 8)


def called(number: int) -> Item:
    return ToolCallItem(f"item {number}", ToolCall(f"call {number}", "look", "{}"))


def answered(number: int) -> Item:
    return ToolOutputItem(f"item {number}", "call 0", json.dumps({"rooms": list(range(20))}))


KINDS = (said, alternating, called, answered)


def conversation(items: list[Item]) -> Conversation:
    policy = TurnConfig().to_policy(AgentConfig(), HistoryConfig(), LIMITS)
    full = Conversation(call_settings(), policy, 24_000, lambda prefix: f"{prefix}_1")
    full.handle(ev.CallStarted(""))
    full.history.items.extend(items)
    return full


@pytest.mark.parametrize("kind", KINDS)
def test_a_response_to_twice_the_items_is_twice_the_work(kind):
    def work(count: int) -> int:
        asked = conversation([kind(number) for number in range(count)])
        return calls(lambda: asked.handle(ev.ResponseRequested()))

    assert work(LIMITS.max_items) < 2.2 * work(LIMITS.max_items // 2)
    assert work(LIMITS.max_items) < 40 * LIMITS.max_items


@pytest.mark.parametrize("kind", KINDS)
def test_one_more_item_costs_a_look_at_each(kind):
    full = conversation([kind(number) for number in range(LIMITS.max_items - 1)])
    created = ev.ItemCreated(MessageItem("new", "user", "hello"))

    assert calls(lambda: full.handle(created)) < 5 * LIMITS.max_items


def test_words_of_one_side_are_joined_once_however_many_they_are():
    items = [said(number) for number in range(4_000)]

    (message,) = to_messages(items)

    assert message.content == " ".join("hello " * 8 for _ in range(4_000))


@pytest.mark.parametrize(
    "output",
    [
        "Ab c. " * 16_000,
        "a\n" * 50_000,
        json.dumps(list(range(17_000))),
        json.dumps({str(number): "x y z" for number in range(8_000)}),
        "[" * 30_000 + "]" * 30_000,
        '{"a":' * 900 + "1" + "}" * 900,
        "a" * 100_000,
    ],
    ids=["sentences", "lines", "list", "object", "deep lists", "deep objects", "one word"],
)
def test_the_longest_tool_output_is_cut_in_bounded_work(output: str):
    question = " ".join(f"word{number}" for number in range(10_000))

    assert len(prune(output, question, 2_400)) <= 2_400
    assert calls(lambda: prune(output, question, 2_400)) < 100_000
