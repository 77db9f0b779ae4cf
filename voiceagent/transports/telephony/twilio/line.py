"""Twilio's line: its table, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field
from starlette.responses import Response
from starlette.routing import Route

from voiceagent.transports.telephony.control import CallControl
from voiceagent.transports.telephony.provider import API_URL, LineSettings, PhoneLine, ProviderConfig
from voiceagent.transports.telephony.stream.public_url import websocket_url
from voiceagent.transports.telephony.stream.serializer import TRACEPARENT, Started
from voiceagent.transports.telephony.twilio.api import TwilioControl, connect_twiml
from voiceagent.transports.telephony.twilio.serializer import TwilioSerializer
from voiceagent.transports.telephony.twilio.signature import is_genuine
from voiceagent.transports.telephony.webhook import Form, Webhook


class TwilioConfig(ProviderConfig):
    """`[telephony.twilio]`: Media Streams at /telephony/twilio, the webhook of a number at .../voice."""

    key_name: ClassVar[str] = "auth_token_env"
    auth_token_env: str | None = None
    """Name of the environment variable with the account's auth token: signatures are checked with it, and
    calls hung up and transferred."""
    api_url: str = Field(default="https://api.twilio.com", pattern=API_URL)
    """Twilio's REST API; other regions have their own."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Without a token calls are neither checked nor controlled. Raises ConfigError."""
        token = settings.key("auth_token_env", self.auth_token_env)
        if token is None:
            voice = Webhook("Twilio", settings.public_url, None, _connect)
            return PhoneLine(TwilioSerializer, webhooks=_routes(voice))

        def control(started: Started) -> CallControl:
            return TwilioControl(self.api_url, token, started)

        def signed(url: str, form: Form, headers: Mapping[str, str]) -> bool:
            return is_genuine(token, url, form, headers)

        def trusts(url: str, headers: Mapping[str, str]) -> bool:
            return signed(url, {}, headers)

        voice = Webhook("Twilio", settings.public_url, signed, _connect)
        return PhoneLine(TwilioSerializer, control, trusts, _routes(voice))


def _routes(voice: Webhook) -> tuple[Route, ...]:
    paths = ("/telephony/twilio/voice", "/telephony/twilio/{agent}/voice")
    return tuple(Route(path, voice.serve, methods=["POST"]) for path in paths)


def _connect(url: str, form: Form, headers: Mapping[str, str]) -> Response:
    """TwiML that connects the caller to our stream, with who calls whom, the SIP headers, the parameters of
    the URL, and the trace that this is part of.
    """
    parts = urlsplit(url)
    stream_url = websocket_url(parts._replace(query="").geturl().removesuffix("/voice"))
    parameters = {name.lower(): form[name][0] for name in ("From", "To") if name in form}
    parameters |= {name: form[name][0] for name in form if name.startswith("SipHeader_")}
    parameters |= dict(parse_qsl(parts.query))
    if TRACEPARENT in headers:
        parameters[TRACEPARENT] = headers[TRACEPARENT]
    return Response(connect_twiml(stream_url, parameters), media_type="text/xml")
