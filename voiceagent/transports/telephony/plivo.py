"""Plivo: audio streaming, signed webhooks, XML, and its REST API.

Streams are JSON text with base64 audio; marks are called checkpoints:
https://www.plivo.com/docs/voice-agents/audio-streaming/concepts/audio-streaming-guide. The byte order of L16
is not documented: see `stream/arrival.ByteOrder`. REST API: https://www.plivo.com/docs/voice/api/call
"""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NotRequired
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit
from xml.sax.saxutils import escape

from pydantic import BeforeValidator, Field, TypeAdapter
from starlette.responses import PlainTextResponse, Response
from typing_extensions import TypedDict

from audio.pcm import AudioFormat
from voiceagent.transports.telephony.control import CallControl, ControlError, RestRequest, send
from voiceagent.transports.telephony.provider import API_URL, LineSettings, PhoneLine, ProviderConfig
from voiceagent.transports.telephony.stream.json_messages import Count, Parameters, Text, wrong
from voiceagent.transports.telephony.stream.json_stream import (
    ConnectedMessage,
    DigitMessage,
    JsonStream,
    MarkMessage,
    OfStream,
    StopMessage,
)
from voiceagent.transports.telephony.stream.public_url import with_and_without_port
from voiceagent.transports.telephony.stream.serializer import MarkPlayed, PhoneEvent, Started
from voiceagent.transports.telephony.webhook import Form, Webhook

FORMATS = {
    ("audio/x-mulaw", 8_000): AudioFormat.PCMU,
    ("audio/x-l16", 8_000): AudioFormat.PCM_8K,
    ("audio/x-l16", 16_000): AudioFormat.PCM_16K,
}


def _pairs(headers: object) -> object:
    """Parse `extraHeaders` of the Stream element if they arrive as "name=value;name=value"."""
    if not isinstance(headers, str):
        return headers
    pairs = [pair.partition("=") for pair in headers.strip("{} ").replace(",", ";").split(";") if "=" in pair]
    return {name.strip(): value.strip() for name, _, value in pairs}


class _MediaFormat(TypedDict):
    encoding: Text
    sampleRate: Count


class _Start(TypedDict):
    callId: Text
    streamId: Text
    accountId: Text
    mediaFormat: _MediaFormat


class _StartMessage(TypedDict):
    event: Literal["start"]
    start: _Start
    extra_headers: NotRequired[Annotated[Parameters | None, BeforeValidator(_pairs)]]


class _MediaContent(TypedDict):
    payload: str
    chunk: NotRequired[Count]
    track: NotRequired[str | None]


class _MediaMessage(OfStream):
    event: Literal["media"]
    media: _MediaContent


class _PlayedMessage(OfStream):
    event: Literal["playedStream"]
    name: Text


class _ClearedMessage(OfStream):
    event: Literal["clearedAudio"]


_Message = (
    _StartMessage
    | _MediaMessage
    | DigitMessage
    | MarkMessage
    | StopMessage
    | ConnectedMessage
    | _PlayedMessage
    | _ClearedMessage
)


class PlivoSerializer(JsonStream):
    """Serializer of one stream. Messages carry the stream id of `start`."""

    provider = "Plivo"
    id_field = "streamId"
    messages: ClassVar[TypeAdapter[Any]] = TypeAdapter(Annotated[_Message, Field(discriminator="event")])

    def mark(self, name: str) -> str:
        """Return a checkpoint. Plivo reports when the audio before it was played, nothing if cleared."""
        return self._message(event="checkpoint", name=name)

    def clear(self) -> str:
        """Return the command that clears Plivo's queue."""
        return self._message(event="clearAudio")

    def hang_up(self) -> None:
        """Return None: Plivo hangs up by REST, or at the stream's end unless its XML says `keepCallAlive`."""

    def _start(self, said: _StartMessage) -> Started:
        start = said["start"]
        kind = encoding, rate_hz = start["mediaFormat"]["encoding"], start["mediaFormat"]["sampleRate"]
        if kind not in FORMATS:
            raise wrong("start.mediaFormat", kind, ", ".join(map(str, FORMATS)))
        self._format = FORMATS[kind]
        self._stream_id = start["streamId"]
        content = {"contentType": encoding, "sampleRate": rate_hz, "payload": ""}
        self._media_head = self._message(event="playAudio", media=content).removesuffix('"}}')
        return Started(
            start["callId"],
            self._format,
            self._format,
            account_id=start["accountId"],
            parameters=said.get("extra_headers") or {},
        )

    def _other(self, said: _PlayedMessage | _ClearedMessage) -> PhoneEvent | None:
        if said["event"] == "clearedAudio":
            return None
        self._of_stream(said)
        return MarkPlayed(said["name"])

    def _message(self, **content: object) -> str:
        return json.dumps({"streamId": self._stream_id, **content}, separators=(",", ":"))


HEADERS = ("x-plivo-signature-v3", "x-plivo-signature-ma-v3")
"""Signatures by the number's account and by its main account. Each may hold several, separated by commas."""
NONCE_HEADER = "x-plivo-signature-v3-nonce"
TRANSFER = "/telephony/plivo/transfer"
CONFERENCE = "/telephony/plivo/conference"


