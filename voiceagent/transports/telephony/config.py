"""`[telephony]`: settings of all providers, and one table per provider; a provider without a table is off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.transports.telephony.asterisk import AsteriskConfig
from voiceagent.transports.telephony.audiosocket import AudioSocketConfig
from voiceagent.transports.telephony.plivo import PlivoConfig
from voiceagent.transports.telephony.provider import LineSettings, PhoneLine, Placement, ProviderConfig
from voiceagent.transports.telephony.telnyx import TelnyxConfig
from voiceagent.transports.telephony.twilio import TwilioConfig
from voiceagent.transports.telephony.vonage import VonageConfig
from voiceagent.validation.section import Section

_HERE = Placement()


class TelephonyConfig(Section):
    """`[telephony]`: settings of all phone lines."""

    public_url: str | None = Field(default=None, pattern=r"^https?://[^/\s?#]+[^\s?#]*$")
    """URL at which providers reach this server, such as "https://agent.example.com". Left out, it is taken
    from the proxy's headers.
    """
    open: tuple[str, ...] = ()
    """Lines, such as "twilio", that accept everyone who can reach the port, without authentication."""
    tools: bool = True
    """Offer tools to hang up and to transfer. Set it to false for models that cannot call tools."""
    transfers: dict[str, str] = Field(default_factory=dict)
    """Transfer destinations: a name for the model, and the number as the provider dials it."""
    twilio: TwilioConfig | None = None
    """Twilio Media Streams. This and the tables below: off if left out."""
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

    @model_validator(mode="after")
    def _open_lines_have_tables(self) -> Self:
        tables = [name for name in type(self).model_fields if isinstance(getattr(self, name), Section)]
        if unknown := [name for name in self.open if name not in tables]:
            raise PydanticCustomError(
                "open_line",
                "open names {line}, which has no table; allowed: {tables}",
                {"line": unknown[0], "tables": ", ".join(tables) or "none, as no line has one"},
            )
        return self

    def providers(self) -> dict[str, ProviderConfig]:
        """Return the configured providers that use WebSocket, by name."""
        tables = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: table for name, table in tables.items() if isinstance(table, ProviderConfig)}

    def lines(
        self, environment: Mapping[str, str], source: Path, placement: Placement = _HERE
    ) -> dict[str, PhoneLine]:
        """Return the telephony providers by name. source: the configuration file. placement: chooses the
        gateway and the agent of a call. Raise ConfigError.
        """
        return {
            name: table.line(
                LineSettings(name, self.public_url, self.transfers, environment, source, placement)
            )
            for name, table in self.providers().items()
        }
