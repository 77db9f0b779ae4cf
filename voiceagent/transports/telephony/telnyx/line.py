"""Telnyx's line: its table, and what is made of it."""

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
"""Carries what was given as `stream_auth_token` when the stream was asked for."""


class TelnyxConfig(ProviderConfig):
    """`[telephony.telnyx]`: Telnyx media streaming."""

    key_name: ClassVar[str] = "stream_token_env"
    stream_token_env: str | None = None
    """Environment variable that holds the `stream_auth_token` of media streams."""
    api_key_env: str | None = None
    """Environment variable that holds an API key, for hanging up and transferring."""
    api_url: str = Field(default="https://api.telnyx.com", pattern=API_URL)
    """Base URL of Telnyx's REST API."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Raises ConfigError."""
        token = settings.key("stream_token_env", self.stream_token_env)
        key = settings.key("api_key_env", self.api_key_env)

        def control(started: Started) -> CallControl | None:
            return None if key is None else TelnyxControl(self.api_url, key, started.call_id)

        def trusts(url: str, headers: Mapping[str, str]) -> bool:
            given = headers.get(TOKEN_HEADER, "")
            return token is not None and hmac.compare_digest(given.encode(), token.encode())

        return PhoneLine(TelnyxSerializer, control, None if token is None else trusts)
