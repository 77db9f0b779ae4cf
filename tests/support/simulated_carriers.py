"""Providers that place calls, as their REST APIs and webhooks behave. For tests of outbound calls."""

from __future__ import annotations

import asyncio
import json
import math
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode
from uuid import uuid4

import httpx
import jwt
import phone_lines
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from voiceagent.transports.telephony import plivo, twilio

PUBLIC_URL = "https://agent.example"
TELNYX_KEY = Ed25519PrivateKey.generate()
_PEM = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
ENVIRONMENT = {
    "TWILIO_TOKEN": "twilio-token",
    "PLIVO_TOKEN": "plivo-token",
    "TELNYX_KEY": "telnyx-key",
    "TELNYX_STREAM": "telnyx-stream",
    "ASTERISK_PASSWORD": "asterisk-password",
    "ARI_PASSWORD": "ari-password",
    "VONAGE_SECRET": "vonage-secret-of-thirty-two-bytes",
    "VONAGE_KEY": generate_private_key(65_537, 2_048).private_bytes(*_PEM).decode(),
}


@dataclass
class Webhook:
    """A webhook to post. url: as the provider writes it."""

    url: str
    body: bytes
    headers: dict[str, str]


@dataclass
class Asked:
    """A request of the server."""

    method: str
    path: str
    headers: Mapping[str, str]
    fields: dict[str, Any]
    line_call: str


class SimulatedCarrier:
    """A provider. refuses: its API answers with `refusal`, or does so after `accepts` requests. asked: all
    requests.
    """

    name: ClassVar[str]
    line: ClassVar[type[phone_lines.Provider]]
    statuses: ClassVar[dict[str, str]]

    def __init__(self) -> None:
        self.refuses = False
        self.refusal = "403 Forbidden"
        self.accepts = math.inf
        self.asked: list[Asked] = []
        self.api_url = "https://api.example"

    def table(self) -> dict[str, Any]:
        """The provider's table of the configuration."""
        raise NotImplementedError

    def answer(self, line_call: str) -> dict[str, Any]:
        """Return the answer of the API."""
        raise NotImplementedError

    def event(self, asked: Asked, status: str) -> Webhook:
        """The signed webhook for a status: ringing, answered, completed, busy or no_answer."""
        raise NotImplementedError

    def stream_url(self, asked: Asked, xml: str) -> str:
        """Return the URL that the stream connects to. xml: the answer to the webhook `answered`, if any."""
        raise NotImplementedError

    def handshake(self, url: str) -> dict[str, str]:
        """The headers with which the stream connects."""
        raise NotImplementedError

    def stream_lost(self, asked: Asked) -> Webhook:
        """The signed webhook for a lost stream."""
        raise NotImplementedError

    def reopened_url(self, answer: str) -> str:
        """Return the URL that the stream connects to again, "" for none. answer: that to `stream_lost`."""
        raise NotImplementedError

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:-2])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        fields = dict(parse_qs(body.decode())) if form else json.loads(body or b"{}")
        line_call = f"line-{uuid4().hex}"
        self.asked.append(Asked(*head[0].split()[:2], headers, fields, line_call))
        refuses = self.refuses or len(self.asked) > self.accepts
        status = self.refusal if refuses else "201 Created"
        answer = json.dumps({"message": "no permission"} if refuses else self.answer(line_call))
        writer.write(
            f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(answer)}\r\n"
            f"connection: close\r\n\r\n{answer}".encode()
        )
        await writer.drain()
        writer.close()


class Twilio(SimulatedCarrier):
    name, line = "twilio", phone_lines.Twilio
    statuses: ClassVar[dict[str, str]] = {
        "ringing": "ringing",
        "answered": "in-progress",
        "completed": "completed",
        "busy": "busy",
        "no_answer": "no-answer",
    }

    def table(self) -> dict[str, Any]:
        return {"auth_token_env": "TWILIO_TOKEN", "account_sid": "AC1", "api_url": self.api_url}

    def answer(self, line_call: str) -> dict[str, Any]:
        return {"sid": line_call, "status": "queued"}

    def event(self, asked: Asked, status: str) -> Webhook:
        form = {
            "CallSid": asked.line_call,
            "CallStatus": self.statuses[status],
            "Timestamp": str(time.time()),
        }
        (url,) = asked.fields["StatusCallback"]
        signed = twilio.signature(ENVIRONMENT["TWILIO_TOKEN"], url, {name: [form[name]] for name in form})
        return Webhook(url, urlencode(form).encode(), {twilio.HEADER: signed})

    def stream_url(self, asked: Asked, xml: str) -> str:
        return str(asked.fields["Twiml"][0].split('<Stream url="')[1].split('"')[0])

    def handshake(self, url: str) -> dict[str, str]:
        return {twilio.HEADER: twilio.signature(ENVIRONMENT["TWILIO_TOKEN"], url, {})}


