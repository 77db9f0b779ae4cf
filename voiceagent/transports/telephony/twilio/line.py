"""Configuration of Twilio, and the webhook of its numbers."""

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
"""Last part of the webhook's path; the rest is the stream's path."""
RETRY = "retry"
"""Parameter that counts how often a call has lost its stream; the agent receives it too."""
RETRIES = ("0", "1", "2")
"""Values after which another retry is allowed."""


class TwilioConfig(ProviderConfig):
    """`[telephony.twilio]`: Media Streams at /telephony/twilio, the number's webhook at .../voice."""

    key_name: ClassVar[str] = "auth_token_env"
    auth_token_env: str | None = None
    """Name of the environment variable with the account's auth token: it checks signatures, hangs up and
    transfers.
    """
    api_url: str = Field(default="https://api.twilio.com", pattern=API_URL)
    """Twilio's REST API; other regions have their own."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the provider; without a token, calls are neither authenticated nor controlled. Raise
        ConfigError.
        """
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
    """Return TwiML that connects the caller to a gateway's stream, with the parameters from, to, SIP headers,
    the URL's query and the trace.

       again: let a call that lost its stream reconnect. Only for calls that are hung up over the API: others
    would reconnect after a hang-up. Raise CallRefused.
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
    """Return the URL with the retry count raised by one; None after the last retry."""
    query = dict(parse_qsl(parts.query))
    count = query.get(RETRY, "0")
    retries = int(count) if count in RETRIES else len(RETRIES)
    if retries >= len(RETRIES):
        return None
    return parts._replace(query=urlencode(query | {RETRY: str(retries + 1)})).geturl()
