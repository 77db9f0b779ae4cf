"""The calls of the agent's own tools: each from the model's wish until its result is in the history.

Waiting ──▶ Running ──▶ done, failed             Running: the conversation waits for it
   │           ├──▶ Detached ──▶ done, failed    the conversation went on; the result comes late
   │           └──▶ Cancelling ──▶ cancelled     given up; or done, where it was quicker
   └▶ cancelled                                  the response was cut before it was to run

A call runs once, and what became of it enters the history once. A result that comes late stands at the end
of the history, as prompts that were made meanwhile said that it was still to come.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto

from llmcore.engine import ToolCall
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, Item, ToolCallItem, ToolOutputItem, UnknownItem
from voiceagent.conversation.settings import AgentTool, CallSettings

MAX_ROUNDS = 8
"""Responses with calls in a row, without a word of the caller: a model that calls in circles is stopped."""


class Phase(Enum):
    """Where a call stands that has not ended."""

    WAITING = auto()
    RUNNING = auto()
    DETACHED = auto()
    CANCELLING = auto()


@dataclass(slots=True)
class _Call:
    """One call that has not ended. item_id: of the call in the history."""

    tool: AgentTool
    call: ToolCall
    item_id: str
    response_id: str
    phase: Phase


class ToolCalls:
    """Owns the calls that have not ended. What it does returns the commands that follow."""

    def __init__(self, history: History, new_id: Callable[[str], str]) -> None:
        self._history = history
        self._new_id = new_id
        self._calls: dict[str, _Call] = {}
        self._round_id = ""
        self._rounds = 0
        self._reply_due = False

    @property
    def awaited(self) -> bool:
        """Whether the conversation waits for one."""
        return any(call.phase in (Phase.WAITING, Phase.RUNNING) for call in self._calls.values())

    def take_reply_due(self) -> bool:
        """Whether results have come that the model is to speak of, and none it waits for is missing."""
        if self.awaited or not self._reply_due:
            return False
        self._reply_due = False
        return True

    def is_running(self, call_id: str) -> AgentTool | None:
        """The tool of a call that the conversation waits for; None where it does not."""
        call = self._calls.get(call_id)
        return call.tool if call is not None and call.phase is Phase.RUNNING else None

    def begin(self, response_id: str, wanted: ToolCall, settings: CallSettings) -> list[Command]:
        """The model has called one of the agent's tools, or one that there is not."""
        if response_id != self._round_id:
            self._round_id, self._rounds = response_id, self._rounds + 1
        if self._knows(wanted.call_id):  # not every engine gives out ids of its own
            wanted = replace(wanted, call_id=self._new_id("call"))
        item = ToolCallItem(self._new_id("item"), wanted)
        commands = self._add(item)
        tools = {tool.name: tool for tool in settings.agent_tools}
        tool = tools.get(wanted.name)
        if tool is None:
            allowed = ", ".join(tool.name for tool in settings.all_tools)
            return commands + self._answer(item, f"there is no tool {wanted.name!r}; allowed: {allowed}")
        if (refusal := self._refusal(tool, wanted)) is not None:
            return commands + self._answer(item, refusal)
        phase = Phase.WAITING if tool.when_played else Phase.RUNNING
        self._calls[wanted.call_id] = _Call(tool, wanted, item.item_id, response_id, phase)
        return commands if tool.when_played else [*commands, do.RunTool(wanted)]

    def caller_spoke(self) -> None:
        """A turn of the caller is over: the model may call as often as it likes again."""
        self._rounds = 0

    def response_over(self, response_id: str, cut: bool) -> list[Command]:
        """A response is over: of its calls, those that waited for that run, unless it was cut."""
        commands: list[Command] = []
        for call in [call for call in self._calls.values() if call.response_id == response_id]:
            if call.phase is Phase.WAITING and cut:
                del self._calls[call.call.call_id]
                output = "not done: the caller interrupted, and is still there"
                commands += self._put_output(call, output)
            elif call.phase is Phase.WAITING:
                call.phase = Phase.RUNNING
                commands.append(do.RunTool(call.call))
            elif cut:
                commands += self._give_up(call)
        return commands

    def left_behind(self, said: bool = False) -> list[Command]:
        """Another response begins: those that run are not waited for any more, and told of when they end.

        said: its words are the agent's code's, which gives nothing up, and has not spoken of what has come.
        """
        commands: list[Command] = []
        for call in list(self._calls.values()):
            if not said:
                commands += self._give_up(call)
            if call.phase is Phase.RUNNING:
                call.phase = Phase.DETACHED
        self._reply_due = self._reply_due and said
        return commands

    def finish(self, event: ev.ToolFinished) -> list[Command]:
        """A tool has ended; one that nobody knows of is ignored."""
        call = self._calls.pop(event.call_id, None)
        if call is None:
            return []
        if event.outcome != "cancelled":
            self._reply_due = self._reply_due or event.reply
        late = call.phase is Phase.DETACHED or (
            call.phase is Phase.CANCELLING and event.outcome != "cancelled" and self._spoken_since(call)
        )
        return self._put_output(call, event.output, late)

    def _give_up(self, call: _Call) -> list[Command]:
        if not call.tool.cancellable or call.phase is not Phase.RUNNING:
            return []
        call.phase = Phase.CANCELLING
        return [do.CancelTool(call.call.call_id)]

    def _refusal(self, tool: AgentTool, wanted: ToolCall) -> str | None:
        """Why a call is not carried out, in words for the model."""
        if self._rounds > MAX_ROUNDS:
            return "not done: too many calls in a row; tell the caller what is known so far"
        for call in self._calls.values():
            if tool.when_played and call.tool.when_played:
                return f"not done: {call.tool.name} comes first"
            if call.tool.name == tool.name and _same(call.call.arguments, wanted.arguments):
                return "not done again: this very call is running already, and its result will come"
        return None

    def _spoken_since(self, call: _Call) -> bool:
        """Whether the prompts of other responses have said that the call is still running."""
        place = self._place_of_output(call)
        return place is None or place != self._history.last_id()

    def _put_output(self, call: _Call, output: str, late: bool = False) -> list[Command]:
        item = ToolOutputItem(self._new_id("item"), call.call.call_id, output)
        place = self._place_of_output(call)
        if late or place is None:  # a client may have deleted the call meanwhile
            return self._add(replace(item, late_for=call.tool.name))
        return self._add(item, place)

    def _place_of_output(self, call: _Call) -> str | None:
        """The item behind which the output belongs: the last one of the call and its neighbours."""
        try:
            self._history.get(call.item_id)
        except UnknownItem:
            return None
        items = self._history.items
        index = next(number for number, item in enumerate(items) if item.item_id == call.item_id)
        while index + 1 < len(items) and _of_tools(items[index + 1]):
            index += 1
        return items[index].item_id

    def _answer(self, item: ToolCallItem, output: str) -> list[Command]:
        self._reply_due = True
        return self._add(ToolOutputItem(self._new_id("item"), item.call.call_id, output))

    def _add(self, item: ToolCallItem | ToolOutputItem, previous_id: str | None = None) -> list[Command]:
        self._history.insert(item, previous_id)
        previous = self._history.previous_id(item.item_id)
        return [notify.NotifyItemAdded(item, previous), notify.NotifyItemDone(item, previous)]

    def _knows(self, call_id: str) -> bool:
        calls = (item.call.call_id for item in self._history.items if isinstance(item, ToolCallItem))
        return call_id in self._calls or call_id in calls


def _of_tools(item: Item) -> bool:
    """Whether an item stands with the call before it: another call of that response, or an output."""
    return isinstance(item, ToolCallItem) or (isinstance(item, ToolOutputItem) and not item.late_for)


def _same(one: str, other: str) -> bool:
    """Whether two texts of arguments say the same."""
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return one == other
