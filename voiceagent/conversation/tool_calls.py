"""Tool calls that the server runs: each from the model's call until its result is in the history.

See `unfinished_call` for its phases. A call runs once, and its result enters the history once. A late result
is appended to the history, because prompts made meanwhile said that it was pending.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from llmcore.engine import Tool, ToolCall
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.cancel_tool import (
    cancel_tool,
    cancel_tool_name,
    cancellable_by_label,
    wanted_label,
)
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, ToolCallItem
from voiceagent.conversation.mcp import (
    McpApprovalRequest,
    McpApprovalResponse,
    McpCallItem,
    McpError,
    McpTool,
)
from voiceagent.conversation.settings import AgentTool, CallSettings
from voiceagent.conversation.shared_response import SharedResponse
from voiceagent.conversation.tool_records import CallRecord, ToolRecords
from voiceagent.conversation.tool_speech import ToolSpeech
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.unfinished_call import AWAITED, WORKING, Phase, UnfinishedCall

LOGGED_MAX_ROUNDS = 8
"""Maximum rounds in builds without `max_tool_rounds`; they refused all further calls."""


class ToolCalls:
    """Owner of the calls that have not ended. Methods return the commands that follow.

    policy: `max_tool_rounds` is None for old logs (see `TurnPolicy.tools_as_logged`).
    """

    def __init__(self, history: History, policy: TurnPolicy, new_id: Callable[[str], str]) -> None:
        self._history = history
        self._max_rounds = policy.max_tool_rounds
        self._joins_results = policy.joins_results
        self._shared = SharedResponse()
        self._records = ToolRecords(history, new_id)
        self._new_id = new_id
        self._calls: dict[str, UnfinishedCall] = {}
        self.speech = ToolSpeech(self._calls)
        self._round_id = ""
        self._rounds = 0
        self._reply_due = False
        self._refused: list[tuple[CallRecord, str]] = []

    @property
    def awaited(self) -> bool:
        """True if the conversation waits for a call."""
        return any(call.phase in AWAITED for call in self._calls.values())

    @property
    def reply_due(self) -> bool:
        """True if the model must report results and no awaited call is missing, of the client's neither."""
        return self._reply_due and not self.awaited and not self._shared.awaits_client

    def pop_reply_due(self) -> bool:
        """Return `reply_due` and reset it."""
        due = self.reply_due
        self._reply_due = self._reply_due and not due
        return due

    def rounds_are_spent(self, response_id: str = "") -> bool:
        """Return True if the answer has used all its rounds of tool calls, so that this response, or the next
        one, must call none.
        """
        return (
            self._max_rounds is not None
            and self._rounds >= self._max_rounds
            and response_id != self._round_id
        )

    def running_tool(self, call_id: str) -> AgentTool | None:
        """Return the tool of a call for which the conversation waits in silence; None if it does not."""
        call = self._calls.get(call_id)
        return call.tool if call is not None and call.phase is Phase.RUNNING else None

    def on_slow(self, call_id: str) -> str:
        """Record that a tool of the agent or the client takes long. Return the instruction that waited for
        its end, "" for none.
        """
        self._shared.give_up(call_id)
        return self.speech.on_slow(call_id)

    def start(
        self, response_id: str, wanted: ToolCall, settings: CallSettings, mcp: McpTool | None = None
    ) -> list[Command]:
        """Start a call of the model: of an MCP server's tool (`mcp`), of the agent's, or refuse an unknown
        one. Call `record_refused` after the last call of the response.
        """
        if response_id != self._round_id:
            # counted per response: one response may call several tools
            self._round_id, self._rounds = response_id, self._rounds + 1
        wanted = self.with_unique_id(wanted)
        if mcp is None and wanted.name == cancel_tool_name(settings):
            return self._start_cancelling(response_id, wanted)
        tools = {tool.name: tool for tool in settings.agent_tools}
        tool = tools.get(wanted.name) if mcp is None else AgentTool(mcp.tool)
        if tool is None:
            allowed = ", ".join(tool.name for tool in settings.all_tools) or "none"
            return self._refuse(response_id, wanted, f"there is no tool {wanted.name!r}; allowed: {allowed}")
        if (refusal := self._refusal(tool, wanted)) is not None:
            return self._refuse(response_id, wanted, refusal, mcp)
        if mcp is not None and mcp.ask:
            record, notices = self._records.add_approval_request(response_id, wanted, mcp)
            self._calls[wanted.call_id] = UnfinishedCall(tool, record, Phase.ASKED)
            return [*notices]
        record, notices = self._records.add_call(response_id, wanted, mcp)
        phase = Phase.WAITING if tool.when_played else Phase.RUNNING
        self._calls[wanted.call_id] = UnfinishedCall(tool, record, phase)
        if tool.cancellable and phase is Phase.RUNNING:
            self._history.cancellable.add(wanted.call_id)
        return [*notices] if tool.when_played else [*notices, self._calls[wanted.call_id].run()]

    def add_client_call(self, response_id: str, call_id: str) -> None:
        """Record a call of the client's tool."""
        if self._joins_results:
            self._shared.add(response_id, call_id)

    def await_client(self, response_id: str) -> list[Command]:
        """Let the results of this response's calls wait for those of the client's calls that it made too."""
        if response_id != self._round_id:
            return []
        return [do.AwaitClientResult(call_id) for call_id in self._shared.begin_wait(response_id)]

    @property
    def delay_client_request(self) -> bool:
        """True while a client's request for a response can wait for a tool of the agent that was called with
        tools of the client.
        """
        return any(
            call.phase is Phase.RUNNING
            and not call.slow
            and call.record.mcp is None
            and call.record.response_id == self._shared.response_id
            for call in self._calls.values()
        )

    def with_unique_id(self, call: ToolCall) -> ToolCall:
        """Return the call with an id that no earlier call has: some engines give several calls one id."""
        kinds = (ToolCallItem, McpCallItem, McpApprovalRequest)
        used = (item.call.call_id for item in self._history.items if isinstance(item, kinds))
        if call.call_id in self._calls or call.call_id in used:
            return replace(call, call_id=self._new_id("call"))
        return call

    def record_refused(self) -> list[Command]:
        """Record the outputs of a response's refused calls. APIs accept none between a response's calls."""
        refused, self._refused = self._refused, []
        return [
            notice
            for record, refusal in refused
            for notice in self._records.add_output(
                record, refusal, False, _execution_error(refusal) if record.mcp is not None else None
            )
        ]

    def awaits_approval(self, request_id: str) -> bool:
        """Return True if this approval request is unanswered."""
        return self._awaiting_approval(request_id) is not None

    def on_approval(self, answer: McpApprovalResponse) -> list[Command]:
        """Run or refuse the tool after the client's answer to an approval request."""
        asked = self._awaiting_approval(answer.request_id)
        if asked is None:
            return []
        # after a newer message the result is a late one
        gone_on = self._records.has_message_since(asked.record)
        record, notices = self._records.add_call(
            asked.record.response_id, asked.call, asked.record.mcp, answer.request_id
        )
        if not answer.approve:
            del self._calls[asked.call.call_id]
            refusal = "not done: it was not approved" + (f": {answer.reason}" if answer.reason else "")
            return [*notices, *self._records.add_output(record, refusal, gone_on, _execution_error(refusal))]
        asked.record, asked.phase = record, Phase.DETACHED if gone_on else Phase.RUNNING
        return [*notices, asked.run()]

    def begin_answer(self) -> None:
        """Reset the count of rounds, after a turn of the caller or an answer."""
        self._rounds = 0

    def withdraw(self, response_id: str) -> list[Command]:
        """Remove the calls that waited for the end of this response, which answered a false end of turn: the
        whole turn is answered as if they had not been made. Return a command for each.
        """
        commands: list[Command] = []
        for call in list(self._calls.values()):
            if call.phase is not Phase.WAITING or call.record.response_id != response_id:
                continue
            del self._calls[call.call.call_id]
            commands += self._records.remove(call.record)
        return commands

    def on_response_over(self, response_id: str, cut: bool) -> list[Command]:
        """Run the calls that waited for the end of this response, or drop them if it was cut."""
        commands: list[Command] = []
        for call in [call for call in self._calls.values() if call.record.response_id == response_id]:
            if call.phase is Phase.WAITING and cut:
                del self._calls[call.call.call_id]
                output = "not done: the caller interrupted, and is still there"
                commands += self._records.add_output(call.record, output, late=False)
            elif call.phase is Phase.WAITING:
                call.phase = Phase.RUNNING
                commands.append(call.run())
            elif cut:
                commands += self._cancel(call)
        return commands

    def overtake(self, by_model: bool) -> None:
        """Mark running calls as overtaken by speech of the agent's code: still awaited, but their results
        come late. by_model: the model writes that speech and reports the results that exist.
        """
        for call in self._calls.values():
            if call.phase is Phase.RUNNING:
                call.phase = Phase.OVERTAKEN
            call.shown_pending = call.shown_pending or by_model
        self._reply_due = self._reply_due and (not by_model or bool(self.speech.guidance))

    def detach(self) -> list[Command]:
        """Detach the running calls as another response starts: it reports the results so far, later ones come
        late.
        """
        commands: list[Command] = []
        self._shared.end_wait()
        for call in list(self._calls.values()):
            commands += self._cancel(call)
            if call.phase in (Phase.RUNNING, Phase.OVERTAKEN):
                call.phase = Phase.DETACHED
        self._reply_due = bool(self.speech.guidance)
        return commands

    def on_finished(self, event: ev.ToolFinished) -> list[Command]:
        """Handle the end of a call; ignore unknown ones."""
        call = self._calls.get(event.call_id)
        if call is None or call.phase is Phase.ASKED:
            return []
        del self._calls[event.call_id]
        self._history.cancellable.discard(event.call_id)
        mcp = call.record.mcp is not None
        if event.outcome != "cancelled" and not mcp:  # the client requests responses about MCP results
            self._reply_due = self._reply_due or event.reply or bool(call.guidance)
            self.speech.on_ended(call)
        # an unreported one, such as a hand-over, stays at its call
        unreported = call.phase is Phase.OVERTAKEN and not (
            event.reply or call.guidance or call.shown_pending
        )
        late = (call.phase in (Phase.DETACHED, Phase.OVERTAKEN) and not unreported) or (
            call.phase is Phase.CANCELLING
            and event.outcome != "cancelled"
            and self._records.has_items_since(call.record)
        )
        error = event.error
        if event.outcome != "cancelled" and self._is_being_cancelled(event.call_id):
            self._history.given_up.discard(event.call_id)  # the cancellation came too late
        if mcp and error is None and event.outcome != "done":
            error = _execution_error(event.output)
        ended = self._records.add_output(call.record, event.output, late, error)
        return [*ended, *self._finish_cancelling(event)]

    def built_in_tools(self, settings: CallSettings) -> tuple[Tool, ...]:
        """Return the tools that the server itself offers to the model at this moment."""
        return cancel_tool(self._cancellable(), settings)

    def _cancellable(self) -> list[ToolCall]:
        """Return the running calls that the model may cancel."""
        calls = self._calls.values()
        return [call.call for call in calls if call.tool.model_may_cancel and call.phase in WORKING]

    def _start_cancelling(self, response_id: str, wanted: ToolCall) -> list[Command]:
        """Cancel a running call on the model's wish. The result follows once that call has ended."""
        targets = cancellable_by_label(self._cancellable())
        label = wanted_label(wanted.arguments)
        if label not in targets:
            allowed = ", ".join(targets) or "none, as no tool runs that can be cancelled"
            refusal = f"not done: there is no running tool {label!r}; allowed: {allowed}"
            return self._refuse(response_id, wanted, refusal)
        record, notices = self._records.add_call(response_id, wanted)
        tool = AgentTool(Tool(wanted.name, ""))
        self._calls[wanted.call_id] = UnfinishedCall(tool, record, Phase.RUNNING, cancels=targets[label])
        return [*notices, *self._stop(self._calls[targets[label]], by_model=True)]

    def _is_being_cancelled(self, call_id: str) -> bool:
        return any(call.cancels == call_id for call in self._calls.values())

    def _finish_cancelling(self, ended: ev.ToolFinished) -> list[Command]:
        """Give the model's call that cancels the ended one its result."""
        result = "cancelled" if ended.outcome == "cancelled" else "not cancelled: it had ended already"
        return [
            command
            for call in list(self._calls.values())
            if call.cancels == ended.call_id
            for command in self.on_finished(ev.ToolFinished(call.call.call_id, "done", result))
        ]

    def _cancel(self, call: UnfinishedCall) -> list[Command]:
        if not call.tool.cancellable or call.phase not in (Phase.RUNNING, Phase.OVERTAKEN):
            return []
        return self._stop(call)

    def _stop(self, call: UnfinishedCall, by_model: bool = False) -> list[Command]:
        """Cancel the tool; `ToolFinished` follows."""
        call.phase, call.update = Phase.CANCELLING, ""
        self._history.given_up.add(call.call.call_id)
        self._history.cancellable.discard(call.call.call_id)
        return [do.CancelTool(call.call.call_id, by_model)]

    def _refusal(self, tool: AgentTool, wanted: ToolCall) -> str | None:
        """Return the reason for not running a call, written for the model; None to run it."""
        if self._max_rounds is None and self._rounds > LOGGED_MAX_ROUNDS:
            return "not done: too many calls in a row; tell the caller what is known so far"
        for call in self._calls.values():
            if tool.when_played and call.tool.when_played:
                return f"not done: {call.tool.name} comes first"
            if call.tool.name == tool.name and _equal_as_json(call.call.arguments, wanted.arguments):
                return "not done again: this very call is running already, and its result will come"
        return None

    def _awaiting_approval(self, request_id: str) -> UnfinishedCall | None:
        asked = (call for call in self._calls.values() if call.phase is Phase.ASKED)
        return next((call for call in asked if call.record.item_id == request_id), None)

    def _refuse(
        self, response_id: str, wanted: ToolCall, refusal: str, mcp: McpTool | None = None
    ) -> list[Command]:
        record, notices = self._records.add_call(response_id, wanted, mcp)
        self._refused.append((record, refusal))
        self._reply_due = self._reply_due or mcp is None
        return [*notices]


def _execution_error(message: str) -> McpError:
    return McpError("tool_execution_error", message)


def _equal_as_json(one: str, other: str) -> bool:
    """Return True if two argument texts are equal as JSON."""
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return one == other
