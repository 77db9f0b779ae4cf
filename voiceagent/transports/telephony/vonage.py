"""Vonage: Voice WebSockets, signed handshakes, and its REST API.

Audio is in binary messages of 20 ms, L16 little-endian; events are JSON text:
https://developer.vonage.com/en/voice/voice-api/concepts/websockets. REST API:
https://developer.vonage.com/en/api/voice. Authentication:
https://developer.vonage.com/en/getting-started/concepts/webhooks: both sides send JSON Web Tokens (RFC 7519).
Ours are signed with an application's private key (RS256), Vonage's with the account's signature secret
(HS256).
"""

from __future__ import annotations

import hmac
import json
import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import quote
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import BeforeValidator, Field, TypeAdapter
from typing_extensions import TypedDict

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from voiceagent.transports.telephony.control import CallControl, RestRequest, send
from voiceagent.transports.telephony.provider import API_URL, LineSettings, PhoneLine, ProviderConfig
from voiceagent.transports.telephony.stream.json_messages import Digit, Parameters, Text, read_text, wrong
from voiceagent.transports.telephony.stream.serializer import (
    KeyPressed,
    MarkPlayed,
    Media,
    Message,
    PhoneEvent,
    ProtocolError,
    Started,
    Unknown,
)

FORMATS = {8_000: AudioFormat.PCM_8K, 16_000: AudioFormat.PCM_16K, 24_000: AudioFormat.PCM_24K}
_CONTENT_TYPE = re.compile(r"audio/l16;\s*rate=(\d{1,6})")


def _gathered(document: object) -> object:
    """Collect the NCCO's `headers`, which Vonage puts among the other fields, into one field. Their values
    are any JSON; those that are not text are kept as JSON text.
    """
    if not isinstance(document, dict):
        return document
    known = {name: document[name] for name in ("event", "content-type") if name in document}
    others = {name: value for name, value in document.items() if name not in known}
    headers = others.get("headers", others)
    if isinstance(headers, dict):
        headers = {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in headers.items()
        }
    return {**known, "headers": headers}


_Connected = TypedDict(
    "_Connected",
    {"event": Literal["websocket:connected"], "content-type": Text, "headers": Parameters | None},
)


class _DigitMessage(TypedDict):
    event: Literal["websocket:dtmf"]
    digit: Digit


class _Notified(TypedDict):
    name: Text


class _NotifyMessage(TypedDict):
    event: Literal["websocket:notify"]
    payload: _Notified


class _ClearedMessage(TypedDict):
    event: Literal["websocket:cleared"]


_Message = (
    Annotated[_Connected, BeforeValidator(_gathered)] | _DigitMessage | _NotifyMessage | _ClearedMessage
)
_MESSAGES: TypeAdapter[_Message] = TypeAdapter(Annotated[_Message, Field(discriminator="event")])


class VonageSerializer:
    """Serializer of one connection. The NCCO's `headers` arrive in its first message."""

    def __init__(self) -> None:
        self._format: AudioFormat | None = None

    def decode(self, message: Message) -> PhoneEvent | None:
        """Return the event in a message, None for messages before Vonage's first one. Raise ProtocolError."""
        if isinstance(message, bytes):
            return None if self._format is None else Media(message)
        said = read_text(_MESSAGES, message)
        if not isinstance(said, Unknown) and said["event"] == "websocket:connected":
            return self._start(said)
        if self._format is None:
            return None
        if isinstance(said, Unknown):
            return said
        if said["event"] == "websocket:dtmf":
            return KeyPressed(said["digit"])
        if said["event"] == "websocket:notify":
            return MarkPlayed(said["payload"]["name"])
        return None

    def media(self, frame: Samples) -> bytes:
        """Return a frame of the agent's audio as a message. Vonage requires 20 ms per message."""
        assert self._format is not None  # the start comes before any audio
        return encode_sound(frame, self._format)

    def mark(self, name: str) -> str:
        """Return a mark. Vonage notifies when the audio before it was played."""
        return json.dumps({"action": "notify", "payload": {"name": name}}, separators=(",", ":"))

    def clear(self) -> str:
        """Return the command that clears Vonage's buffer."""
        return '{"action":"clear"}'

    def hang_up(self) -> None:
        """Return None: Vonage continues with the NCCO's next action when the connection ends, or hangs up."""

    def _start(self, said: _Connected) -> Started:
        if self._format is not None:
            raise ProtocolError("a second websocket:connected came; a connection has one")
        found = _CONTENT_TYPE.fullmatch(said["content-type"])
        audio_format = FORMATS.get(int(found[1])) if found else None
        if audio_format is None:
            allowed = ", ".join(f"audio/l16;rate={rate_hz}" for rate_hz in FORMATS)
            raise wrong("content-type", said["content-type"], allowed)
        self._format = audio_format
        parameters = said["headers"] or {}
        return Started(parameters.get("call_uuid", ""), audio_format, audio_format, parameters=parameters)


MAX_AGE_S = 300.0
"""Maximum age of a token without an expiry, and maximum clock difference."""


def is_genuine(secret: str, headers: Mapping[str, str], now_s: float) -> bool:
    """Return True if `Authorization` holds a current token signed with the signature secret.

    headers: names in lower case. now_s: Unix seconds.
    """
    return verified_claims(secret, headers, now_s) is not None


