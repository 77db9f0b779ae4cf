"""Telnyx: media streaming, and its REST API.

Streams are JSON text with base64 audio; snake_case, and no stream id in sent messages:
https://developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket. Agent audio is sent
in the caller's codec: `stream_bidirectional_mode` must be "rtp", `stream_bidirectional_codec` that of the
stream. The byte order of L16 is not documented: see `stream/arrival.ByteOrder`. REST API:
https://developers.telnyx.com/api-reference/call-commands
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NotRequired
from urllib.parse import quote

from pydantic import BeforeValidator, Field, TypeAdapter
from typing_extensions import TypedDict

from audio.pcm import AudioFormat
from voiceagent.transports.telephony.control import CallControl, RestRequest, send
from voiceagent.transports.telephony.provider import API_URL, LineSettings, PhoneLine, ProviderConfig
from voiceagent.transports.telephony.stream.json_messages import Count, Parameters, Text, wrong
from voiceagent.transports.telephony.stream.json_stream import (
    ConnectedMessage,
    DigitMessage,
    JsonStream,
    MarkMessage,
    MediaMessage,
    StopMessage,
)
from voiceagent.transports.telephony.stream.serializer import LineError, Started
from voiceagent.validation.errors import shorten

FORMATS = {
    ("PCMU", 8_000): AudioFormat.PCMU,
    ("PCMA", 8_000): AudioFormat.PCMA,
    ("L16", 8_000): AudioFormat.PCM_8K,
    ("L16", 16_000): AudioFormat.PCM_16K,
    ("L16", 24_000): AudioFormat.PCM_24K,
}


def _by_name(parameters: object) -> object:
    """Convert `custom_parameters` to a dict if in Telnyx's input form, a list of names and values."""
    if not isinstance(parameters, list):
        return parameters
    pairs = [(one.get("name"), one.get("value")) for one in parameters if isinstance(one, dict)]
    return dict(pairs) if all(isinstance(name, str) for name, _ in pairs) else parameters


class _MediaFormat(TypedDict):
    encoding: Text
    sample_rate: Count


_Start = TypedDict(
    "_Start",
    {
        "call_control_id": Text,
        "media_format": _MediaFormat,
        "from": NotRequired[Any],
        "to": NotRequired[Any],
        "custom_parameters": NotRequired[Annotated[Parameters | None, BeforeValidator(_by_name)]],
    },
)


class _StartMessage(TypedDict):
    event: Literal["start"]
    stream_id: Text
    start: _Start


class _ErrorMessage(TypedDict):
    event: Literal["error"]
    payload: NotRequired[Any]


_Message = (
    _StartMessage | MediaMessage | DigitMessage | MarkMessage | StopMessage | ConnectedMessage | _ErrorMessage
)


class TelnyxSerializer(JsonStream):
    """Serializer of one stream. Audio is sent without headers, 20 ms or more per message."""

    provider = "Telnyx"
    id_field = "stream_id"
    messages: ClassVar[TypeAdapter[Any]] = TypeAdapter(Annotated[_Message, Field(discriminator="event")])

    def mark(self, name: str) -> str:
        """Return a mark. Telnyx returns it when the audio before it was played, or dropped by `clear`."""
        return json.dumps({"event": "mark", "mark": {"name": name}}, separators=(",", ":"))

    def clear(self) -> str:
        """Return the command that clears Telnyx's queue."""
        return '{"event":"clear"}'

    def hang_up(self) -> None:
        """Return None: Telnyx hangs up by REST; a TeXML stream also when it ends."""

    def _start(self, said: _StartMessage) -> Started:
        start = said["start"]
        kind = start["media_format"]["encoding"], start["media_format"]["sample_rate"]
        if kind not in FORMATS:
            raise wrong("start.media_format", kind, ", ".join(map(str, FORMATS)))
        self._format = FORMATS[kind]
        self._stream_id = said["stream_id"]
        self._media_head = '{"event":"media","media":{"payload":"'
        callers = {"from": start.get("from"), "to": start.get("to")}
        known = {name: number for name, number in callers.items() if isinstance(number, str)}
        parameters = {**known, **(start.get("custom_parameters") or {})}
        return Started(start["call_control_id"], self._format, self._format, parameters=parameters)

    def _other(self, said: _ErrorMessage) -> LineError:
        """Return the reported error. All known errors concern one message; a stream's end is `stop`."""
        return LineError(shorten(said.get("payload")))


