"""`[telephony]` and its tables, one a provider: a provider whose table is there is served."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from voiceagent.section import Section


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
    api_url: str = Field(default="https://api.twilio.com", pattern=r"^https?://[^/\s]+/?$")
    """Twilio's REST API; other regions have their own."""


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

    def providers(self) -> dict[str, ProviderConfig]:
        """The providers that are served, by name."""
        tables = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: table for name, table in tables.items() if isinstance(table, ProviderConfig)}
