"""Calling hours: times of the week at which people may be called."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class CallingHours:
    """Hours of a day, in a time zone of the IANA database, on some days. begin: before `end`, as the clock on
    the wall shows it there.
    """

    timezone: str
    begin: time
    end: time
    days: tuple[str, ...] = DAYS[:5]

    def is_open(self, now_s: float) -> bool:
        """Return True if people may be called at `now_s` (Unix seconds)."""
        local = datetime.fromtimestamp(now_s, ZoneInfo(self.timezone))
        return DAYS[local.weekday()] in self.days and self.begin <= local.time() < self.end
