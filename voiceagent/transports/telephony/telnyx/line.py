"""Configuration of Telnyx."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from voiceagent.transports.telephony.control import CallControl
from voiceagent.transports.telephony.provider import API_URL, LineSettings, PhoneLine, ProviderConfig
from voiceagent.transports.telephony.stream.serializer import Started
from voiceagent.transports.telephony.telnyx.api import TelnyxControl
from voiceagent.transports.telephony.telnyx.serializer import TelnyxSerializer

TOKEN_HEADER = "x-telnyx-streaming-auth-token"
"""Header with the `stream_auth_token` of the request that started the stream."""


class TelnyxConfig(ProviderConfig):
    """`[telephony.telnyx]`: media streaming at /telephony/telnyx."""

    key_name: ClassVar[str] = "stream_token_env"
    stream_token_env: str | None = None
    """Name of the environment variable with the `stream_auth_token` given when streams are started."""
    api_key_env: str | None = None
    """Name of the environment variable with the API key that hangs up and transfers calls."""
    api_url: str = Field(default="https://api.telnyx.com", pattern=API_URL)
    """Telnyx's REST API."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the configured provider. Raise ConfigError."""
        token = settings.key("stream_token_env", self.stream_token_env)
        key = settings.key("api_key_env", self.api_key_env)

        def control(started: Started) -> CallControl | None:
            return None if key is None else TelnyxControl(self.api_url, key, started.call_id)

        def trusts(url: str, headers: Mapping[str, str]) -> bool:
            given = headers.get(TOKEN_HEADER, "")
            return token is not None and hmac.compare_digest(given.encode(), token.encode())

        return PhoneLine(TelnyxSerializer, control, None if token is None else trusts)