class Telnyx(SimulatedCarrier):
    name, line = "telnyx", phone_lines.Telnyx
    statuses: ClassVar[dict[str, str]] = {
        "completed": "normal_clearing",
        "busy": "user_busy",
        "no_answer": "timeout",
    }

    def table(self) -> dict[str, Any]:
        return {
            "stream_token_env": "TELNYX_STREAM",
            "api_key_env": "TELNYX_KEY",
            "connection_id": "c1",
            "public_key": b64encode(TELNYX_KEY.public_key().public_bytes_raw()).decode(),
            "api_url": self.api_url,
        }

    def answer(self, line_call: str) -> dict[str, Any]:
        return {"data": {"call_control_id": line_call}}

    def event(self, asked: Asked, status: str, at_s: float | None = None) -> Webhook:
        cause = self.statuses.get(status)
        kind = {"ringing": "call.initiated", "answered": "call.answered"}.get(status, "call.hangup")
        payload = {"call_control_id": asked.line_call, "client_state": asked.fields["client_state"]}
        if cause is not None:
            payload |= {"hangup_cause": cause, "sip_hangup_cause": "486"}
        return self._signed(asked, kind, payload, at_s)

    def stream_lost(self, asked: Asked) -> Webhook:
        payload = {"call_control_id": asked.line_call, "failure_reason": "connection_failed"}
        return self._signed(asked, "streaming.failed", payload)

    def reopened_url(self, answer: str) -> str:
        command = self.asked[-1]
        return str(command.fields["stream_url"]) if command.path.endswith("/streaming_start") else ""

    def _signed(self, asked: Asked, kind: str, payload: dict[str, Any], at_s: float | None = None) -> Webhook:
        body = json.dumps({"data": {"event_type": kind, "id": str(uuid4()), "payload": payload}}).encode()
        stamp = str(int(time.time() if at_s is None else at_s))
        signed = b64encode(TELNYX_KEY.sign(stamp.encode() + b"|" + body)).decode()
        headers = {"telnyx-timestamp": stamp, "telnyx-signature-ed25519": signed}
        return Webhook(asked.fields["webhook_url"], body, headers)

    def stream_url(self, asked: Asked, xml: str) -> str:
        return str(asked.fields["stream_url"])

    def handshake(self, url: str) -> dict[str, str]:
        return {"x-telnyx-streaming-auth-token": ENVIRONMENT["TELNYX_STREAM"]}


class Plivo(SimulatedCarrier):
    name, line = "plivo", phone_lines.Plivo
    statuses = Twilio.statuses

    def table(self) -> dict[str, Any]:
        return {"auth_token_env": "PLIVO_TOKEN", "auth_id": "MA1", "api_url": self.api_url}

    def answer(self, line_call: str) -> dict[str, Any]:
        return {"message": "call fired", "request_uuid": line_call}

    def event(self, asked: Asked, status: str) -> Webhook:
        kind = {"ringing": "ring_url", "answered": "answer_url"}.get(status, "hangup_url")
        form = {
            "CallUUID": asked.line_call,
            "RequestUUID": asked.line_call,
            "CallStatus": self.statuses[status],
        }
        url, nonce = asked.fields[kind], uuid4().hex
        token = ENVIRONMENT["PLIVO_TOKEN"]
        signed = plivo.signature(token, url, {name: [form[name]] for name in form}, nonce)
        headers = {"x-plivo-signature-v3": signed, plivo.NONCE_HEADER: nonce}
        return Webhook(url, urlencode(form).encode(), headers)

    def stream_url(self, asked: Asked, xml: str) -> str:
        return xml.split("</Stream>", maxsplit=1)[0].rpartition(">")[2]

    def handshake(self, url: str) -> dict[str, str]:
        signed = plivo.signature(ENVIRONMENT["PLIVO_TOKEN"], url, {}, "n")
        return {"x-plivo-signature-v3": signed, plivo.NONCE_HEADER: "n"}


