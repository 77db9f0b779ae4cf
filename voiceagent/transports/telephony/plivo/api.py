"""Plivo outside the stream: XML, and requests to its REST API.

https://www.plivo.com/docs/voice/api/call
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote
from xml.sax.saxutils import escape

from voiceagent.transports.telephony.control import ControlError, RestRequest, send
from voiceagent.transports.telephony.stream.serializer import Started


def dial_xml(number: str) -> str:
    """Return the XML that connects the caller to `number`."""
    return f"<Response><Dial><Number>{escape(number)}</Number></Dial></Response>"


def hang_up_request(api_url: str, account_id: str, call_id: str, token: str) -> RestRequest:
    """Return the request that ends a call."""
    return RestRequest("DELETE", _call_url(api_url, account_id, call_id), user=(account_id, token))


def transfer_request(api_url: str, account_id: str, call_id: str, token: str, xml_url: str) -> RestRequest:
    """Return the request that continues the caller's leg with the XML at `xml_url`; this ends the stream."""
    fields = {"legs": "aleg", "aleg_url": xml_url, "aleg_method": "POST"}
    return RestRequest("POST", _call_url(api_url, account_id, call_id), json=fields, user=(account_id, token))


def _call_url(api_url: str, account_id: str, call_id: str) -> str:
    return f"{api_url.rstrip('/')}/v1/Account/{quote(account_id, safe='')}/Call/{quote(call_id, safe='')}/"


@dataclass(frozen=True, slots=True)
class PlivoControl:
    """Control of one Plivo call. token: the auth token. public_url: of this server, required for transfers.
    numbers: allowed destinations.
    """

    api_url: str
    token: str
    public_url: str | None
    started: Started
    numbers: frozenset[str] = frozenset()

    @property
    def transfers(self) -> bool:
        """True if the public URL is known: Plivo fetches the transfer XML from this server."""
        return self.public_url is not None

    async def hang_up(self) -> None:
        """End the call. Raise ControlError."""
        await send(hang_up_request(self.api_url, self.started.account_id, self.started.call_id, self.token))

    async def transfer(self, number: str) -> None:
        """Connect the caller to `number`. Raise ControlError."""
        assert self.public_url is not None
        if number not in self.numbers:
            raise ControlError(f"Plivo dials the numbers of telephony.transfers alone; not {number}")
        url = f"{self.public_url.rstrip('/')}/telephony/plivo/transfer?to={quote(number, safe='')}"
        account_id, call_id = self.started.account_id, self.started.call_id
        await send(transfer_request(self.api_url, account_id, call_id, self.token, url))
