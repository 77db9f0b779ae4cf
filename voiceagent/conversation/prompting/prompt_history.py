"""How the items of a conversation stand in its prompts: old turns as a summary, long tool outputs cut. Pure.

What the client sees of the conversation does not change. Whatever is decided here stays as it is from prompt
to prompt, as prefix caches live from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llmcore.compression.history_budget import HistoryBudget, TokenEstimate, turns_to_replace
from llmcore.compression.prune import prune
from llmcore.engine import Message, Usage
from voiceagent.conversation.history import (
    Item,
    MessageItem,
    ToolCallItem,
    ToolOutputItem,
    to_messages,
)


@dataclass(frozen=True, slots=True)
class _Summary:
    """A text in place of the conversation's first items, "" where nothing of them is worth telling."""

    text: str = ""
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class OldItems:
    """What a summary is wanted of. prompt: the history up to there as prompts have it. said: the turns
    themselves. earlier: the summary of those before them. tokens: of all that is to be replaced.
    """

    prompt: tuple[Message, ...]
    said: tuple[Message, ...]
    earlier: str
    tokens: int


class PromptHistory:
    """Owns what replaces old items, and decides when more of them have to go.

    A summary stands for certain items: where the client changes one of them, prompts have all of them as they
    are again.
    """

    def __init__(self, budget: HistoryBudget) -> None:
        self._budget = budget
        self._estimate = TokenEstimate()
        self._summary = _Summary()
        self._asked: tuple[Item, ...] = ()
        self._coming: _Summary | None = None
        self._cut: dict[ToolOutputItem, str] = {}
        self.replacements = 0
        """How often old turns were replaced: the next prompt then does not begin as the one before it."""

    def messages(self, items: Sequence[Item]) -> tuple[Message, ...]:
        """The items as a prompt has them."""
        summary, rest = self._split(items)
        return self._messages(summary, rest)

    def observe(self, prompt: Sequence[Message], usage: Usage) -> None:
        """A prompt of this call had this many tokens."""
        self._estimate.observe(prompt, usage)

    def overdue(self, items: Sequence[Item]) -> OldItems | None:
        """The turns that a summary is wanted of now; None while there are none, or one is being made."""
        # one at a time: a second would be made of turns that the first replaces
        if self._budget.max_tokens == 0 or self._asked or self._coming is not None:
            return None
        summary, rest = self._split(items)
        turns = _turns(rest)
        costs = [self._estimate.tokens(self._messages(_Summary(), turn)) for turn in turns]
        own = self._estimate.tokens(self._messages(summary, ()))
        count = turns_to_replace(costs, own, self._budget)
        # templates refuse an output whose call they have not seen
        count = _without_pending_calls(turns[:count])
        if count == 0:
            return None
        old = [item for turn in turns[:count] for item in turn]
        self._asked = (*summary.items, *old)
        prompt = self._messages(summary, old)
        said = self._messages(_Summary(), old)
        return OldItems(prompt, said, summary.text, self._estimate.tokens(prompt))

    def give_up(self) -> None:
        """The summary that was wanted will not come; it may be asked for again."""
        self._asked = ()

    def take(self, text: str) -> None:
        """Take in the summary that was wanted, for `replace` to put in; one that nobody wants any more is
        ignored."""
        if self._asked:
            self._coming, self._asked = _Summary(text, self._asked), ()

    def replace(self) -> bool:
        """Put in the summary that has come, if one has: the prompts after that have another beginning."""
        if self._coming is None:
            return False
        self._summary, self._coming = self._coming, None
        self.replacements += 1
        return True

    def _split(self, items: Sequence[Item]) -> tuple[_Summary, Sequence[Item]]:
        """The summary, and the items that it does not stand for."""
        count = len(self._summary.items)
        # the client deleted or truncated something old: a summary that tells of it would bring it back
        if tuple(items[:count]) != self._summary.items:
            self._summary = _Summary()
            self.replacements += 1
            return self._summary, items
        return self._summary, items[count:]

    def _messages(self, summary: _Summary, items: Sequence[Item]) -> tuple[Message, ...]:
        # In the caller's role: what callers said must not weigh as much as the system prompt, and templates
        # want a single system message. It joins the first turn that is kept.
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
        if item not in self._cut:  # decided once: a later estimate of its tokens must not change the prompt
            max_characters = round(self._budget.tool_output_tokens / self._estimate.per_character)
            self._cut[item] = prune(item.output, question, max_characters)
        return self._cut[item]


def _turns(items: Sequence[Item]) -> list[list[Item]]:
    """The items by turns; what the caller says begins one, unless it goes on with what the caller said."""
    turns: list[list[Item]] = []
    before = ""
    for item in items:
        role = item.role if isinstance(item, MessageItem) else "tool"
        if not turns or (role == "user" != before):
            turns.append([])
        turns[-1].append(item)
        before = role
    return turns


def _without_pending_calls(turns: Sequence[Sequence[Item]]) -> int:
    """How many of these turns can go: a tool's call and its output must stay together."""
    pending: set[str] = set()
    count = 0
    for number, turn in enumerate(turns, 1):
        pending |= {item.call.call_id for item in turn if isinstance(item, ToolCallItem)}
        pending -= {item.call_id for item in turn if isinstance(item, ToolOutputItem)}
        if not pending:
            count = number
    return count
