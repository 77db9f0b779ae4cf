"""Twilio outside the stream: TwiML, and requests to its REST API.

https://www.twilio.com/docs/voice/twiml/stream, https://www.twilio.com/docs/voice/api/call-resource
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from voiceagent.transports.telephony.control import RestRequest, send
from voiceagent.transports.telephony.stream.serializer import Started


def connect_twiml(stream_url: str, parameters: Mapping[str, str], then: str | None = None) -> str:
    """Return TwiML that connects a call to a stream. parameters: returned in the stream's `customParameters`.
    then: URL requested if the stream has ended or failed and the call continues; None ends the call.
    """
    given = "".join(
        f"<Parameter name={quoteattr(name)} value={quoteattr(value)}/>" for name, value in parameters.items()
    )
    connect = f"<Connect><Stream url={quoteattr(stream_url)}>{given}</Stream></Connect>"
    again = "" if then is None else f'<Redirect method="POST">{escape(then)}</Redirect>'
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{connect}{again}</Response>'


def hang_up_request(api_url: str, account_id: str, call_id: str, token: str) -> RestRequest:
    """Return the request that ends a call."""
    return _update(api_url, account_id, call_id, token, {"Status": "completed"})


def transfer_request(api_url: str, account_id: str, call_id: str, token: str, number: str) -> RestRequest:
    """Return the request that connects the caller to `number`, which ends the stream."""
    twiml = f"<Response><Dial>{escape(number)}</Dial></Response>"
    return _update(api_url, account_id, call_id, token, {"Twiml": twiml})


def _update(api_url: str, account_id: str, call_id: str, token: str, form: dict[str, str]) -> RestRequest:
    path = f"/2010-04-01/Accounts/{quote(account_id, safe='')}/Calls/{quote(call_id, safe='')}.json"
    return RestRequest("POST", api_url.rstrip("/") + path, form=form, user=(account_id, token))


@dataclass(frozen=True, slots=True)
class TwilioControl:
    """Control of one Twilio call. token: the account's auth token."""

    api_url: str
    token: str
    started: Started
    transfers: bool = True

    async def hang_up(self) -> None:
        """End the call. Raise ControlError."""
        await send(
            hang_up_request(self.api_url, self.started.account_id, self.started.call_id, self.token),
        )

    async def transfer(self, number: str) -> None:
        """Connect the caller to `number`. Raise ControlError."""
        account_id, call_id = self.started.account_id, self.started.call_id
        await send(transfer_request(self.api_url, account_id, call_id, self.token, number))
