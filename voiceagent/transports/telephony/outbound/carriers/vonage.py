"""Vonage: places calls by `POST /v1/calls` with an NCCO that connects them to a WebSocket.

https://developer.vonage.com/en/api/voice#createCall. Webhooks are JSON; their token holds the SHA-256 of the
body: https://developer.vonage.com/en/getting-started/concepts/signing-messages
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from voiceagent.transports.telephony.control import RestRequest
from voiceagent.transports.telephony.outbound.carriers.carrier import (
    STATUS,
    STREAM,
    Delivery,
    Dial,
    InvalidReport,
    NotGenuine,
    Report,
)
from voiceagent.transports.telephony.outbound.policies.progress import Status
from voiceagent.transports.telephony.stream.public_url import websocket_url
from voiceagent.transports.telephony.vonage import application_token, hang_up_request, verified_claims

STATUSES = {
    "started": None,
    "ringing": Status.RINGING,
    "answered": Status.ANSWERED,
    "completed": Status.COMPLETED,
    "busy": Status.BUSY,
    "rejected": Status.FAILED,
    "timeout": Status.NO_ANSWER,
    "unanswered": Status.NO_ANSWER,
    "cancelled": Status.FAILED,
    "failed": Status.FAILED,
}
"""Other statuses, such as `human`, do not change ours."""
STREAM_LOST = ("disconnected", "failed", "unanswered")
"""Statuses of the WebSocket that was lost, or did not come about:
https://developer.vonage.com/en/voice/voice-api/concepts/websockets
"""


@dataclass(frozen=True, slots=True)
class VonageCarrier:
    """Vonage as a `Carrier`. key: the application's private key. secret: the account's signature secret."""

    api_url: str
    application_id: str
    key: RSAPrivateKey
    secret: str

    def request(self, dial: Dial) -> RestRequest:
        """See `Carrier`. Vonage writes numbers without the plus."""
        fields = {
            "to": [{"type": "phone", "number": dial.to.lstrip("+")}],
            "from": {"type": "phone", "number": dial.caller.lstrip("+")},
            "ncco": _ncco(dial),
            "event_url": [f"{dial.url}/{STATUS}"],
            "event_method": "POST",
            "ringing_timer": dial.ring_s,
        }
        token = application_token(self.application_id, self.key, time.time())
        headers = {"Authorization": f"Bearer {token}"}
        return RestRequest("POST", f"{self.api_url.rstrip('/')}/v1/calls", json=fields, headers=headers)

    def line_call(self, answer: Mapping[str, Any]) -> str:
        return str(answer.get("uuid") or "")

    def hang_up(self, line_call: str) -> RestRequest:
        token = application_token(self.application_id, self.key, time.time())
        return hang_up_request(self.api_url, line_call, token)

    def read(self, delivery: Delivery) -> Report:
        claims = verified_claims(self.secret, delivery.headers, delivery.now_s)
        hashed = sha256(delivery.body).hexdigest()
        if claims is None or not hmac.compare_digest(str(claims.get("payload_hash")), hashed):
            raise NotGenuine("it does not have Vonage's signature")
        try:
            event = json.loads(delivery.body)
            line_call, status, to = str(event["uuid"]), str(event["status"]), str(event.get("to"))
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidReport("the body is no event; allowed: JSON with uuid and status") from error
        reason = event.get("detail") or event.get("reason")
        cause = f"{status}: {reason}" if reason else status
        identity = delivery.headers["authorization"].partition(" ")[2].strip().rpartition(".")[0]
        if delivery.url.endswith(f"/{STREAM}"):  # its uuid is the WebSocket's, its address has the call's id
            if to != websocket_url(delivery.url.removesuffix(f"/{STREAM}")):
                raise NotGenuine(f"it is about {to[:80]}, not this call's stream")
            return Report("", None, cause, identity, stream_lost=status in STREAM_LOST)
        return Report(line_call, STATUSES.get(status), cause, identity)

    def instructions(self, dial: Dial) -> str:
        """Return "": the request has the NCCO."""
        return ""

    def reopen(self, dial: Dial, line_call: str) -> RestRequest | str:
        """Return the same NCCO again, as the answer to the report."""
        return json.dumps(_ncco(dial))


def _ncco(dial: Dial) -> list[dict[str, Any]]:
    """Return the instructions that connect a call to its stream, whose loss is reported at an address of its
    own. Vonage ends the call if the answer to that report has no others.
    """
    endpoint = {
        "type": "websocket",
        "uri": dial.stream_url,
        "content-type": "audio/l16;rate=16000",
        "authorization": {"type": "vonage"},
    }
    connect = {
        "action": "connect",
        "from": dial.caller.lstrip("+"),
        "endpoint": [endpoint],
        "eventType": "synchronous",
        "eventUrl": [f"{dial.url}/{STREAM}"],
        "eventMethod": "POST",
    }
    return [connect]
