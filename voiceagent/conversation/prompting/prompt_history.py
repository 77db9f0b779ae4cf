"""The history in prompts: old turns as a summary, long tool outputs cut.

The client's view of the conversation does not change. Every decision here stays the same from prompt to
prompt, because prefix caches depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llmcore.compression.history_budget import HistoryBudget, TokenEstimate, turns_to_replace
from llmcore.compression.prune import prune
from llmcore.engine import Message, Usage
from voiceagent.conversation.history import Item, MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.history_room import is_cut_from
from voiceagent.conversation.prompting.items import to_messages


@dataclass(frozen=True, slots=True)
class _Summary:
    """Text in place of the conversation's first items, "" if nothing in them is worth keeping."""

    text: str = ""
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class OldItems:
    """Input of a summary. prompt: the history up to there as in prompts. said: the turns themselves. earlier:
    the summary of the turns before them. tokens: size of all that is replaced.
    """

    prompt: tuple[Message, ...]
    said: tuple[Message, ...]
    earlier: str
    tokens: int


class PromptHistory:
    """Owner of the summary in place of old items; decides when more of them must be replaced.

    A summary stands for certain items: if the client changes one of them, prompts show all of them verbatim
    again.
    """

    def __init__(self, budget: HistoryBudget) -> None:
        self._budget = budget
        self._estimate = TokenEstimate()
        self._summary = _Summary()
        self._requested_items: tuple[Item, ...] = ()
        self._pending_summary: _Summary | None = None
        self._cut_outputs: dict[str, tuple[ToolOutputItem, str]] = {}
        self.replacements = 0
        """Replacements of old turns. The prompt after one does not continue the prompt before it."""

    def messages(self, items: Sequence[Item]) -> tuple[Message, ...]:
        summary, rest = self._split(items)
        return self._messages(summary, rest)

    def observe(self, prompt: Sequence[Message], usage: Usage) -> None:
        """Record the token usage of a prompt of this call."""
        self._estimate.observe(prompt, usage)

    def overdue(self, items: Sequence[Item]) -> OldItems | None:
        """Return the turns that need a summary now; None if there are none, or a summary is in progress."""
        # one at a time: a second one would cover turns that the first replaces
        if self._budget.max_tokens == 0 or self._requested_items or self._pending_summary is not None:
            return None
        summary, rest = self._split(items)
        turns = _turns(rest)
        costs = [self._estimate.tokens(self._messages(_Summary(), turn)) for turn in turns]
        own = self._estimate.tokens(self._messages(summary, ()))
        count = turns_to_replace(costs, own, self._budget)
        # templates refuse an output whose call they have not seen
        count = _removable_turn_count(turns[:count])
        if count == 0:
            return None
        old = [item for turn in turns[:count] for item in turn]
        self._requested_items = (*summary.items, *old)
        prompt = self._messages(summary, old)
        said = self._messages(_Summary(), old)
        return OldItems(prompt, said, summary.text, self._estimate.tokens(prompt))

    def cancel(self) -> None:
        """Forget the requested summary; it may be requested again."""
        self._requested_items = ()

    def set_summary(self, text: str) -> None:
        """Store the requested summary for `apply_summary`; ignore one that is no longer wanted."""
        if self._requested_items:
            self._pending_summary, self._requested_items = _Summary(text, self._requested_items), ()

    def apply_summary(self) -> bool:
        """Replace old turns by the finished summary, if any. Return True if prompts begin differently now."""
        if self._pending_summary is None:
            return False
        self._summary, self._pending_summary = self._pending_summary, None
        self.replacements += 1
        return True

    def _split(self, items: Sequence[Item]) -> tuple[_Summary, Sequence[Item]]:
        """Return the summary, and the items that it does not cover."""
        count = len(self._summary.items)
        covered = tuple(items[:count])
        if covered != self._summary.items:
            if _differ_only_by_cuts(covered, self._summary.items):
                self._summary = replace(self._summary, items=covered)
            # the client deleted or truncated something old, which the summary would bring back
            else:
                self._summary = _Summary()
                self.replacements += 1
                return self._summary, items
        return self._summary, items[count:]

    def _messages(self, summary: _Summary, items: Sequence[Item]) -> tuple[Message, ...]:
        # In the caller's role: the caller's statements must not weigh as much as the system prompt, and
        # templates accept a single system message. It is joined with the first turn that is kept.
        first = [MessageItem("", "user", f"[Earlier in this call: {summary.text}]")] if summary.text else []
        return to_messages([*first, *self._with_cut_outputs(items)])

    def _with_cut_outputs(self, items: Sequence[Item]) -> list[Item]:
        if self._budget.tool_output_tokens == 0:
            return list(items)
        question, shown = "", list(items)
        for index, item in enumerate(items):
            if isinstance(item, MessageItem) and item.role == "user":
                question = item.text
            elif isinstance(item, ToolOutputItem):
                output = self._cut_output(item, question)
                if output != item.output:
                    shown[index] = replace(item, output=output)
        return shown

    def _cut_output(self, item: ToolOutputItem, question: str) -> str:
        # decided once: neither a better token estimate nor a full history must change the prompt
        decided = self._cut_outputs.get(item.item_id)
        if decided is not None and (decided[0] == item or is_cut_from(item, decided[0])):
            return decided[1]
        max_characters = round(self._budget.tool_output_tokens / self._estimate.per_character)
        output = prune(item.output, question, max_characters)
        self._cut_outputs[item.item_id] = item, output
        return output


def _differ_only_by_cuts(items: Sequence[Item], earlier: Sequence[Item]) -> bool:
    """Return True if `items` are `earlier`, some with outputs cut since: the summary has read them whole."""
    return len(items) == len(earlier) and all(
        item == before or is_cut_from(item, before) for item, before in zip(items, earlier, strict=True)
    )


def _turns(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items by turns. A user message begins a turn, unless it follows another."""
    turns: list[list[Item]] = []
    before = ""
    for item in items:
        role = item.role if isinstance(item, MessageItem) else "tool"
        if not turns or (role == "user" != before):
            turns.append([])
        turns[-1].append(item)
        before = role
    return turns


def _removable_turn_count(turns: Sequence[Sequence[Item]]) -> int:
    """Return the number of turns that can be replaced: a tool call and its output must stay together."""
    pending: set[str] = set()
    count = 0
    for number, turn in enumerate(turns, 1):
        pending |= {item.call.call_id for item in turn if isinstance(item, ToolCallItem)}
        pending -= {item.call_id for item in turn if isinstance(item, ToolOutputItem)}
        if not pending:
            count = number
    return count
