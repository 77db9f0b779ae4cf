"""Room in the history for the items of clients."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_world import POLICY, CallWorld, of
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import ToolCall
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import History, Item, MessageItem, ToolOutputItem, characters
from voiceagent.conversation.history_room import (
    CUT_OUTPUT_CHARACTERS,
    HistoryLimits,
    LimitExceeded,
    is_cut_from,
    make_room,
)
from voiceagent.conversation.mcp import McpCallItem

LIMITS = HistoryLimits(100, 10_000, 20_000, max_images=1, cuts_outputs=True)


def output(number: int, length: int) -> ToolOutputItem:
    return ToolOutputItem(f"item_{number}", f"call_{number}", f"{number}: ".ljust(length, "x"))


def test_in_logs_of_older_builds_an_output_that_is_too_long_is_refused():
    world = CallWorld(policy=replace(POLICY, limits=replace(LIMITS, cuts_outputs=False)))
    (refused,) = of(notify.NotifyError, world.feed(ev.ItemCreated(output(1, 10_001))))
    assert refused.code == "limit_exceeded"


def test_a_tools_output_that_is_too_long_is_cut_and_the_call_goes_on():
    world = CallWorld(policy=replace(POLICY, limits=LIMITS))
    commands = world.feed(ev.ItemCreated(output(1, 30_000)))
    assert not of(notify.NotifyError, commands)
    (added,) = of(notify.NotifyItemAdded, commands)
    assert isinstance(added.item, ToolOutputItem) and len(added.item.output) == 10_000
    assert added.item.output.endswith("(cut here; the whole output has 30000 characters)")


def test_any_other_item_that_is_too_long_is_refused():
    with pytest.raises(LimitExceeded, match="the item has 10001 characters; allowed: at most 10000"):
        make_room(History(), MessageItem("m", "user", "x" * 10_001), LIMITS)


def test_a_full_history_loses_its_oldest_outputs_and_the_call_goes_on():
    world = CallWorld(policy=replace(POLICY, limits=LIMITS))
    for number in range(30):
        assert not of(notify.NotifyError, world.feed(ev.ItemCreated(output(number, 6_000))))
    items = world.conversation.history.items
    assert [item.item_id for item in items] == [f"item_{number}" for number in range(30)]
    assert items[-1] == output(29, 6_000)
    assert is_cut_from(items[0], output(0, 6_000)) and str(items[0]).count("0: x") == 1


def test_results_of_mcp_tools_are_cut_too():
    history = History([McpCallItem("m", "shop", "list", ToolCall("c", "list", "{}"), output="x" * 19_000)])
    make_room(history, output(1, 6_000), LIMITS)
    assert characters(history.items[0]) <= CUT_OUTPUT_CHARACTERS + len("list{}")


def test_a_cut_is_rare():
    history, edits = History(), []
    for number in range(40):
        history.insert(make_room(history, output(number, 2_000), LIMITS))
        edits.append(history.edits)
    assert len(set(edits)) < 10


def test_what_was_said_is_not_cut_for_a_clients_item():
    history = History([MessageItem(f"m{number}", "user", "x" * 5_000) for number in range(4)])
    with pytest.raises(LimitExceeded, match="would have 20002 characters; allowed: at most 20000"):
        make_room(history, MessageItem("new", "user", "no"), LIMITS)
    assert history.edits == 0


def items() -> st.SearchStrategy[list[tuple[bool, int]]]:
    return st.lists(st.tuples(st.booleans(), st.integers(0, 15_000)), max_size=30)


@given(items())
def test_the_history_never_has_more_than_its_limits_and_keeps_the_newest_output(
    added: list[tuple[bool, int]],
):
    history = History()
    for number, (is_output, length) in enumerate(added):
        item: Item = (
            output(number, length) if is_output else MessageItem(f"item_{number}", "user", "x" * length)
        )
        try:
            taken = make_room(history, item, LIMITS)
        except LimitExceeded:
            assert not is_output or any(isinstance(item, MessageItem) for item in history.items)
            continue
        history.insert(taken)
        assert history.items[-1] is taken
        assert is_output or taken == item
        assert sum(map(characters, history.items)) <= LIMITS.max_conversation_characters
