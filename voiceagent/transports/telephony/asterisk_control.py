"""Control of a call at Asterisk, through its REST interface (ARI) and two contexts of its dialplan.

ARI moves only channels that are in an application of its own. Ours are in the dialplan, so a short-lived
channel of kind Local runs `ChannelRedirect` on them:
https://docs.asterisk.org/Latest_API/API_Documentation/Dialplan_Applications/ChannelRedirect
docs/telephony.md has the contexts `voiceagent-move`, `voiceagent-transfer` and `voiceagent-join`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from voiceagent.transports.telephony.control import ControlError, RestRequest, send_for_json

MOVED_S, POLL_S = 5.0, 0.1
"""Maximum wait for Asterisk to move a channel, and the interval at which its bridges are read."""
_EXTENSION = re.compile(r"[+\w.*#-]{1,80}")
"""Extensions that `ChannelRedirect` reads as one argument."""


@dataclass(frozen=True, slots=True)
class AsteriskControl:
    """Control of the channel at the other end of ours. url: of Asterisk's HTTP server. user: name and
    password of ari.conf. channel: name of our channel, which `Dial` has bridged.
    """

    url: str
    user: tuple[str, str]
    channel: str
    transfers: bool = True

    async def hang_up(self) -> None:
        """Do nothing: the stream's command ends our channel, and the dialplan goes on."""

    async def transfer(self, number: str) -> None:
        """Continue the caller in the dialplan, at the extension `number`. Raise ControlError."""
        ours, caller = await self._ends(self.channel)
        await self._move(caller, "voiceagent-transfer", number)
        await self._until(lambda bridges: not any({ours, caller} <= one for one in bridges))

    async def join(self, other: str) -> None:
        """Have the dialplan bridge the other ends of both calls. Raise ControlError."""
        _, colleague = await self._ends(self.channel)
        _, caller = await self._ends(other)
        await self._move(colleague, "voiceagent-join", caller)
        await self._until(lambda bridges: any({caller, colleague} <= one for one in bridges))

    async def send_digits(self, digits: str) -> bool:
        """Return False: keys are sent as tones."""
        return False

    async def _ends(self, name: str) -> tuple[str, str]:
        """Return the ids of the channel with this name, and of the one bridged to it."""
        channels = await self._ask("GET", "/channels")
        ours = next((str(one["id"]) for one in channels if one["name"] == name), "")
        bridge = next((one for one in await self._bridges() if ours in one), frozenset())
        if ours not in bridge or len(bridge) != 2:
            raise ControlError(f"{name} is not bridged to one other channel")
        (other,) = bridge - {ours}
        return ours, other

    async def _move(self, channel: str, context: str, extension: str) -> None:
        if not _EXTENSION.fullmatch(extension):
            raise ControlError("the number has other characters than an extension")
        start = {
            "endpoint": "Local/s@voiceagent-move",
            "context": "voiceagent-move",
            "extension": "s",
            "priority": 1,
            "variables": {"VOICEAGENT_CHANNEL": channel, "VOICEAGENT_TO": f"{context},{extension},1"},
        }
        await self._ask("POST", "/channels", start)

    async def _until(self, is_done: Callable[[list[frozenset[str]]], bool]) -> None:
        """Wait until Asterisk's bridges are as they should be. Raise ControlError."""
        for _ in range(round(MOVED_S / POLL_S)):
            if is_done(await self._bridges()):
                return
            await asyncio.sleep(POLL_S)
        raise ControlError("Asterisk did not move the channel; see voiceagent-move in docs/telephony.md")

    async def _bridges(self) -> list[frozenset[str]]:
        return [frozenset(one["channels"]) for one in await self._ask("GET", "/bridges")]

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        url = f"{self.url.rstrip('/')}/ari{path}"
        return await send_for_json(RestRequest(method, url, json=body, user=self.user))
