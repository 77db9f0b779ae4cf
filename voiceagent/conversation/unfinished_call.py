"""A tool call that the server runs and that has not ended.

Asked ──▶ Running, Detached, or refused          Asked: the client must approve a tool of an MCP server
Waiting ──▶ Running ──▶ done, failed             Running: the conversation waits for it
   │           ├──▶ Overtaken ──▶ done, failed   awaited, but the agent's code spoke meanwhile: late result
   │           ├──▶ Detached ──▶ done, failed    the conversation continued: late result
   │           └──▶ Cancelling ──▶ cancelled     being cancelled; done if it ended first
   │                                             (by the model: from Running, Overtaken or Detached)
   └▶ cancelled, withdrawn                       the response was cut before it was to run
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

from llmcore.engine import ToolCall
from voiceagent.conversation import commands as do
from voiceagent.conversation.settings import AgentTool
from voiceagent.conversation.tool_records import CallRecord


class Phase(Enum):
    """Phases of a call that has not ended, as drawn above."""

    ASKED = auto()
    WAITING = auto()
    RUNNING = auto()
    OVERTAKEN = auto()
    DETACHED = auto()
    CANCELLING = auto()


AWAITED = (Phase.WAITING, Phase.RUNNING, Phase.OVERTAKEN)
WORKING = (Phase.RUNNING, Phase.OVERTAKEN, Phase.DETACHED)
"""Phases in which the tool runs, and its result is wanted."""


@dataclass(slots=True)
class UnfinishedCall:
    """A call that has not ended. shown_pending: a prompt showed it as pending. update: text that it wants
    spoken, "" for none. guidance: instruction for the response about its result, "" for none. slow: it has
    run so long that no response waits for it. cancels: id of the call that it cancels, if it is of the tool
    that does.
    """

    tool: AgentTool
    record: CallRecord
    phase: Phase
    shown_pending: bool = False
    update: str = ""
    guidance: str = ""
    slow: bool = False
    cancels: str = ""

    @property
    def call(self) -> ToolCall:
        """The model's call."""
        return self.record.call

    def run(self) -> do.RunTool:
        """Return the command that runs it."""
        if self.record.mcp is None:
            return do.RunTool(replace(self.call, name=self.tool.own_name or self.call.name))
        return do.RunTool(self.call, self.record.mcp.server, self.record.mcp.name)
