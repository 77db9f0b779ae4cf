from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

from llmcore.compression.history_budget import HistoryBudget
from llmcore.engine import Message, ToolCall, Usage
from voiceagent.conversation.history import Item, MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.prompting.prompt_history import PromptHistory

BUDGET = HistoryBudget(max_tokens=60, kept_tokens=25)
"""Six turns of ten tokens."""


def turn(number: int) -> list[Item]:
    """A question and its answer, 40 characters: ten tokens."""
    return [
        MessageItem(f"q{number}", "user", f"question {number:011}"),
        MessageItem(f"a{number}", "assistant", f"answer {number:013}"),
    ]


def turns(count: int) -> list[Item]:
    return [item for number in range(count) for item in turn(number)]


def summarised(items: list[Item], text: str = "They talked.") -> PromptHistory:
    """A history whose old turns have been replaced."""
    history = PromptHistory(BUDGET)
    assert history.overdue(items) is not None
    history.set_summary(text)
    assert history.apply_summary()
    return history


def test_within_the_budget_a_history_stays_as_it_is():
    history = PromptHistory(BUDGET)
    assert history.overdue(turns(6)) is None
    assert [message.content for message in history.messages(turns(1))] == [i.text for i in turns(1)]


def test_beyond_it_the_oldest_turns_are_to_be_summarised():
    old = PromptHistory(BUDGET).overdue(turns(7))
    assert old is not None
    assert [message.content for message in old.said] == [item.text for item in turns(5)]
    assert (old.prompt, old.earlier, old.tokens) == (old.said, "", 50)


def test_until_the_summary_is_put_in_prompts_stay_as_they_are():
    history = PromptHistory(BUDGET)
    before = history.messages(turns(7))
    history.overdue(turns(7))
    history.set_summary("They talked.")
    assert history.messages(turns(7)) == before
    assert history.apply_summary()
    assert history.messages(turns(7)) != before


def test_a_summary_stands_in_the_callers_role_before_what_is_kept():
    messages = summarised(turns(7)).messages(turns(7))
    kept = turns(7)[10:]
    assert messages[0] == Message("user", f"[Earlier in this call: They talked.] {kept[0].text}")
    assert [message.content for message in messages[1:]] == [item.text for item in kept[1:]]


def test_a_summary_without_a_word_leaves_nothing():
    messages = summarised(turns(7), "").messages(turns(7))
    assert [message.content for message in messages] == [item.text for item in turns(7)[10:]]


def test_between_two_replacements_every_prompt_begins_as_the_one_before_it():
    history = summarised(turns(7))
    prompts = [history.messages(turns(count)) for count in range(7, 12)]
    for before, after in pairwise(prompts):
        assert after[: len(before)] == before
    assert history.replacements == 1


def test_replacements_are_few_and_large():
    history, replaced_at = PromptHistory(BUDGET), []
    for count in range(1, 61):
        if history.overdue(turns(count)) is not None:
            history.set_summary("They talked.")
            history.apply_summary()
            replaced_at.append(count)
    assert replaced_at[0] == 7
    assert all(after - before >= 3 for before, after in pairwise(replaced_at))


def test_the_next_summary_goes_on_from_the_one_before():
    history = summarised(turns(7))
    old = next(old for count in range(8, 20) if (old := history.overdue(turns(count))))
    assert old.earlier == "They talked."
    assert old.prompt[0].content.startswith("[Earlier in this call: They talked.] question")
    assert old.said[0].content == turns(6)[10].text


def test_one_summary_is_asked_for_at_a_time():
    history = PromptHistory(BUDGET)
    assert history.overdue(turns(7)) is not None
    assert history.overdue(turns(8)) is None
    history.cancel()
    assert history.overdue(turns(8)) is not None


def test_a_summary_that_nobody_wants_any_more_is_ignored():
    history = PromptHistory(BUDGET)
    history.overdue(turns(7))
    history.cancel()
    history.set_summary("They talked.")
    assert not history.apply_summary()


def test_an_old_item_that_is_changed_undoes_the_summary():
    history, items = summarised(turns(7)), turns(7)
    del items[2]
    assert history.messages(items)[0].content == items[0].text
    assert "They talked." not in str(history.messages(items))


def test_a_call_of_a_tool_and_its_output_are_not_parted():
    call = ToolCallItem("c", ToolCall("call_1", "look", "{}"))
    output = ToolOutputItem("o", "call_1", "found")
    items = [*turns(3), call, MessageItem("q", "user", "meanwhile"), output, *turns(4)]
    old = PromptHistory(BUDGET).overdue(items)
    assert old is not None
    called = any(message.tool_calls for message in old.said)
    assert called == any(message.role == "tool" for message in old.said)


def test_an_output_that_is_cut_in_a_full_history_leaves_its_summary():
    call = ToolCallItem("c", ToolCall("call_1", "look", "{}"))
    output = ToolOutputItem("o", "call_1", "found " * 20)
    items = [MessageItem("q", "user", "look"), call, output, *turns(7)]
    history = summarised(items)
    items[2] = replace(output, output="found")
    assert "They talked." in str(history.messages(items))
    assert history.replacements == 1
    items[2] = replace(output, output="lost " * 40)
    assert "They talked." not in str(history.messages(items))


def test_tokens_are_counted_as_the_engine_does():
    history = PromptHistory(BUDGET)
    history.observe(history.messages(turns(2)), Usage(prompt_tokens=80))
    assert history.overdue(turns(2)) is not None


# ---- outputs of tools


def looked_up(question: str, output: str) -> list[Item]:
    return [
        MessageItem("q", "user", question),
        ToolCallItem("c", ToolCall("call_1", "look", "{}")),
        ToolOutputItem("o", "call_1", output),
    ]


OUTPUT = json.dumps([{"dish": f"dish {n}", "note": "fish" if n == 3 else "meat"} for n in range(30)])
CUTTING = HistoryBudget(tool_output_tokens=50)


def test_a_long_output_is_cut_to_what_the_caller_asked_about():
    (_, _, tool) = PromptHistory(CUTTING).messages(looked_up("Have you any fish?", OUTPUT))
    assert len(tool.content) <= 200
    assert '{"dish": "dish 3", "note": "fish"}' in tool.content


def test_an_output_once_cut_stays_as_it_is():
    # Whatever is asked later, and however tokens are counted then.
    history, items = PromptHistory(CUTTING), looked_up("Have you any fish?", OUTPUT)
    first = history.messages(items)
    history.observe(first, Usage(prompt_tokens=1000))
    later = history.messages([*items, *turn(1), MessageItem("q9", "user", "And meat?")])
    assert later[: len(first)] == first


def test_an_output_stays_in_prompts_as_it_was_when_a_full_history_cuts_it():
    history = PromptHistory(HistoryBudget(tool_output_tokens=20))
    items = looked_up("Is there a sauna?", "The pool is warm. " * 30 + "The sauna opens at noon.")
    before = history.messages(items)
    assert "sauna opens" in before[-1].content
    assert isinstance(items[-1], ToolOutputItem)
    items[-1] = replace(items[-1], output=items[-1].output[:100])
    assert history.messages(items) == before


def test_without_a_limit_outputs_stay_whole():
    assert PromptHistory(HistoryBudget()).messages(looked_up("fish?", OUTPUT))[-1].content == OUTPUT
