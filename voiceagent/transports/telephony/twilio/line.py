"""Twilio's line: its table, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from pydantic import Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from voiceagent.transports.telephony.control import CallControl
from voiceagent.transports.telephony.provider import API_URL, LineSettings, PhoneLine, ProviderConfig
from voiceagent.transports.telephony.stream.public_url import websocket_url
from voiceagent.transports.telephony.stream.serializer import TRACEPARENT, Started
from voiceagent.transports.telephony.twilio.api import TwilioControl, connect_twiml
from voiceagent.transports.telephony.twilio.serializer import TwilioSerializer
from voiceagent.transports.telephony.twilio.signature import is_genuine
from voiceagent.transports.telephony.webhook import Form, Webhook

VOICE = "/voice"
"""Ends the path of the webhook; what stands before it is the stream's."""
RETRY = "retry"
"""The parameter that says how often a call has lost its stream; its agent is told."""
RETRIES = ("0", "1", "2")
"""What it may be where one more is allowed."""


class TwilioConfig(ProviderConfig):
    """`[telephony.twilio]`: Twilio Media Streams."""

    key_name: ClassVar[str] = "auth_token_env"
    auth_token_env: str | None = None
    """Environment variable that holds the account's auth token. It verifies signatures and authorises hanging
    up and transferring.
    """
    api_url: str = Field(default="https://api.twilio.com", pattern=API_URL)
    """Base URL of Twilio's REST API, for other regions."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Without a token calls are neither checked nor controlled. Raises ConfigError."""
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
        return PhoneLine(TwilioSerializer, control, trusts, _routes(voice), VOICE)


def _routes(voice: Webhook) -> tuple[BaseRoute, ...]:
    paths = (f"/telephony/twilio{VOICE}", f"/telephony/twilio/{{agent}}{VOICE}")
    return tuple(map(voice.route, paths))


def _connect(
    next_call: Callable[[], str | None], again: bool, url: str, form: Form, headers: Mapping[str, str]
) -> Response:
    """TwiML that connects the caller to the stream of a gateway, with who calls whom, the SIP headers, the
    parameters of the URL, and the trace that this is part of. again: a call whose stream was lost asks once
    more, which only those calls may that are hung up over the API. Raises CallRefused.
    """
    parts = urlsplit(url)
    stream_url = websocket_url((next_call() or f"{parts.scheme}://{parts.netloc}") + parts.path)
    stream_url = stream_url.removesuffix(VOICE)
    parameters = {name.lower(): form[name][0] for name in ("From", "To") if name in form}
    parameters |= {name: form[name][0] for name in form if name.startswith("SipHeader_")}
    parameters |= dict(parse_qsl(parts.query))
    if TRACEPARENT in headers:
        parameters[TRACEPARENT] = headers[TRACEPARENT]
    then = _once_more(parts) if again else None
    return Response(connect_twiml(stream_url, parameters, then), media_type="text/xml")


def _once_more(parts: SplitResult) -> str | None:
    """The URL that counts one more retry; None where there were enough."""
    query = dict(parse_qsl(parts.query))
    count = query.get(RETRY, "0")
    retries = int(count) if count in RETRIES else len(RETRIES)
    if retries >= len(RETRIES):
        return None
    return parts._replace(query=urlencode(query | {RETRY: str(retries + 1)})).geturl()
