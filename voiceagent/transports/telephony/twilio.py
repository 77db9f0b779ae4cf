"""Twilio: Media Streams, signed webhooks, and its REST API.

Media Streams are JSON text with base64 mu-law at 8 kHz; the caller's messages hold 20 ms:
https://www.twilio.com/docs/voice/media-streams/websocket-messages. TwiML and REST API:
https://www.twilio.com/docs/voice/twiml/stream, https://www.twilio.com/docs/voice/api/call-resource
"""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NotRequired
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit
from xml.sax.saxutils import escape, quoteattr

from pydantic import Field, TypeAdapter
from starlette.responses import Response
from starlette.routing import BaseRoute
from typing_extensions import TypedDict

from voiceagent.transports.telephony.control import CallControl, RestRequest, send
from voiceagent.transports.telephony.provider import API_URL, LineSettings, PhoneLine, ProviderConfig
from voiceagent.transports.telephony.stream.json_messages import Parameters, Text
from voiceagent.transports.telephony.stream.json_stream import (
    ConnectedMessage,
    DigitMessage,
    JsonStream,
    MarkMessage,
    MediaMessage,
    OfStream,
    StopMessage,
)
from voiceagent.transports.telephony.stream.public_url import websocket_url, with_and_without_port
from voiceagent.transports.telephony.stream.serializer import TRACEPARENT, Started
from voiceagent.transports.telephony.webhook import Form, Webhook


class _MediaFormat(TypedDict):
    encoding: Literal["audio/x-mulaw"]
    sampleRate: Literal[8000, "8000"]
    channels: NotRequired[Literal[1, "1"]]


class _Start(TypedDict):
    streamSid: Text
    callSid: Text
    accountSid: Text
    mediaFormat: _MediaFormat
    customParameters: NotRequired[Parameters | None]


class _StartMessage(OfStream):
    event: Literal["start"]
    start: _Start


_Message = _StartMessage | MediaMessage | DigitMessage | MarkMessage | StopMessage | ConnectedMessage


class TwilioSerializer(JsonStream):
    """Serializer of one stream. All messages carry the stream id of `start`.

    Twilio plays messages in order, whatever their length.
    """

    provider = "Twilio"
    id_field = "streamSid"
    messages: ClassVar[TypeAdapter[Any]] = TypeAdapter(Annotated[_Message, Field(discriminator="event")])

    def mark(self, name: str) -> str:
        """Return a mark. Twilio returns it when it is reached, or when `clear` drops it."""
        return self._message("mark", mark={"name": name})

    def clear(self) -> str:
        """Return the command that clears Twilio's buffer."""
        return self._message("clear")

    def hang_up(self) -> None:
        """Return None: Twilio hangs up by REST, or at the end of the stream if no TwiML verbs follow."""

    def _start(self, said: _StartMessage) -> Started:
        start = said["start"]
        self._stream_id = start["streamSid"]
        self._of_stream(said)
        self._media_head = self._message("media", media={"payload": ""}).removesuffix('"}}')
        return Started(
            call_id=start["callSid"],
            input_format=self._format,
            output_format=self._format,
            account_id=start["accountSid"],
            parameters=start.get("customParameters") or {},
        )

    def _message(self, event: str, **content: object) -> str:
        return json.dumps({"event": event, "streamSid": self._stream_id, **content}, separators=(",", ":"))


HEADER = "x-twilio-signature"


def signature(token: str, url: str, form: Mapping[str, Sequence[str]]) -> str:
    """Return the value of `X-Twilio-Signature` for a request. form: the values of each name, if any.

    https://www.twilio.com/docs/usage/security#validating-requests: the base64 of an HMAC-SHA1, keyed with the
    account's auth token, of the URL and, for a form, every name and value, sorted by name.
    """
    signed = url + "".join(name + value for name in sorted(form) for value in sorted(set(form[name])))
    return b64encode(hmac.digest(token.encode(), signed.encode(), "sha1")).decode("ascii")


def is_genuine(token: str, url: str, form: Mapping[str, Sequence[str]], headers: Mapping[str, str]) -> bool:
    """Return True if the headers (names in lower case) sign this request, with or without the URL's port."""
    given = headers.get(HEADER)
    if not given:
        return False
    expected = [signature(token, url, form) for url in with_and_without_port(url)]
    return any([hmac.compare_digest(given.encode(), one.encode()) for one in expected])


def connect_twiml(
    stream_url: str, parameters: Mapping[str, str], then: str | None = None, again: int = 0
) -> str:
    """Return TwiML that connects a call to a stream. parameters: returned in the stream's `customParameters`.
    then: URL requested if the stream has ended or failed and the call continues; None ends the call. again:
    times that the stream is opened again in that case, one second later.
    """
    given = "".join(
        f"<Parameter name={quoteattr(name)} value={quoteattr(value)}/>" for name, value in parameters.items()
    )
    connect = f"<Connect><Stream url={quoteattr(stream_url)}>{given}</Stream></Connect>"
    connects = '<Pause length="1"/>'.join([connect] * (1 + again))
    redirect = "" if then is None else f'<Redirect method="POST">{escape(then)}</Redirect>'
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{connects}{redirect}</Response>'


