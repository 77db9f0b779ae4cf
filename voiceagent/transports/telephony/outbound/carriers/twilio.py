"""Twilio: places calls by `POST Calls.json` with TwiML.

https://www.twilio.com/docs/voice/api/call-resource#create-a-call-resource. The same page documents the status
callbacks, which are forms signed like all of Twilio's webhooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote

from voiceagent.transports.telephony.control import RestRequest
from voiceagent.transports.telephony.outbound.carriers.carrier import (
    AGAIN,
    STATUS,
    Delivery,
    Dial,
    InvalidReport,
    NotGenuine,
    Report,
)
from voiceagent.transports.telephony.outbound.policies.progress import Status
from voiceagent.transports.telephony.twilio import connect_twiml, hang_up_request, is_genuine, signature

STATUSES = {
    "queued": None,
    "initiated": None,
    "ringing": Status.RINGING,
    "in-progress": Status.ANSWERED,
    "completed": Status.COMPLETED,
    "busy": Status.BUSY,
    "no-answer": Status.NO_ANSWER,
    "canceled": Status.FAILED,
    "failed": Status.FAILED,
}
EVENTS = ("initiated", "ringing", "answered", "completed")


@dataclass(frozen=True, slots=True)
class TwilioCarrier:
    """Twilio as a `Carrier`. token: the account's auth token."""

    api_url: str
    account_sid: str
    token: str

    def request(self, dial: Dial) -> RestRequest:
        path = f"/2010-04-01/Accounts/{quote(self.account_sid, safe='')}/Calls.json"
        form = {
            "To": dial.to,
            "From": dial.caller,
            "Twiml": connect_twiml(dial.stream_url, {}, again=AGAIN),
            "StatusCallback": f"{dial.url}/{STATUS}",
            "StatusCallbackEvent": EVENTS,
            "StatusCallbackMethod": "POST",
            "Timeout": str(dial.ring_s),
        }
        user = (self.account_sid, self.token)
        return RestRequest("POST", self.api_url.rstrip("/") + path, form=form, user=user)

    def line_call(self, answer: Mapping[str, Any]) -> str:
        return str(answer.get("sid") or "")

    def hang_up(self, line_call: str) -> RestRequest:
        return hang_up_request(self.api_url, self.account_sid, line_call, self.token)

    def read(self, delivery: Delivery) -> Report:
        form = parse_qs(delivery.body.decode("utf-8", "replace"), keep_blank_values=True)
        if not is_genuine(self.token, delivery.url, form, delivery.headers):
            raise NotGenuine("it does not have Twilio's signature")
        status, sip_code = (form.get(name, [""])[0] for name in ("CallStatus", "SipResponseCode"))
        if status not in STATUSES:
            raise InvalidReport(f"CallStatus is {status[:40]!r}; allowed: {', '.join(STATUSES)}")
        cause = f"{status} (SIP {sip_code})" if sip_code else status
        identity = signature(self.token, delivery.url, form)
        return Report(form.get("CallSid", [""])[0], STATUSES[status], cause, identity, status == "completed")

    def instructions(self, dial: Dial) -> str:
        """Return "": the request has the TwiML."""
        return ""

    def reopen(self, dial: Dial, line_call: str) -> RestRequest | str:
        """Return "": the instructions have the stream more than once."""
        return ""
