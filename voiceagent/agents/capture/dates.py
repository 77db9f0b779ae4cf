"""Capture of dates and times of day: "next Friday at half past three"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import ClassVar

from voiceagent.agents.capture.calendar_days import find_date, spoken_date
from voiceagent.agents.capture.task import Circumstances, Heard, Task
from voiceagent.agents.capture.times_of_day import ends_day, find_time, spoken_time


@dataclass(frozen=True)
class DateTime(Task[datetime]):
    """A day and a time of day, in the server's local time, without time zone. A day without a year is the
    next one.
    """

    dictated: ClassVar[bool] = False
    spelled: ClassVar[bool] = False

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[datetime]:
        """Parse day and time; what is missing comes from the draft, else the caller is asked for it."""
        day, clock = _drafted(draft)
        day, clock = find_date(text, now) or day, find_time(text, now) or clock
        if day is not None and clock == time(0) and ends_day(text, now):
            day += timedelta(days=1)
        if day is not None and clock is not None:
            value = datetime.combine(day, clock)
            return Heard(value, value.isoformat())
        known = day.isoformat() if day else clock.isoformat() if clock else ""
        return Heard(
            draft=known,
            prompt=_MISSING[now.language if now.language in _MISSING else "en"][day is not None]
            if known
            else "",
        )

    def correct(self, value: datetime, text: str, now: Circumstances) -> datetime | None:
        """Return the value with another day, another time, or both."""
        if find_date(text, now) is None and find_time(text, now) is None:
            return None
        return self.hear(text, value.isoformat(), now).value

    def read_back(self, value: datetime, now: Circumstances, careful: bool) -> str:
        """Return day and time as text."""
        return f"{spoken_date(value.date(), now)}, {spoken_time(value.time(), now)}"


_MISSING = {
    "en": ("On which day?", "At what time?"),
    "de": ("An welchem Tag?", "Um wie viel Uhr?"),
    "es": ("¿Qué día?", "¿A qué hora?"),
}


@dataclass(frozen=True)
class Date(Task[date]):
    """A day; without a year the next one.

    Args:
        past: The day is in the past, as a birthday; it needs a year.
    """

    past: bool = False
    dictated: ClassVar[bool] = False
    spelled: ClassVar[bool] = False

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[date]:
        """Parse the day."""
        day = find_date(text, now, self.past)
        if day is None and self.past:  # day and year may come one after the other
            whole = f"{draft} {text}".strip()
            day = find_date(whole, now, past=True)
            if day is None and find_date(whole, now) is not None:
                return Heard(draft=whole, prompt=_YEAR.get(now.language, _YEAR["en"]))
        return Heard(draft=draft) if day is None else Heard(day, day.isoformat())

    def read_back(self, value: date, now: Circumstances, careful: bool) -> str:
        """Return the day as text."""
        return spoken_date(value, now)


@dataclass(frozen=True)
class Time(Task[time]):
    """A time of day. Without "am" or "pm", hours before seven are in the afternoon."""

    dictated: ClassVar[bool] = False
    spelled: ClassVar[bool] = False

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[time]:
        """Parse the time."""
        clock = find_time(text, now)
        return Heard() if clock is None else Heard(clock, clock.isoformat())

    def read_back(self, value: time, now: Circumstances, careful: bool) -> str:
        """Return the time as text."""
        return spoken_time(value, now)


_YEAR = {"en": "And in which year?", "de": "Und in welchem Jahr?", "es": "¿Y en qué año?"}


def _drafted(draft: str) -> tuple[date | None, time | None]:
    """Return the day and the time of a draft in ISO 8601."""
    if "T" in draft:
        whole = datetime.fromisoformat(draft)
        return whole.date(), whole.time()
    if ":" in draft:
        return None, time.fromisoformat(draft)
    return (date.fromisoformat(draft) if draft else None), None
