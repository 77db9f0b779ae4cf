"""Requests to Telnyx's REST API.

https://developers.telnyx.com/api-reference/call-commands
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from voiceagent.transports.telephony.control import RestRequest, send


def hang_up_request(api_url: str, call_id: str, key: str) -> RestRequest:
    """Return the request that ends a call."""
    return _command(api_url, call_id, key, "hangup", {})


def transfer_request(api_url: str, call_id: str, key: str, number: str) -> RestRequest:
    """Return the request that connects the caller to `number`."""
    return _command(api_url, call_id, key, "transfer", {"to": number})


def _command(api_url: str, call_id: str, key: str, action: str, fields: dict[str, str]) -> RestRequest:
    url = f"{api_url.rstrip('/')}/v2/calls/{quote(call_id, safe='')}/actions/{action}"
    return RestRequest("POST", url, json=fields, headers={"Authorization": f"Bearer {key}"})


@dataclass(frozen=True, slots=True)
class TelnyxControl:
    """Control of one Telnyx call. key: an API key."""

    api_url: str
    key: str
    call_id: str
    transfers: bool = True

    async def hang_up(self) -> None:
        """End the call. Raise ControlError."""
        await send(hang_up_request(self.api_url, self.call_id, self.key))

    async def transfer(self, number: str) -> None:
        """Connect the caller to `number`. Raise ControlError."""
        await send(transfer_request(self.api_url, self.call_id, self.key, number))
