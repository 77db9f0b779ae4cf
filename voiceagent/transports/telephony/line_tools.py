"""Hang-up, transfer and keys on a phone call, as tools for the model and as methods for the agent's code.

Tools run after the agent's last words have been played, and not at all after a barge-in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping

import structlog

from llmcore.engine import Tool
from voiceagent.conversation.settings import AgentTool
from voiceagent.session.agent import (
    OfferedTool,
    OutboundDetails,
    ToolFailed,
    ToolResult,
    TransferFailed,
    check_keys,
)
from voiceagent.telemetry.log import Personal
from voiceagent.transports.telephony.control import CallControl, ControlError
from voiceagent.transports.telephony.keys import KeySender
from voiceagent.transports.telephony.outbound.warm_transfer import WarmTransfer
from voiceagent.transports.telephony.stream.menu_loop import KeyDecision, MenuLoop

log = structlog.get_logger()

TRANSFERRED_S = 10.0
"""Maximum wait for the provider to end the stream after a transfer; then this server ends it."""
TRANSFER_S = 180.0
"""Maximum time of the transfer tool: a colleague's phone may ring for 120 s (`outbound.ring_s`)."""

_HANG_UP = Tool(
    "hang_up",
    "End the phone call. Say goodbye first, in the same answer: the call ends when the caller has heard it.",
    {"type": "object", "properties": {}, "additionalProperties": False},
)
_SEND_DIGITS = Tool(
    "send_digits",
    "Press keys on the phone, to choose in a menu or to enter a number. Say nothing in the same answer.",
    {
        "type": "object",
        "properties": {
            "digits": {"type": "string", "description": "0-9, * and #; w for a pause of half a second"}
        },
        "required": ["digits"],
        "additionalProperties": False,
    },
)


class LineTools:
    """Tools of one phone call: a `Line`. transfers: destination names and their numbers; without destinations
    or control the agent cannot transfer. end: ends the call, with the reason and whether to hang up.
    outbound: the outbound call, in which the model may send keys; None for an inbound one. keys: sends keys,
    None if the line cannot. heard: returns the transcript of the last turn at the other end. warm: of warm
    transfers, None if the line cannot. announce: called before a colleague is called.
    """

    def __init__(
        self,
        control: CallControl | None,
        transfers: Mapping[str, str],
        end: Callable[[str, bool], None],
        outbound: OutboundDetails | None = None,
        keys: KeySender | None = None,
        heard: Callable[[], str] = str,
        warm: WarmTransfer | None = None,
        announce: Callable[[], None] = lambda: None,
    ) -> None:
        self._announce = announce
        self._warm = warm
        self.outbound = outbound
        self._keys = keys
        self._heard = heard
        self._menu = MenuLoop()
        self._control = control
        self._transfers = transfers if control is not None and control.transfers else {}
        self._end = end

    def offered(self) -> tuple[OfferedTool, ...]:
        """Return the tools offered to the model."""
        tools = [OfferedTool(AgentTool(_HANG_UP, when_played=True), self._hang_up)]
        if self._transfers:
            tool = _transfer_tool(self._transfers, self._warm is not None)
            transfer = AgentTool(tool, when_played=True, timeout_s=TRANSFER_S)
            tools.append(OfferedTool(transfer, self._transfer))
        if self.outbound is not None and self._keys is not None:
            tools.append(OfferedTool(AgentTool(_SEND_DIGITS, when_played=True), self._send_digits))
        return tuple(tools)

    async def transfer(self, destination: str = "", number: str = "", brief: str = "") -> None:
        """Transfer to a configured destination or number. brief: see `Line`. Raise ToolFailed,
        TransferFailed.
        """
        if self._control is None or not self._control.transfers:
            raise ToolFailed("this line cannot transfer calls; the caller is still there")
        if not number and destination not in self._transfers:
            allowed = ", ".join(sorted(self._transfers)) or "nobody"
            raise ToolFailed(f"destination is {destination!r}; allowed: {allowed}")
        name, shown = (destination, destination) if destination else ("the number", Personal(number))
        number = number or self._transfers[destination]
        try:
            if brief.strip():
                await self._connect_briefed(number, brief)
            else:
                await self._control.transfer(number)
        except TransferFailed as failed:
            log.warning("transfer_failed", destination=shown, outcome=failed.reason, reason=str(failed))
            raise
        except ControlError as error:
            reason = str(error).replace(number, name)
            log.warning("transfer_failed", destination=shown, reason=reason)
            raise ToolFailed(f"the transfer to {name} failed; the caller is still there") from error
        log.info("transferred", destination=shown)
        await asyncio.sleep(TRANSFERRED_S)
        self._end(f"the caller was transferred to {name}", False)

    async def _connect_briefed(self, number: str, brief: str) -> None:
        if self._warm is None:
            message = "no call to a colleague can be placed ([outbound]); the caller is still there"
            raise TransferFailed("failed", message)
        self._announce()
        await self._warm.connect(number, brief)

    async def send_digits(self, digits: str) -> None:
        """Send keys. Raise ToolFailed."""
        if self._keys is None:
            raise ToolFailed("this line cannot send keys")
        check_keys(digits)
        try:
            await self._keys.send(digits)
        except ControlError as error:
            log.warning("send_digits_failed", reason=str(error))
            raise ToolFailed("the line did not send the keys") from error
        log.info("digits_sent", digits=Personal(digits))

    async def _send_digits(self, arguments: str) -> ToolResult:
        digits = str(_argument(arguments, "send_digits", "digits"))
        match self._menu.decide(self._heard(), digits):
            case KeyDecision.HANG_UP:
                self._end("the phone menu loops", True)
                return ToolResult("the menu loops; the call was ended", reply=False)
            case KeyDecision.REFUSE:
                message = f"the menu has come back to where {digits} was sent before; choose another key, say"
                raise ToolFailed(f"{message} in words what you want, or hang up")
        await self.send_digits(digits)
        return ToolResult("sent", reply=False)

    async def _hang_up(self, arguments: str) -> ToolResult:
        self._end("the agent hung up", True)
        return ToolResult("hung up", reply=False)

    async def _transfer(self, arguments: str) -> ToolResult:
        destination, brief = [
            _argument(arguments, "transfer_call", name) for name in ("destination", "brief")
        ]
        await self.transfer(str(destination), brief=brief if isinstance(brief, str) else "")
        return ToolResult("transferred", reply=False)


def _argument(arguments: str, tool: str, name: str) -> object:
    """Return an argument of a tool, None if the model left it out. Raise ToolFailed."""
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise ToolFailed(f"the arguments of {tool} are not JSON: {error}") from error
    return given.get(name) if isinstance(given, dict) else None


def _transfer_tool(transfers: Mapping[str, str], is_warm: bool) -> Tool:
    destination = {"type": "string", "enum": sorted(transfers), "description": "who to connect to"}
    properties: dict[str, object] = {"destination": destination}
    if is_warm:
        about = (
            "what the colleague hears before being connected: who calls and why; leave out to connect at once"
        )
        properties["brief"] = {"type": "string", "description": about}
    return Tool(
        "transfer_call",
        "Connect the caller to somebody else and leave the call. Say so first, in the same answer.",
        {
            "type": "object",
            "properties": properties,
            "required": ["destination"],
            "additionalProperties": False,
        },
    )
