"""Hang-up and transfer on a phone call, as tools for the model and as methods for the agent's code.

Tools run after the agent's last words have been played, and not at all after a barge-in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping

import structlog

from llmcore.engine import Tool
from voiceagent.conversation.settings import AgentTool
from voiceagent.session.agent import OfferedTool, Placed, ToolFailed, ToolResult
from voiceagent.transports.telephony.control import CallControl, ControlError

log = structlog.get_logger()

TRANSFERRED_S = 10.0
"""Maximum wait for the provider to end the stream after a transfer; then this server ends it."""

_HANG_UP = Tool(
    "hang_up",
    "End the phone call. Say goodbye first, in the same answer: the call ends when the caller has heard it.",
    {"type": "object", "properties": {}, "additionalProperties": False},
)


class LineTools:
    """Tools of one phone call: a `Line`. transfers: destination names and their numbers; without destinations
    or control the agent cannot transfer. end: ends the call, with the reason and whether to hang up. placed:
    the outbound call, None for an inbound one.
    """

    def __init__(
        self,
        control: CallControl | None,
        transfers: Mapping[str, str],
        end: Callable[[str, bool], None],
        placed: Placed | None = None,
    ) -> None:
        self.placed = placed
        self._control = control
        self._transfers = transfers if control is not None and control.transfers else {}
        self._end = end

    def offered(self) -> tuple[OfferedTool, ...]:
        """Return the tools offered to the model."""
        hang_up = OfferedTool(AgentTool(_HANG_UP, when_played=True), self._hang_up)
        if not self._transfers:
            return (hang_up,)
        transfer = AgentTool(_transfer_tool(self._transfers), when_played=True)
        return (hang_up, OfferedTool(transfer, self._transfer))

    async def transfer(self, destination: str = "", number: str = "") -> None:
        """Transfer the caller to a configured destination or to a number. Raise ToolFailed."""
        if self._control is None or not self._control.transfers:
            raise ToolFailed("this line cannot transfer calls; the caller is still there")
        if not number and destination not in self._transfers:
            allowed = ", ".join(sorted(self._transfers)) or "nobody"
            raise ToolFailed(f"destination is {destination!r}; allowed: {allowed}")
        name = destination or number
        try:
            await self._control.transfer(number or self._transfers[destination])
        except ControlError as error:
            log.warning("transfer_failed", destination=name, reason=str(error))
            raise ToolFailed(f"the transfer to {name} failed; the caller is still there") from error
        log.info("transferred", destination=name)
        await asyncio.sleep(TRANSFERRED_S)
        self._end(f"the caller was transferred to {name}", False)

    async def _hang_up(self, arguments: str) -> ToolResult:
        self._end("the agent hung up", True)
        return ToolResult("hung up", reply=False)

    async def _transfer(self, arguments: str) -> ToolResult:
        try:
            given = json.loads(arguments)
        except ValueError as error:
            raise ToolFailed(f"the arguments of transfer_call are not JSON: {error}") from error
        destination = given.get("destination") if isinstance(given, dict) else None
        await self.transfer(str(destination))
        return ToolResult("transferred", reply=False)


def _transfer_tool(transfers: Mapping[str, str]) -> Tool:
    destination = {"type": "string", "enum": sorted(transfers), "description": "who to connect to"}
    return Tool(
        "transfer_call",
        "Connect the caller to somebody else and leave the call. Say so first, in the same answer.",
        {
            "type": "object",
            "properties": {"destination": destination},
            "required": ["destination"],
            "additionalProperties": False,
        },
    )
