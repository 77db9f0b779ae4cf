"""`[telephony]` and its tables, one a provider: a provider whose table is there is served."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from voiceagent.validation.section import Section

API_URL = r"^https?://[^/\s]+/?$"


class ProviderConfig(Section):
    """What the tables of all providers have."""

    open: bool = False
    """Let everyone in who reaches the port, without a key: needed where others than this machine reach it."""

    key_name: ClassVar[str]
    """The setting that names the environment variable with the key, by which callers are checked."""

    @property
    def key_env(self) -> str | None:
        """What that setting has."""
        name: str | None = getattr(self, self.key_name)
        return name


class TwilioConfig(ProviderConfig):
    """`[telephony.twilio]`: Media Streams at /telephony/twilio, the webhook of a number at .../voice."""

    key_name: ClassVar[str] = "auth_token_env"
    auth_token_env: str | None = None
    """Name of the environment variable with the account's auth token: signatures are checked with it, and
    calls hung up and transferred."""
    api_url: str = Field(default="https://api.twilio.com", pattern=API_URL)
    """Twilio's REST API; other regions have their own."""


class TelnyxConfig(ProviderConfig):
    """`[telephony.telnyx]`: media streaming at /telephony/telnyx."""

    key_name: ClassVar[str] = "stream_token_env"
    stream_token_env: str | None = None
    """Name of the environment variable with the `stream_auth_token` that streams are asked for with."""
    api_key_env: str | None = None
    """Name of the environment variable with an API key: calls are hung up and transferred with it."""
    api_url: str = Field(default="https://api.telnyx.com", pattern=API_URL)
    """Telnyx's REST API."""


class PlivoConfig(ProviderConfig):
    """`[telephony.plivo]`: audio streaming at /telephony/plivo; transfers need `public_url`."""

    key_name: ClassVar[str] = "auth_token_env"
    auth_token_env: str | None = None
    """Name of the environment variable with the account's auth token: signatures are checked with it, and
    calls hung up and transferred."""
    api_url: str = Field(default="https://api.plivo.com", pattern=API_URL)
    """Plivo's REST API."""


class VonageConfig(ProviderConfig):
    """`[telephony.vonage]`: Voice WebSockets at /telephony/vonage."""

    key_name: ClassVar[str] = "signature_secret_env"
    signature_secret_env: str | None = None
    """Name of the environment variable with the account's signature secret: it signs handshakes."""
    application_id: str = ""
    """The Voice application: calls are hung up and transferred in its name."""
    private_key_env: str | None = None
    """Name of the environment variable with the application's private key, as PEM."""
    api_url: str = Field(default="https://api.nexmo.com", pattern=API_URL)
    """Vonage's REST API."""


class AsteriskConfig(ProviderConfig):
    """`[telephony.asterisk]`: chan_websocket at /telephony/asterisk."""

    key_name: ClassVar[str] = "password_env"
    password_env: str | None = None
    """Name of the environment variable with the password of the connection in websocket_client.conf."""


class AudioSocketConfig(Section):
    """`[telephony.audiosocket]`: AudioSocket over TCP, on a port of its own. It knows no keys."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=9092, ge=0, le=65_535)
    """Port; 0 takes a free one."""
    open: bool = False
    """Let everyone in who reaches the port: needed where others than this machine reach it."""


class TelephonyConfig(Section):
    """`[telephony]`: what holds for all lines."""

    public_url: str | None = Field(default=None, pattern=r"^https?://[^/\s?#]+[^\s?#]*$")
    """Where providers reach this server ("https://agent.example.com"); left out, a proxy's headers tell."""
    tools: bool = True
    """Let the model hang up and transfer callers, by tools; false for a model that cannot call tools."""
    transfers: dict[str, str] = Field(default_factory=dict)
    """Who callers may be connected to: a name for the model, and a number as the provider dials it."""
    twilio: TwilioConfig | None = None
    """Twilio Media Streams; left out, there is no such line."""
    telnyx: TelnyxConfig | None = None
    """Telnyx media streaming."""
    plivo: PlivoConfig | None = None
    """Plivo audio streaming."""
    vonage: VonageConfig | None = None
    """Vonage Voice WebSockets."""
    asterisk: AsteriskConfig | None = None
    """Asterisk's chan_websocket."""
    audiosocket: AudioSocketConfig | None = None
    """Asterisk's AudioSocket."""

    def providers(self) -> dict[str, ProviderConfig]:
        """The providers that are served, by name."""
        tables = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: table for name, table in tables.items() if isinstance(table, ProviderConfig)}
