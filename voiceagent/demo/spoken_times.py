"""Times of day as callers say and type them."""

from __future__ import annotations

import re

from voiceagent.demo.world import spoken_number

_WORDS = {spoken_number(number): number for number in range(1, 60)} | {"half": 30, "quarter": 15}
_NUMBER = "|".join(sorted(_WORDS, key=len, reverse=True)) + r"|\d{1,2}"
# "ten to eight" before "ten": a time from the next or the last hour begins with its minutes.
_RELATIVE = re.compile(rf"(?P<minutes>{_NUMBER}) (?P<side>past|after|to|before) (?P<hour>{_NUMBER})\b")
_CLOCK = re.compile(rf"(?P<hour>{_NUMBER})(?:(?: oh |[ :.])(?P<minutes>{_NUMBER}))?\b")
_LATER = re.compile(r"\b(p ?\.?m|afternoon|evening|tonight|night)\b")


def minutes_of(time: str) -> int | None:
    """Return the minutes from midnight of a time such as "half past seven", "7:30" or "six in the evening".

    Times without a part of day are in the morning: "seven" is 420. None if it is not a time of day.
    """
    text = time.lower().replace("-", " ").strip().removeprefix("a ")
    named = {"noon": 12 * 60, "midday": 12 * 60, "midnight": 0}.get(text.split()[0] if text else "")
    if named is not None:
        return named
    found = _RELATIVE.match(text) or _CLOCK.match(text)
    if found is None:
        return None
    hour, minutes = _value(found["hour"]), _value(found["minutes"] or "0")
    if not (hour < 24 and minutes < 60):
        return None
    if found.groupdict().get("side") in ("to", "before"):
        minutes = -minutes
    if _LATER.search(text) and hour < 12:
        hour += 12
    return (hour * 60 + minutes) % (24 * 60)


def _value(number: str) -> int:
    return int(number) if number.isdecimal() else _WORDS[number]