def hang_up_request(api_url: str, call_id: str, key: str) -> RestRequest:
    return _command(api_url, call_id, key, "hangup", {})


def transfer_request(api_url: str, call_id: str, key: str, number: str) -> RestRequest:
    """Return the request that connects the caller to `number`."""
    return _command(api_url, call_id, key, "transfer", {"to": number})


def bridge_request(api_url: str, call_id: str, key: str, other: str) -> RestRequest:
    """Return the request that connects two calls, as telnyx 4.189.0 (`actions.bridge`) sends it."""
    return _command(api_url, call_id, key, "bridge", {"call_control_id": other})


def digits_request(api_url: str, call_id: str, key: str, digits: str) -> RestRequest:
    """Return the request that sends keys, with "w" for pauses of half a second."""
    return _command(api_url, call_id, key, "send_dtmf", {"digits": digits})


def stream_request(api_url: str, call_id: str, key: str, stream: dict[str, str]) -> RestRequest:
    """Return the request that starts an audio stream in a call. stream: its settings."""
    return _command(api_url, call_id, key, "streaming_start", stream)


def _command(api_url: str, call_id: str, key: str, action: str, fields: dict[str, str]) -> RestRequest:
    url = f"{api_url.rstrip('/')}/v2/calls/{quote(call_id, safe='')}/actions/{action}"
    return RestRequest("POST", url, json=fields, headers={"Authorization": f"Bearer {key}"})


@dataclass(frozen=True, slots=True)
class TelnyxControl:
    """Control of one Telnyx call. key: an API key."""

    api_url: str
    key: str
    call_id: str
    transfers: bool = True

    async def hang_up(self) -> None:
        """End the call. Raise ControlError."""
        await send(hang_up_request(self.api_url, self.call_id, self.key))

    async def transfer(self, number: str) -> None:
        """Connect the caller to `number`. Raise ControlError."""
        await send(transfer_request(self.api_url, self.call_id, self.key, number))

    async def join(self, other: str) -> None:
        """Bridge both calls. Raise ControlError."""
        await send(bridge_request(self.api_url, self.call_id, self.key, other))

    async def send_digits(self, digits: str) -> bool:
        await send(digits_request(self.api_url, self.call_id, self.key, digits))
        return True


TOKEN_HEADER = "x-telnyx-streaming-auth-token"
"""Header with the `stream_auth_token` of the request that started the stream."""


class TelnyxConfig(ProviderConfig):
    """`[telephony.telnyx]`: Telnyx media streaming."""

    key_name: ClassVar[str] = "stream_token_env"
    stream_token_env: str | None = None
    """Environment variable that holds the `stream_auth_token` of media streams."""
    api_key_env: str | None = None
    """Environment variable that holds an API key, for outbound calls, hanging up and transferring."""
    connection_id: str = ""
    """Call Control application for outbound calls."""
    public_key: str = ""
    """The account's public key in base64. It verifies the webhooks of outbound calls."""
    api_url: str = Field(default="https://api.telnyx.com", pattern=API_URL)
    """Base URL of Telnyx's REST API."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the configured provider. Raise ConfigError."""
        token = settings.key("stream_token_env", self.stream_token_env)
        key = settings.key("api_key_env", self.api_key_env)

        def control(started: Started) -> CallControl | None:
            return None if key is None else TelnyxControl(self.api_url, key, started.call_id)

        def trusts(url: str, headers: Mapping[str, str]) -> bool:
            given = headers.get(TOKEN_HEADER, "")
            return token is not None and hmac.compare_digest(given.encode(), token.encode())

        return PhoneLine(TelnyxSerializer, control, None if token is None else trusts, reopens_streams=True)