def hang_up_request(api_url: str, account_id: str, call_id: str, token: str) -> RestRequest:
    return _update(api_url, account_id, call_id, token, {"Status": "completed"})


def transfer_request(api_url: str, account_id: str, call_id: str, token: str, number: str) -> RestRequest:
    """Return the request that connects the caller to `number`, which ends the stream."""
    twiml = f"<Response><Dial>{escape(number)}</Dial></Response>"
    return _update(api_url, account_id, call_id, token, {"Twiml": twiml})


def conference_request(api_url: str, account_id: str, call_id: str, token: str, room: str) -> RestRequest:
    """Return the request that moves a call into a conference, which ends when either side leaves."""
    conference = f'<Conference beep="false" endConferenceOnExit="true">{escape(room)}</Conference>'
    twiml = f"<Response><Dial>{conference}</Dial></Response>"
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
        await send(hang_up_request(self.api_url, self.started.account_id, self.started.call_id, self.token))

    async def transfer(self, number: str) -> None:
        """Connect the caller to `number`. Raise ControlError."""
        account_id, call_id = self.started.account_id, self.started.call_id
        await send(transfer_request(self.api_url, account_id, call_id, self.token, number))

    async def join(self, other: str) -> None:
        """Move both calls into a conference. Raise ControlError."""
        for call_id in (self.started.call_id, other):
            await send(conference_request(self.api_url, self.started.account_id, call_id, self.token, other))

    async def send_digits(self, digits: str) -> bool:
        """Return False: `<Play digits>` would end the stream."""
        return False


VOICE = "/voice"
"""Last part of the webhook's path; the rest is the stream's path."""
RETRY = "retry"
"""Parameter that counts how often a call has lost its stream; the agent receives it too."""
RETRIES = ("0", "1", "2")
"""Values after which another retry is allowed."""


class TwilioConfig(ProviderConfig):
    """`[telephony.twilio]`: Twilio Media Streams."""

    key_name: ClassVar[str] = "auth_token_env"
    auth_token_env: str | None = None
    """Environment variable that holds the account's auth token. It verifies signatures and authorises hanging
    up and transferring.
    """
    account_sid: str = ""
    """The account, "AC...", for outbound calls."""
    api_url: str = Field(default="https://api.twilio.com", pattern=API_URL)
    """Base URL of Twilio's REST API, for other regions."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the provider; without a token no call is authenticated or controlled. Raise ConfigError."""
        token = settings.key("auth_token_env", self.auth_token_env)
        placement = settings.placement
        answer = partial(_connect, placement.next_call, token is not None)
        if token is None:
            voice = Webhook("Twilio", settings.public_url, None, answer, placement.check_agent)
            return PhoneLine(TwilioSerializer, webhooks=_routes(voice), number_webhook=VOICE)

        def control(started: Started) -> CallControl:
            return TwilioControl(self.api_url, token, started)

        def signed(url: str, form: Form, headers: Mapping[str, str]) -> bool:
            return is_genuine(token, url, form, headers)

        def trusts(url: str, headers: Mapping[str, str]) -> bool:
            return signed(url, {}, headers)

        voice = Webhook("Twilio", settings.public_url, signed, answer, placement.check_agent)
        return PhoneLine(TwilioSerializer, control, trusts, _routes(voice), VOICE, reopens_streams=True)


def _routes(voice: Webhook) -> tuple[BaseRoute, ...]:
    paths = (f"/telephony/twilio{VOICE}", f"/telephony/twilio/{{agent}}{VOICE}")
    return tuple(map(voice.route, paths))


def _connect(
    next_call: Callable[[], str | None], again: bool, url: str, form: Form, headers: Mapping[str, str]
) -> Response:
    """Return TwiML that connects the caller to a gateway's stream, with the parameters from, to, SIP headers,
    the URL's query and the trace.

    again: let a call that lost its stream reconnect: its stream's URL names the call, so that the new one
    continues it. Only for calls that are hung up over the API: others would reconnect after a hang-up. Raise
    CallRefused.
    """
    parts = urlsplit(url)
    stream_url = websocket_url((next_call() or f"{parts.scheme}://{parts.netloc}") + parts.path)
    stream_url = stream_url.removesuffix(VOICE)
    if again and "CallSid" in form:
        stream_url += f"/calls/{quote(form['CallSid'][0], safe='')}"
    parameters = {name.lower(): form[name][0] for name in ("From", "To") if name in form}
    parameters |= {name: form[name][0] for name in form if name.startswith("SipHeader_")}
    parameters |= dict(parse_qsl(parts.query))
    if TRACEPARENT in headers:
        parameters[TRACEPARENT] = headers[TRACEPARENT]
    then = _retry_url(parts) if again else None
    return Response(connect_twiml(stream_url, parameters, then), media_type="text/xml")


def _retry_url(parts: SplitResult) -> str | None:
    """Return the URL with the retry count raised by one; None after the last retry."""
    query = dict(parse_qsl(parts.query))
    count = query.get(RETRY, "0")
    retries = int(count) if count in RETRIES else len(RETRIES)
    if retries >= len(RETRIES):
        return None
    return parts._replace(query=urlencode(query | {RETRY: str(retries + 1)})).geturl()
