"""`[outbound]`: calls that the server places."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from voiceagent.transports.telephony.outbound.policies.limits import NUMBER, PREFIX, DialLimits
from voiceagent.validation.section import Section


class OutboundConfig(Section):
    """`[outbound]`: calls that the server places by `POST /v1/calls`."""

    allow: tuple[Annotated[str, Field(pattern=PREFIX)], ...] = ()
    """Prefixes of the numbers that may be called, such as ["+1555"]. Left out, no number may be called.
    Keep them long: "+1" includes premium numbers and islands with high charges.
    """
    numbers: dict[str, Annotated[str, Field(pattern=f"^{NUMBER.pattern}$")]] = Field(default_factory=dict)
    """Own number by provider, shown to the person called: { twilio = "+15550100000" }. The first provider is
    the default.
    """
    max_calls: int = Field(default=5, ge=1)
    """Concurrent outbound calls, ringing ones included."""
    max_calls_per_hour: int = Field(default=60, ge=1)
    """Outbound calls placed within any 3600 seconds. It limits the damage of a leaked API key."""
    ring_s: int = Field(default=30, ge=5, le=120)
    """Longest time that a phone rings. Voicemail often answers after 25 to 30 s."""
    file: str = "./outbound.sqlite"
    """SQLite file with the outbound calls. `./x` is relative to the configuration's folder. All workers share
    it, and a restart keeps it.
    """
    retention_days: ClassVar[float] = 30.0
    """Days after which calls and campaigns that are over are deleted from the file."""

    @property
    def limits(self) -> DialLimits:
        """The limits of placing calls."""
        return DialLimits(self.allow, self.max_calls, self.max_calls_per_hour)

    def path(self, source: Path) -> Path:
        """Return the path of the SQLite file. source: the configuration file."""
        return source.parent / Path(self.file).expanduser()
