"""Requests to Vonage's REST API: https://developer.vonage.com/en/api/voice."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from voiceagent.transports.telephony.control import RestRequest, send
from voiceagent.transports.telephony.vonage.signature import application_token


def hang_up_request(api_url: str, call_id: str, token: str) -> RestRequest:
    """Return the request that ends a call."""
    return _update(api_url, call_id, token, {"action": "hangup"})


def transfer_request(api_url: str, call_id: str, token: str, number: str) -> RestRequest:
    """Return the request that connects the caller to `number`, E.164 without the plus."""
    endpoint = {"type": "phone", "number": number.lstrip("+")}
    ncco = [{"action": "connect", "endpoint": [endpoint]}]
    action = {"action": "transfer", "destination": {"type": "ncco", "ncco": ncco}}
    return _update(api_url, call_id, token, action)


def _update(api_url: str, call_id: str, token: str, action: dict[str, Any]) -> RestRequest:
    url = f"{api_url.rstrip('/')}/v1/calls/{quote(call_id, safe='')}"
    return RestRequest("PUT", url, json=action, headers={"Authorization": f"Bearer {token}"})


@dataclass(frozen=True, slots=True)
class VonageControl:
    """Control of one Vonage call. Its id is known only if the NCCO passes it as the header `call_uuid`."""

    api_url: str
    application_id: str
    key: RSAPrivateKey
    call_id: str
    transfers: bool = True

    async def hang_up(self) -> None:
        """End the call. Raise ControlError."""
        await send(hang_up_request(self.api_url, self.call_id, self._token()))

    async def transfer(self, number: str) -> None:
        """Connect the caller to `number`. Raise ControlError."""
        await send(transfer_request(self.api_url, self.call_id, self._token(), number))

    def _token(self) -> str:
        return application_token(self.application_id, self.key, time.time())
