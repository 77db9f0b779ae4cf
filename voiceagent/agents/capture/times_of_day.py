"""Times of day in a text, and as a voice says them: "half past three", "3:30 PM"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import time

from voiceagent.agents.capture.task import Circumstances
from voiceagent.text_normalization.spoken_digits import number_at

_NOON = {
    "noon": 12,
    "midday": 12,
    "midnight": 0,
    "mittag": 12,
    "mitternacht": 0,
    "mediodía": 12,
    "medianoche": 0,
}
_MORNING = ("am", "morning", "morgens", "vormittags", "früh", "madrugada")
_AFTERNOON = ("pm", "afternoon", "evening", "night", "tonight", "nachmittags", "abends", "tarde", "noche")
_FIRST_HOUR = 7
"""Without "am" or "pm", an hour before this one is in the afternoon."""


def find_time(text: str, now: Circumstances) -> time | None:
    """Return the time of day that a text names, None if there is none."""
    lower = re.sub(r"\b([ap])\.?\s?m\b\.?", r"\1m", text.lower()).replace("o'clock", "oclock")
    tokens = re.findall(r"\d{1,2}:\d\d|\d+(?=[ap]m)|\d+(?!st|nd|rd|th|\d)|[^\W\d_]+", lower)
    if now.language != "en":  # "am" is a preposition in German
        tokens = [token for token in tokens if token not in ("am", "pm")]
    for token in tokens:
        if token in _NOON:
            return time(_NOON[token])
    for at in range(len(tokens)):
        if (found := _time_at(tokens, at, now.language)) is not None:
            return found
    return None


def _time_at(tokens: Sequence[str], at: int, language: str) -> time | None:
    """Return the time that begins at a token. A bare number needs a word that makes it one."""
    if ":" in tokens[at]:
        hours, minutes_past = tokens[at].split(":")
        return _clock(int(hours), int(minutes_past), tokens)
    before = tokens[at - 1] if at else ""
    if tokens[at] in ("half", "quarter") or (
        number_at(tokens, at, language)[0] and _past_or_to(tokens, at, language)
    ):
        return _relative_time(tokens, at, language)
    if tokens[at] == "halb":
        hour = number_at(tokens, at + 1, language)[0] if at + 1 < len(tokens) else ""
        return _clock(_hour_before(hour), 30, tokens) if hour else None
    figures, used = number_at(tokens, at, language)
    if not figures or len(figures) > 2:
        return None
    after = tokens[at + used] if at + used < len(tokens) else ""
    minutes, more = (number_at(tokens, at + used, language)) if after else ("", 0)
    if after in ("oh", "uhr") and at + used + 1 < len(tokens):
        minutes, more = number_at(tokens, at + used + 1, language)
    named = before in ("at", "um", "las", "la", "gegen", "by", "around") or after in (
        "oclock",
        "uhr",
        "am",
        "pm",
    )
    closing = tokens[at + used + more] if minutes and at + used + more < len(tokens) else ""
    if (
        not named
        and closing not in ("am", "pm")
        and not _is_part_of_day(tokens, at + used)
        and len(tokens) > used + more
    ):
        return None
    return _clock(int(figures), int(minutes) if minutes and len(minutes) < 3 else 0, tokens)


def _is_part_of_day(tokens: Sequence[str], at: int) -> bool:
    """Return True if a part of the day follows, as in "three in the afternoon"."""
    return any(token in (*_MORNING, *_AFTERNOON) for token in tokens[at : at + 4])


def _past_or_to(tokens: Sequence[str], at: int, language: str) -> bool:
    used = number_at(tokens, at, language)[1]
    following = [token for token in tokens[at + used : at + used + 2] if token not in ("minutes", "minuten")]
    return bool(following) and following[0] in ("past", "to", "nach", "vor")


def _relative_time(tokens: Sequence[str], at: int, language: str) -> time | None:
    """Return the time of "half past three", "quarter to five", "ten past nine"."""
    if tokens[at] in ("half", "quarter"):
        minutes, used = (30 if tokens[at] == "half" else 15), 1
    else:
        figures, used = number_at(tokens, at, language)
        minutes = int(figures)
    at += used
    while at < len(tokens) and tokens[at] in ("minutes", "minuten"):
        at += 1
    if at + 1 >= len(tokens):
        return None
    hour = number_at(tokens, at + 1, language)[0]
    if not hour or minutes > 59:
        return None
    if tokens[at] in ("to", "vor"):
        return _clock(_hour_before(hour), 60 - minutes, tokens)
    return _clock(int(hour), minutes, tokens) if tokens[at] in ("past", "nach") else None


def _hour_before(hour: str) -> int:
    """Return the hour before one; before one o'clock it is twelve."""
    return int(hour) - 1 or 12


def _clock(hour: int, minute: int, tokens: Sequence[str]) -> time | None:
    """Return the time with the half of the day that the words name, or the likelier one."""
    if not (0 <= hour < 24 and 0 <= minute < 60):
        return None
    if any(token in _AFTERNOON for token in tokens):
        hour += 12 if hour < 12 else 0
    elif any(token in _MORNING for token in tokens):
        hour %= 12
    elif 0 < hour < _FIRST_HOUR:
        hour += 12
    return time(hour, minute)


def spoken_time(clock: time, now: Circumstances) -> str:
    """Return a time for a voice: with "AM" or "PM" in English, else with 24 hours."""
    if now.language != "en":
        return f"{clock:%H:%M}" + (" Uhr" if now.language == "de" else "")
    return f"{clock.hour % 12 or 12}:{clock.minute:02} {'AM' if clock.hour < 12 else 'PM'}"