def verified_claims(secret: str, headers: Mapping[str, str], now_s: float) -> dict[str, Any] | None:
    """Return the claims of the token in `Authorization`, None unless it is current and signed with the
    signature secret. Arguments as for `is_genuine`.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    signed, _, given = token.strip().rpartition(".")
    head, _, claims = signed.partition(".")
    try:
        expected = hmac.digest(secret.encode(), signed.encode(), "sha256")
        if scheme.lower() != "bearer" or not hmac.compare_digest(expected, _from_base64(given)):
            return None
        algorithm, said = json.loads(_from_base64(head)), json.loads(_from_base64(claims))
        issued_s, expires_s = float(said["iat"]), float(said.get("exp", said["iat"] + MAX_AGE_S))
        current = algorithm.get("alg") == "HS256" and issued_s - MAX_AGE_S <= now_s <= expires_s
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return said if current and isinstance(said, dict) else None


def application_token(application_id: str, key: RSAPrivateKey, now_s: float) -> str:
    """Return a token for the REST API, valid for a minute. now_s: Unix seconds."""
    claims = {
        "application_id": application_id,
        "iat": int(now_s),
        "exp": int(now_s) + 60,
        "jti": str(uuid4()),
    }
    signed = f"{_to_base64({'alg': 'RS256', 'typ': 'JWT'})}.{_to_base64(claims)}"
    signature = key.sign(signed.encode(), PKCS1v15(), SHA256())
    return f"{signed}.{urlsafe_b64encode(signature).decode('ascii').rstrip('=')}"


def _to_base64(content: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(content).encode()).decode("ascii").rstrip("=")


def _from_base64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def hang_up_request(api_url: str, call_id: str, token: str) -> RestRequest:
    return _update(api_url, call_id, token, {"action": "hangup"})


def transfer_request(api_url: str, call_id: str, token: str, number: str) -> RestRequest:
    """Return the request that connects the caller to `number`, E.164 without the plus."""
    endpoint = {"type": "phone", "number": number.lstrip("+")}
    ncco = [{"action": "connect", "endpoint": [endpoint]}]
    action = {"action": "transfer", "destination": {"type": "ncco", "ncco": ncco}}
    return _update(api_url, call_id, token, action)


def conference_request(api_url: str, call_id: str, token: str, room: str) -> RestRequest:
    """Return the request that moves a call into a conversation, which ends when either side leaves, as
    vonage-voice 1.5.1 (`Conversation`) sends it.
    """
    ncco = [{"action": "conversation", "name": room, "endOnExit": True}]
    action = {"action": "transfer", "destination": {"type": "ncco", "ncco": ncco}}
    return _update(api_url, call_id, token, action)


def digits_request(api_url: str, call_id: str, token: str, digits: str) -> RestRequest:
    """Return the request that sends keys. Vonage writes "p" for a pause of half a second."""
    url = f"{api_url.rstrip('/')}/v1/calls/{quote(call_id, safe='')}/dtmf"
    fields = {"digits": digits.replace("w", "p")}
    return RestRequest("PUT", url, json=fields, headers={"Authorization": f"Bearer {token}"})


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

    async def join(self, other: str) -> None:
        """Move both calls into a conversation. Raise ControlError."""
        for call_id in (self.call_id, other):
            await send(conference_request(self.api_url, call_id, self._token(), other))

    async def send_digits(self, digits: str) -> bool:
        await send(digits_request(self.api_url, self.call_id, self._token(), digits))
        return True

    def _token(self) -> str:
        return application_token(self.application_id, self.key, time.time())


class VonageConfig(ProviderConfig):
    """`[telephony.vonage]`: Vonage Voice WebSockets."""

    key_name: ClassVar[str] = "signature_secret_env"
    signature_secret_env: str | None = None
    """Environment variable that holds the account's signature secret, which signs handshakes."""
    application_id: str = ""
    """Voice application on whose behalf calls are placed, hung up and transferred."""
    private_key_env: str | None = None
    """Environment variable that holds the application's private key, as PEM."""
    api_url: str = Field(default="https://api.nexmo.com", pattern=API_URL)
    """Base URL of Vonage's REST API."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the configured provider. Raise ConfigError."""
        secret = settings.key("signature_secret_env", self.signature_secret_env)
        pem = settings.key("private_key_env", self.private_key_env)
        key = None if pem is None else self.private_key(pem, settings)

        def control(started: Started) -> CallControl | None:
            if key is None or not started.call_id:
                return None
            return VonageControl(self.api_url, self.application_id, key, started.call_id)

        def trusts(url: str, headers: Mapping[str, str]) -> bool:
            return secret is not None and is_genuine(secret, headers, time.time())

        return PhoneLine(VonageSerializer, control, None if secret is None else trusts, reopens_streams=True)

    def private_key(self, pem: str, settings: LineSettings) -> RSAPrivateKey:
        """Return the private key in `pem`. Raise ConfigError."""
        try:
            key = load_pem_private_key(pem.encode(), None)
        except (ValueError, TypeError) as error:
            message = "holds no private key; allowed: PEM without a passphrase"
            raise settings.config_error("private_key_env", self.private_key_env, message) from error
        if not isinstance(key, RSAPrivateKey):
            message = "holds a key of another kind; allowed: RSA"
            raise settings.config_error("private_key_env", self.private_key_env, message)
        return key
