"""Configuration of Asterisk's chan_websocket."""

from __future__ import annotations

import hmac
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import ClassVar

from voiceagent.transports.telephony.asterisk.serializer import AsteriskSerializer
from voiceagent.transports.telephony.provider import LineSettings, PhoneLine, ProviderConfig


class AsteriskConfig(ProviderConfig):
    """`[telephony.asterisk]`: chan_websocket at /telephony/asterisk."""

    key_name: ClassVar[str] = "password_env"
    password_env: str | None = None
    """Name of the environment variable with the password of the connection in websocket_client.conf."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the provider with its serializer and authentication. Raise ConfigError."""
        password = settings.key("password_env", self.password_env)

        def trusts(url: str, headers: Mapping[str, str]) -> bool:
            return password is not None and has_password(password, headers)

        return PhoneLine(AsteriskSerializer, trusts=None if password is None else trusts)


def has_password(password: str, headers: Mapping[str, str]) -> bool:
    """Return True if `Authorization` holds this password (RFC 7617), for any user. headers: names in lower
    case.
    """
    scheme, _, given = headers.get("authorization", "").partition(" ")
    try:
        sent = b64decode(given.strip(), validate=True).partition(b":")[2]
    except (Base64Error, ValueError):
        return False
    return scheme.lower() == "basic" and hmac.compare_digest(sent, password.encode())
