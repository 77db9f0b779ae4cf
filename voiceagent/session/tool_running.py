"""Runs the tools of one call, each as a task; `ToolFinished` is posted once for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Literal, get_args

import structlog

from llmcore.engine import ToolCall
from voiceagent.conversation.events import AgentEvent, ToolFinished, ToolOutcome, ToolSlow
from voiceagent.conversation.history import CANCELLED, CANCELLED_BY_MODEL
from voiceagent.conversation.mcp import McpError
from voiceagent.conversation.settings import AgentTool
from voiceagent.conversation.tool_names import free_names
from voiceagent.session.agent import OfferedTool, ToolFailed, ToolResult, current_call_id
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.references import until_stopped
from voiceagent.session.services import Measuring
from voiceagent.telemetry.call_ids import enter_work

_FAILED = "the tool failed; what it was to do may not be done"
"""Error for the model of a failure without words of its own."""
ToolSource = Literal["agent", "line", "mcp"]
"""Sources of a call's tools: its agent, its line, and the configured MCP servers."""

_Outcome = tuple[ToolOutcome, ToolResult, str, McpError | None]


class ToolRunner:
    """Owner of the tools in progress. ended: called with each tool's name and the reason if it failed,
    else "". began: called in the task of a tool, with the id of its call.

    A tool that is not cancellable outlives its call, up to its timeout; one that has not started yet does
    not start any more.
    """

    def __init__(
        self,
        call_id: str,
        measuring: Measuring,
        post: Callable[[AgentEvent], None],
        monitor: CallMonitor,
        filler_after_s: float,
        ended: Callable[[str, str], None],
        began: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._log = structlog.get_logger().bind(call=call_id)
        self._clock = measuring.clock
        self._metrics = measuring.metrics
        self._post = post
        self._monitor = monitor
        self._filler_after_s = filler_after_s
        self._ended = ended
        self._offered: dict[ToolSource, Sequence[OfferedTool]] = {}
        self._tools: dict[str, OfferedTool] = {}  # by offered name
        self._began = began
        self._running: dict[str, asyncio.Task[None]] = {}
        self._working: dict[str, tuple[AgentTool, asyncio.Task[ToolResult]]] = {}
        self._withdrawn: set[str] = set()  # cancelled before they started
        self._cancelled_by_model: set[str] = set()
        self._client_timers: list[asyncio.TimerHandle] = []

    def offer(self, tools: Sequence[OfferedTool], source: ToolSource) -> tuple[AgentTool, ...]:
        """Replace the tools of this source. Return the tools of all sources under the names offered to the
        model. If two have one name, the tool of the later source is renamed, and that is logged.
        """
        self._offered[source] = tools
        before, self._tools = self._tools, {}
        owned = [(tool.server or source, tool) for source, tool in self._all()]
        names = free_names((owner, tool.tool.name) for owner, tool in owned)
        for name, (owner, tool) in zip(names, owned, strict=True):
            spec = replace(tool.tool.tool, name=name)
            self._tools[name] = replace(tool, tool=replace(tool.tool, tool=spec))
            if name != tool.tool.name and name not in before:
                self._log.warning("tool_renamed", tool=tool.tool.name, offered_as=name, owner=owner)
        return tuple(tool.tool for tool in self._tools.values())

    @property
    def busy(self) -> bool:
        return bool(self._working)

    def run(self, call: ToolCall, tool: OfferedTool | None = None) -> None:
        """Run a tool: `tool`, or the one of its name."""
        tool = tool or self._tools.get(call.name)
        if tool is None:  # the call was handed to another agent meanwhile
            self._post(ToolFinished(call.call_id, "failed", f"there is no tool {call.name!r} any more"))
            return
        task = asyncio.create_task(self._run(tool, call), name=f"tool {call.name}")
        self._running[call.call_id] = task
        task.add_done_callback(lambda _: self._forget(call.call_id))

    def cancel(self, call_id: str, by_model: bool = False) -> None:
        """Cancel a tool, unless it has ended. by_model: the model cancels it."""
        if by_model and call_id in self._running:
            self._cancelled_by_model.add(call_id)
        if call_id in self._working:
            self._working[call_id][1].cancel()
        elif call_id in self._running:
            self._withdrawn.add(call_id)

    def await_client(self, call_id: str) -> None:
        """Post `ToolSlow` for a call of the client's tool when one of the agent's would be slow."""
        loop = asyncio.get_running_loop()
        slow = loop.call_later(self._filler_after_s, self._post, ToolSlow(call_id))
        self._client_timers = [timer for timer in self._client_timers if timer.when() > loop.time()] + [slow]

    @property
    def at_work(self) -> Set[asyncio.Task[None]]:
        """Tasks of the tools that have not ended; some outlive the call."""
        return frozenset(self._running.values())

    async def close(self) -> None:
        """Cancel the cancellable tools and wait until they have stopped; the others keep running."""
        self._withdrawn |= self._running.keys() - self._working.keys()
        for timer in self._client_timers:
            timer.cancel()
        stopped = []
        for call_id, (tool, work) in self._working.items():
            if tool.cancellable:
                work.cancel()
                stopped.append(self._running[call_id])
        await until_stopped(stopped)

    def _all(self) -> Iterator[tuple[ToolSource, OfferedTool]]:
        for source in get_args(ToolSource):
            for tool in self._offered.get(source, ()):
                yield source, tool

    def _forget(self, call_id: str) -> None:
        self._running.pop(call_id, None)
        self._cancelled_by_model.discard(call_id)

    async def _run(self, offered: OfferedTool, call: ToolCall) -> None:
        enter_work()
        began_s = self._clock()
        slow = asyncio.get_running_loop().call_later(self._filler_after_s, self._post, ToolSlow(call.call_id))
        outcome, result, failure, error = await self._outcome(offered, call)
        slow.cancel()
        took_s = self._clock() - began_s
        self._metrics.tool_ended(offered.counted_as or call.name, outcome, took_s)
        server = {"server": offered.server} if offered.server else {}
        took_ms = round(took_s * 1000, 1)
        self._log.info("tool", tool=call.name, **server, outcome=outcome, took_ms=took_ms, reason=failure)
        self._ended(call.name, failure)  # first: the response about the result follows the new instructions
        self._post(ToolFinished(call.call_id, outcome, result.output, result.reply, error))

    async def _outcome(self, offered: OfferedTool, call: ToolCall) -> _Outcome:
        """Return how the tool ended, the result for the model, and why it failed, for log and clients."""
        tool = offered.tool
        if call.call_id in self._withdrawn:
            self._withdrawn.discard(call.call_id)
            return self._cancelled(call.call_id)
        # in this task: the tool's task inherits its context, so its spans are children of the call's
        self._began(call.call_id)
        current_call_id.set(call.call_id)
        # a task of its own: it may outlive the call, and can be cancelled without the waiting task
        work = asyncio.ensure_future(offered.run(call.arguments))
        assert isinstance(work, asyncio.Task)
        work.set_name(f"work of tool {call.name}")
        self._working[call.call_id] = tool, work
        # waited for from outside: a tool that ignores its cancellation must not block the call
        await asyncio.wait({work}, timeout=tool.timeout_s)
        if not work.done():
            await asyncio.sleep(0)  # a tool that ends exactly at the limit is in time
        del self._working[call.call_id]
        if not work.done():
            work.cancel()
            reason = f"no result within {tool.timeout_s:g} s"
            output = f"{reason}; it was stopped, and may have been done in part"
            return "failed", ToolResult(output), reason, None
        if work.cancelled() and work.cancelling():
            return self._cancelled(call.call_id)
        # something inside the tool was cancelled
        error = asyncio.CancelledError() if work.cancelled() else work.exception()
        if error is None:
            return "done", work.result(), "", None
        if isinstance(error, ToolFailed):
            return "failed", ToolResult(str(error) or _FAILED), str(error), error.error
        self._monitor.fault(f"tool {tool.name}", error)
        return "failed", ToolResult(_FAILED), type(error).__name__, None

    def _cancelled(self, call_id: str) -> _Outcome:
        if call_id in self._cancelled_by_model:
            return "cancelled", ToolResult(CANCELLED_BY_MODEL, reply=False), "the model cancelled it", None
        return "cancelled", ToolResult(CANCELLED, reply=False), "it was cancelled", None