def signature(token: str, url: str, form: Mapping[str, Sequence[str]], nonce: str) -> str:
    """Return Plivo's signature of a request. form: the values of each name, empty for a GET.

    https://www.plivo.com/docs/voice/concepts/signature-validation: version 3 is the base64 of an HMAC-SHA256,
    keyed with the auth token, of the URL with sorted query, a form's sorted names and values, and a nonce,
    separated by dots.
    """
    parts = urlsplit(url)
    query = parse_qs(parts.query, keep_blank_values=True)
    base = parts._replace(query="", fragment="").geturl()
    asked = "&".join(f"{name}={value}" for name in sorted(query) for value in sorted(query[name]))
    posted = "".join(name + value for name in sorted(form) for value in sorted(form[name]))
    signed = base + (f"?{asked}" if asked or form else "") + ("." if asked and form else "") + posted
    return b64encode(hmac.digest(token.encode(), f"{signed}.{nonce}".encode(), "sha256")).decode("ascii")


def is_genuine(token: str, url: str, form: Mapping[str, Sequence[str]], headers: Mapping[str, str]) -> bool:
    """Return True if the headers (names in lower case) sign this request, with or without the URL's port."""
    nonce = headers.get(NONCE_HEADER)
    given = [one.strip() for name in HEADERS for one in headers.get(name, "").split(",") if one.strip()]
    if not nonce or not given:
        return False
    expected = [signature(token, url, form, nonce) for url in with_and_without_port(url)]
    return any([hmac.compare_digest(one.encode(), other.encode()) for one in expected for other in given])


def dial_xml(number: str) -> str:
    """Return the XML that connects the caller to `number`."""
    return f"<Response><Dial><Number>{escape(number)}</Number></Dial></Response>"


def conference_xml(room: str) -> str:
    """Return the XML that moves a call into a conference, over when a side leaves, as plivo 4.63.0 does."""
    return f'<Response><Conference endConferenceOnExit="true">{escape(room)}</Conference></Response>'


def hang_up_request(api_url: str, account_id: str, call_id: str, token: str) -> RestRequest:
    return RestRequest("DELETE", _call_url(api_url, account_id, call_id), user=(account_id, token))


def transfer_request(api_url: str, account_id: str, call_id: str, token: str, xml_url: str) -> RestRequest:
    """Return the request that continues the caller's leg with the XML at `xml_url`; this ends the stream."""
    fields = {"legs": "aleg", "aleg_url": xml_url, "aleg_method": "POST"}
    return RestRequest("POST", _call_url(api_url, account_id, call_id), json=fields, user=(account_id, token))


def digits_request(api_url: str, account_id: str, call_id: str, token: str, digits: str) -> RestRequest:
    """Return the request that sends keys to the stream's leg, with "w" for pauses of half a second."""
    url = f"{_call_url(api_url, account_id, call_id)}DTMF/"
    return RestRequest("POST", url, json={"digits": digits, "leg": "aleg"}, user=(account_id, token))


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
        url = f"{self.public_url.rstrip('/')}{TRANSFER}?to={quote(number, safe='')}"
        account_id, call_id = self.started.account_id, self.started.call_id
        await send(transfer_request(self.api_url, account_id, call_id, self.token, url))

    async def join(self, other: str) -> None:
        """Move both calls into a conference. Raise ControlError."""
        assert self.public_url is not None
        url = f"{self.public_url.rstrip('/')}{CONFERENCE}?room={quote(other, safe='')}"
        for call_id in (self.started.call_id, other):
            await send(transfer_request(self.api_url, self.started.account_id, call_id, self.token, url))

    async def send_digits(self, digits: str) -> bool:
        account_id, call_id = self.started.account_id, self.started.call_id
        await send(digits_request(self.api_url, account_id, call_id, self.token, digits))
        return True


class PlivoConfig(ProviderConfig):
    """`[telephony.plivo]`: Plivo audio streaming."""

    key_name: ClassVar[str] = "auth_token_env"
    auth_token_env: str | None = None
    """Environment variable that holds the account's auth token. It verifies signatures and authorises hanging
    up and transferring.
    """
    auth_id: str = ""
    """The account, "MA...", for outbound calls."""
    api_url: str = Field(default="https://api.plivo.com", pattern=API_URL)
    """Base URL of Plivo's REST API."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the provider; without a token no call is authenticated or controlled. Raise ConfigError."""
        token = settings.key("auth_token_env", self.auth_token_env)
        if token is None:
            return PhoneLine(PlivoSerializer)

        def control(started: Started) -> CallControl:
            numbers = frozenset(settings.transfers.values())
            return PlivoControl(self.api_url, token, settings.public_url, started, numbers)

        def signed(url: str, form: Form, headers: Mapping[str, str]) -> bool:
            return is_genuine(token, url, form, headers)

        def trusts(url: str, headers: Mapping[str, str]) -> bool:
            # Plivo does not document with which scheme it signs a stream's URL.
            return any([signed(one, {}, headers) for one in (url, "http" + url.removeprefix("ws"))])

        def dial(url: str, form: Form, headers: Mapping[str, str]) -> Response:
            """Return the XML that connects the caller to an allowed destination, 400 for all others."""
            number = dict(parse_qsl(urlsplit(url).query)).get("to", "")
            if number not in settings.transfers.values():
                message = f"to is {number!r}; allowed: the numbers of telephony.transfers"
                return PlainTextResponse(message, 400)
            return Response(dial_xml(number), media_type="text/xml")

        def conference(url: str, form: Form, headers: Mapping[str, str]) -> Response:
            """Return the XML that moves a call into a conference."""
            room = dict(parse_qsl(urlsplit(url).query)).get("room", "")
            return Response(conference_xml(room), media_type="text/xml")

        answers = {TRANSFER: dial, CONFERENCE: conference}
        webhooks = (
            Webhook("Plivo", settings.public_url, signed, answer).route(path)
            for path, answer in answers.items()
        )
        return PhoneLine(PlivoSerializer, control, trusts, tuple(webhooks), reopens_streams=True)
