"""Configuration of Plivo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field
from starlette.responses import PlainTextResponse, Response

from voiceagent.transports.telephony.control import CallControl
from voiceagent.transports.telephony.plivo.api import PlivoControl, dial_xml
from voiceagent.transports.telephony.plivo.serializer import PlivoSerializer
from voiceagent.transports.telephony.plivo.signature import is_genuine
from voiceagent.transports.telephony.provider import API_URL, LineSettings, PhoneLine, ProviderConfig
from voiceagent.transports.telephony.stream.serializer import Started
from voiceagent.transports.telephony.webhook import Form, Webhook


class PlivoConfig(ProviderConfig):
    """`[telephony.plivo]`: audio streaming at /telephony/plivo; transfers need `public_url`."""

    key_name: ClassVar[str] = "auth_token_env"
    auth_token_env: str | None = None
    """Name of the environment variable with the account's auth token: it checks signatures, hangs up and
    transfers.
    """
    api_url: str = Field(default="https://api.plivo.com", pattern=API_URL)
    """Plivo's REST API."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the provider; without a token, calls are neither authenticated nor controlled. Raise
        ConfigError.
        """
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

        transfer = Webhook("Plivo", settings.public_url, signed, dial)
        return PhoneLine(PlivoSerializer, control, trusts, (transfer.route("/telephony/plivo/transfer"),))
