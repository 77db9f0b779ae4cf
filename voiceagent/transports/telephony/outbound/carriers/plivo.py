"""Plivo: places calls by `POST Call/`, and asks for XML when the call is answered.

https://www.plivo.com/docs/voice/api/call/make-a-call. Webhooks are forms signed like all of Plivo's:
https://www.plivo.com/docs/voice/concepts/callbacks
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote
from xml.sax.saxutils import escape

from voiceagent.transports.telephony.control import RestRequest
from voiceagent.transports.telephony.outbound.carriers.carrier import (
    AGAIN,
    CONNECT,
    STATUS,
    Delivery,
    Dial,
    InvalidReport,
    NotGenuine,
    Report,
)
from voiceagent.transports.telephony.outbound.policies.progress import Status
from voiceagent.transports.telephony.plivo import NONCE_HEADER, hang_up_request, is_genuine, signature

STATUSES = {
    "queued": None,
    "ringing": Status.RINGING,
    "in-progress": Status.ANSWERED,
    "completed": Status.COMPLETED,
    "busy": Status.BUSY,
    "no-answer": Status.NO_ANSWER,
    "timeout": Status.NO_ANSWER,
    "cancel": Status.FAILED,
    "failed": Status.FAILED,
}


@dataclass(frozen=True, slots=True)
class PlivoCarrier:
    """Plivo as a `Carrier`. token: the account's auth token."""

    api_url: str
    auth_id: str
    token: str

    def request(self, dial: Dial) -> RestRequest:
        """See `Carrier`. Plivo writes numbers without the plus."""
        fields = {
            "from": dial.caller.lstrip("+"),
            "to": dial.to.lstrip("+"),
            "answer_url": f"{dial.url}/{CONNECT}",
            "answer_method": "POST",
            "ring_url": f"{dial.url}/{STATUS}",
            "ring_method": "POST",
            "hangup_url": f"{dial.url}/{STATUS}",
            "hangup_method": "POST",
            "ring_timeout": dial.ring_s,
        }
        url = f"{self.api_url.rstrip('/')}/v1/Account/{quote(self.auth_id, safe='')}/Call/"
        return RestRequest("POST", url, json=fields, user=(self.auth_id, self.token))

    def line_call(self, answer: Mapping[str, Any]) -> str:
        """Return the request's id, which is also the call's."""
        return str(answer.get("request_uuid") or "")

    def hang_up(self, line_call: str) -> RestRequest:
        return hang_up_request(self.api_url, self.auth_id, line_call, self.token)

    def read(self, delivery: Delivery) -> Report:
        form = parse_qs(delivery.body.decode("utf-8", "replace"), keep_blank_values=True)
        if not is_genuine(self.token, delivery.url, form, delivery.headers):
            raise NotGenuine("it does not have Plivo's signature")
        status = form.get("CallStatus", [""])[0]
        if status not in STATUSES:
            raise InvalidReport(f"CallStatus is {status[:40]!r}; allowed: {', '.join(STATUSES)}")
        causes = (form.get(name, [""])[0] for name in ("HangupCauseName", "HangupCauseCode"))
        cause = " ".join(filter(None, causes)) or status
        line_call = form.get("RequestUUID", [""])[0] or form.get("CallUUID", [""])[0]
        identity = signature(self.token, delivery.url, form, delivery.headers[NONCE_HEADER])
        return Report(line_call, STATUSES[status], cause, identity, status == "completed")

    def instructions(self, dial: Dial) -> str:
        """Return the XML that connects the call to its stream, and to another one after its loss."""
        options = 'bidirectional="true" keepCallAlive="true" contentType="audio/x-mulaw;rate=8000"'
        stream = f"<Stream {options}>{escape(dial.stream_url)}</Stream>"
        again = '<Wait length="1"/>'.join([stream] * (1 + AGAIN))
        return f"<Response>{again}</Response>"

    def reopen(self, dial: Dial, line_call: str) -> RestRequest | str:
        """Return "": the instructions have the stream more than once."""
        return ""