class Vonage(SimulatedCarrier):
    name, line = "vonage", phone_lines.Vonage
    statuses: ClassVar[dict[str, str]] = {"no_answer": "unanswered"}

    def table(self) -> dict[str, Any]:
        return {
            "signature_secret_env": "VONAGE_SECRET",
            "application_id": "a1",
            "private_key_env": "VONAGE_KEY",
            "api_url": self.api_url,
        }

    def answer(self, line_call: str) -> dict[str, Any]:
        return {"uuid": line_call, "status": "started", "direction": "outbound"}

    def event(self, asked: Asked, status: str, at_s: float | None = None) -> Webhook:
        body = json.dumps({"uuid": asked.line_call, "status": self.statuses.get(status, status)}).encode()
        (url,) = asked.fields["event_url"]
        return Webhook(url, body, self._signed(at_s, payload_hash=sha256(body).hexdigest()))

    def stream_url(self, asked: Asked, xml: str) -> str:
        (action,) = asked.fields["ncco"]
        return str(action["endpoint"][0]["uri"])

    def handshake(self, url: str) -> dict[str, str]:
        return self._signed(None)

    def stream_lost(self, asked: Asked) -> Webhook:
        """The event of the WebSocket's own leg, in Vonage's form: its uuid is not the call's."""
        (action,) = asked.fields["ncco"]
        assert action["eventType"] == "synchronous", "otherwise the answer's NCCO is ignored"
        event = {"uuid": uuid4().hex, "to": action["endpoint"][0]["uri"], "status": "disconnected"}
        body = json.dumps(event).encode()
        return Webhook(action["eventUrl"][0], body, self._signed(None, payload_hash=sha256(body).hexdigest()))

    def reopened_url(self, answer: str) -> str:
        return str(json.loads(answer)[0]["endpoint"][0]["uri"]) if answer else ""

    def _signed(self, at_s: float | None, **claims: str) -> dict[str, str]:
        issued = int(time.time() if at_s is None else at_s)
        claims = {"iat": issued, "jti": uuid4().hex, **claims}  # type: ignore[dict-item]
        return {"authorization": f"Bearer {jwt.encode(claims, ENVIRONMENT['VONAGE_SECRET'], 'HS256')}"}


class Asterisk(SimulatedCarrier):
    """Reports the end alone, from its dialplan."""

    name, line = "asterisk", phone_lines.Asterisk
    statuses: ClassVar[dict[str, str]] = {"completed": "ANSWER", "busy": "BUSY", "no_answer": "NOANSWER"}

    def table(self) -> dict[str, Any]:
        return {
            "password_env": "ASTERISK_PASSWORD",
            "ari_url": self.api_url,
            "ari_password_env": "ARI_PASSWORD",
        }

    def answer(self, line_call: str) -> dict[str, Any]:
        return {"id": line_call, "name": "Local/+15550123456@voiceagent-dial-00000000;1", "state": "Down"}

    def event(self, asked: Asked, status: str) -> Webhook:
        form = {"status": self.statuses[status], "cause": "17", "call": asked.line_call}
        url = asked.fields["variables"]["VOICEAGENT_REPORT"]
        return Webhook(url, urlencode(form).encode(), self.handshake(url))

    def stream_url(self, asked: Asked, xml: str) -> str:
        call_id = asked.fields["variables"]["VOICEAGENT_CALL"]
        return f"{PUBLIC_URL.replace('https', 'wss')}/telephony/asterisk?outbound_call={call_id}"

    def handshake(self, url: str) -> dict[str, str]:
        user = b64encode(f"asterisk:{ENVIRONMENT['ASTERISK_PASSWORD']}".encode()).decode()
        return {"authorization": f"Basic {user}"}


CARRIERS: list[type[SimulatedCarrier]] = [Twilio, Telnyx, Plivo, Vonage]
"""Those that sign their webhooks, report each status and connect two calls."""
PLACING = [*CARRIERS, Asterisk]
"""All that place calls."""


@asynccontextmanager
async def running(kind: type[SimulatedCarrier]) -> AsyncIterator[SimulatedCarrier]:
    """A provider's REST API that runs for the length of the block."""
    carrier = kind()
    server = await asyncio.start_server(carrier.serve, "127.0.0.1", 0)
    carrier.api_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield carrier
    finally:
        server.close()


@dataclass
class Posting:
    """Posts webhooks to the server at a port, as from a proxy at the public URL."""

    port: int
    answers: list[httpx.Response] = field(default_factory=list)

    async def post(self, webhook: Webhook) -> httpx.Response:
        path = webhook.url.removeprefix(PUBLIC_URL)
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.post(
                f"http://127.0.0.1:{self.port}{path}", content=webhook.body, headers=webhook.headers
            )
        self.answers.append(answer)
        return answer
