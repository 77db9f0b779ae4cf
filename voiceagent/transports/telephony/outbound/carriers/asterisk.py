"""Asterisk: places calls by its REST interface (ARI), and reports from its dialplan.

https://docs.asterisk.org/Latest_API/API_Documentation/Asterisk_REST_Interface/Channels_REST_API. The call is
a channel of kind Local: one half dials the number in the context `voiceagent-dial` and reports DIALSTATUS
when it is over; when the phone is answered, the other half dials this server in the context
`voiceagent-agent`. docs/telephony.md has both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote

from voiceagent.transports.telephony.asterisk import has_password
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

STATUSES = {
    "ANSWER": Status.COMPLETED,
    "BUSY": Status.BUSY,
    "NOANSWER": Status.NO_ANSWER,
    "CANCEL": Status.FAILED,
    "CONGESTION": Status.FAILED,
    "CHANUNAVAIL": Status.FAILED,
}
"""Values of DIALSTATUS when the call is over:
https://docs.asterisk.org/Latest_API/API_Documentation/Dialplan_Applications/Dial
"""


@dataclass(frozen=True, slots=True)
class AsteriskCarrier:
    """Asterisk as a `Carrier`. url: of its HTTP server. user, ari_password: of ari.conf. password: with which
    the dialplan reports, that of the audio connection.
    """

    url: str
    user: str
    ari_password: str
    password: str

    def request(self, dial: Dial) -> RestRequest:
        """See `Carrier`. The channel has the call's id."""
        fields = {
            "endpoint": f"Local/{dial.to}@voiceagent-dial/n",
            "context": "voiceagent-agent",
            "extension": "s",
            "priority": 1,
            "callerId": dial.caller,
            "timeout": dial.ring_s + 5,  # Dial gives up first, and says why
            "channelId": dial.call_id,
            "variables": {
                "VOICEAGENT_CALL": dial.call_id,
                "VOICEAGENT_REPORT": f"{dial.url}/{STATUS}",
                "VOICEAGENT_RING_S": str(dial.ring_s),
            },
        }
        return RestRequest("POST", self._channels, json=fields, user=(self.user, self.ari_password))

    def line_call(self, answer: Mapping[str, Any]) -> str:
        """Return the channel's id."""
        return str(answer.get("id") or "")

    def hang_up(self, line_call: str) -> RestRequest:
        url = f"{self._channels}/{quote(line_call, safe='')}"
        return RestRequest("DELETE", url, user=(self.user, self.ari_password))

    def read(self, delivery: Delivery) -> Report:
        """See `Carrier`. A report has the password; there is one for each call."""
        if not has_password(self.password, delivery.headers):
            raise NotGenuine("it does not have the password of Asterisk's connection")
        form = parse_qs(delivery.body.decode("utf-8", "replace"), keep_blank_values=True)
        status, cause, line_call = (form.get(name, [""])[0] for name in ("status", "cause", "call"))
        if status not in STATUSES:
            raise InvalidReport(f"status is {status[:40]!r}; allowed: {', '.join(STATUSES)}")
        identity = f"{line_call} {status}"
        return Report(line_call, STATUSES[status], f"{status} {cause}".strip(), identity, status == "ANSWER")

    def instructions(self, dial: Dial) -> str:
        """Return nothing: the dialplan connects the call."""
        return ""

    @property
    def _channels(self) -> str:
        return f"{self.url.rstrip('/')}/ari/channels"

    def reopen(self, dial: Dial, line_call: str) -> RestRequest | str:
        """Return "": the instructions have the stream more than once."""
        return ""
