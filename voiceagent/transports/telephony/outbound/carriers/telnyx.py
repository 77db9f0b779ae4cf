"""Telnyx: places calls by the command Dial, which also starts the audio stream when the call is answered.

https://developers.telnyx.com/api-reference/call-commands/dial. Webhooks are JSON, signed with Ed25519 over
timestamp and body: https://developers.telnyx.com/development/api-fundamentals/webhooks/receiving-webhooks
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from voiceagent.transports.telephony.control import RestRequest
from voiceagent.transports.telephony.outbound.carriers.carrier import (
    STATUS,
    Delivery,
    Dial,
    InvalidReport,
    NotGenuine,
    Report,
)
from voiceagent.transports.telephony.outbound.policies.progress import Status
from voiceagent.transports.telephony.telnyx import hang_up_request, stream_request

SIGNATURE_HEADER, TIMESTAMP_HEADER = "telnyx-signature-ed25519", "telnyx-timestamp"
MAX_AGE_S = 300.0
"""Maximum age of a webhook, as in Telnyx's SDKs."""
STREAM_OVER = ("streaming.stopped", "streaming.failed")
HANGUP_CAUSES = {
    "user_busy": Status.BUSY,
    "no_answer": Status.NO_ANSWER,
    "timeout": Status.NO_ANSWER,
    "normal_clearing": Status.COMPLETED,
    "originator_cancel": Status.COMPLETED,
    "time_limit": Status.COMPLETED,
}
"""Other causes, such as `call_rejected` and `not_found`, are failures."""


@dataclass(frozen=True, slots=True)
class TelnyxCarrier:
    """Telnyx as a `Carrier`. key: an API key. stream_token: sent with the handshake of the stream.
    connection_id: the Call Control application. public_key: verifies webhooks.
    """

    api_url: str
    key: str
    stream_token: str
    connection_id: str
    public_key: Ed25519PublicKey

    def request(self, dial: Dial) -> RestRequest:
        """See `Carrier`. The command id makes a repeated request harmless."""
        fields = {
            "connection_id": self.connection_id,
            "to": dial.to,
            "from": dial.caller,
            "timeout_secs": dial.ring_s,
            "webhook_url": f"{dial.url}/{STATUS}",
            "webhook_url_method": "POST",
            "client_state": b64encode(dial.call_id.encode()).decode("ascii"),
            "command_id": dial.call_id,
            **self._stream(dial),
        }
        headers = {"Authorization": f"Bearer {self.key}"}
        return RestRequest("POST", f"{self.api_url.rstrip('/')}/v2/calls", json=fields, headers=headers)

    def line_call(self, answer: Mapping[str, Any]) -> str:
        data = answer.get("data")
        return str(data.get("call_control_id") or "") if isinstance(data, dict) else ""

    def hang_up(self, line_call: str) -> RestRequest:
        return hang_up_request(self.api_url, line_call, self.key)

    def read(self, delivery: Delivery) -> Report:
        identity = self._check_signature(delivery)
        try:
            data = json.loads(delivery.body)["data"]
            event, payload = data["event_type"], data["payload"]
            line_call = str(payload["call_control_id"])
        except (ValueError, KeyError, TypeError) as error:
            message = "data is no event; allowed: event_type, and payload with call_control_id"
            raise InvalidReport(message) from error
        if event == "call.answered":
            return Report(line_call, Status.ANSWERED, "answered", identity)
        if event == "call.hangup":
            cause, sip = str(payload.get("hangup_cause")), payload.get("sip_hangup_cause")
            status = HANGUP_CAUSES.get(cause, Status.FAILED)
            return Report(line_call, status, f"{cause} (SIP {sip})" if sip else cause, identity)
        return Report(line_call, None, "", identity, stream_lost=event in STREAM_OVER)

    def instructions(self, dial: Dial) -> str:
        """Return "": the request starts the stream."""
        return ""

    def reopen(self, dial: Dial, line_call: str) -> RestRequest | str:
        return stream_request(self.api_url, line_call, self.key, self._stream(dial))

    def _stream(self, dial: Dial) -> dict[str, str]:
        return {
            "stream_url": dial.stream_url,
            "stream_track": "inbound_track",
            "stream_codec": "PCMU",
            "stream_bidirectional_mode": "rtp",
            "stream_bidirectional_codec": "PCMU",
            "stream_auth_token": self.stream_token,
        }

    def _check_signature(self, delivery: Delivery) -> str:
        """Return the report's identity. Raise NotGenuine."""
        given, stamp = (delivery.headers.get(name, "") for name in (SIGNATURE_HEADER, TIMESTAMP_HEADER))
        try:
            self.public_key.verify(b64decode(given), stamp.encode() + b"|" + delivery.body)
            age_s = delivery.now_s - int(stamp)
        except (InvalidSignature, ValueError) as error:
            raise NotGenuine("it does not have Telnyx's signature") from error
        if abs(age_s) > MAX_AGE_S:
            raise NotGenuine(f"it was signed {age_s:.0f} s ago; allowed: {MAX_AGE_S:.0f} s")
        return f"{stamp} {sha256(delivery.body).hexdigest()}"
