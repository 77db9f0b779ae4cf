"""`[telephony]`: what holds for all phone lines, and a table a provider: it is served if it has one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from voiceagent.transports.telephony.asterisk.line import AsteriskConfig
from voiceagent.transports.telephony.audiosocket.endpoint import AudioSocketConfig
from voiceagent.transports.telephony.plivo.line import PlivoConfig
from voiceagent.transports.telephony.provider import LineSettings, PhoneLine, Placement, ProviderConfig
from voiceagent.transports.telephony.telnyx.line import TelnyxConfig
from voiceagent.transports.telephony.twilio.line import TwilioConfig
from voiceagent.transports.telephony.vonage.line import VonageConfig
from voiceagent.validation.section import Section

_HERE = Placement()


class TelephonyConfig(Section):
    """`[telephony]`: settings of all phone lines."""

    public_url: str | None = Field(default=None, pattern=r"^https?://[^/\s?#]+[^\s?#]*$")
    """URL at which providers reach this server, such as "https://agent.example.com". Left out, it is taken
    from the proxy's headers.
    """
    tools: bool = True
    """Offer tools to hang up and to transfer. Set it to false for models that cannot call tools."""
    transfers: dict[str, str] = Field(default_factory=dict)
    """Transfer destinations: a name for the model, and the number as the provider dials it."""
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
        """The providers that are served over WebSocket, by name."""
        tables = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: table for name, table in tables.items() if isinstance(table, ProviderConfig)}

    def lines(
        self, environment: Mapping[str, str], source: Path, placement: Placement = _HERE
    ) -> dict[str, PhoneLine]:
        """The phone lines of the providers. source: the file that this table is from. placement: which
        gateway and agent takes a call. Raises ConfigError.
        """
        return {
            name: table.line(
                LineSettings(name, self.public_url, self.transfers, environment, source, placement)
            )
            for name, table in self.providers().items()
        }
