"""Configuration of Vonage."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import Field

from voiceagent.transports.telephony.control import CallControl
from voiceagent.transports.telephony.provider import API_URL, LineSettings, PhoneLine, ProviderConfig
from voiceagent.transports.telephony.stream.serializer import Started
from voiceagent.transports.telephony.vonage.api import VonageControl
from voiceagent.transports.telephony.vonage.serializer import VonageSerializer
from voiceagent.transports.telephony.vonage.signature import is_genuine


class VonageConfig(ProviderConfig):
    """`[telephony.vonage]`: Voice WebSockets at /telephony/vonage."""

    key_name: ClassVar[str] = "signature_secret_env"
    signature_secret_env: str | None = None
    """Name of the environment variable with the account's signature secret, which signs handshakes."""
    application_id: str = ""
    """Id of the Voice application that hangs up and transfers calls."""
    private_key_env: str | None = None
    """Name of the environment variable with the application's private key, as PEM."""
    api_url: str = Field(default="https://api.nexmo.com", pattern=API_URL)
    """Vonage's REST API."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the configured provider. Raise ConfigError."""
        secret = settings.key("signature_secret_env", self.signature_secret_env)
        pem = settings.key("private_key_env", self.private_key_env)
        key = None if pem is None else self._private_key(pem, settings)

        def control(started: Started) -> CallControl | None:
            if key is None or not started.call_id:
                return None
            return VonageControl(self.api_url, self.application_id, key, started.call_id)

        def trusts(url: str, headers: Mapping[str, str]) -> bool:
            return secret is not None and is_genuine(secret, headers, time.time())

        return PhoneLine(VonageSerializer, control, None if secret is None else trusts)

    def _private_key(self, pem: str, settings: LineSettings) -> RSAPrivateKey:
        try:
            key = load_pem_private_key(pem.encode(), None)
        except (ValueError, TypeError) as error:
            message = "holds no private key; allowed: PEM without a passphrase"
            raise settings.problem("private_key_env", self.private_key_env, message) from error
        if not isinstance(key, RSAPrivateKey):
            message = "holds a key of another kind; allowed: RSA"
            raise settings.problem("private_key_env", self.private_key_env, message)
        return key
