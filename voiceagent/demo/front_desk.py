"""Results of the front desk's tools, in words: for the agent, and for the training data of its model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from voiceagent.conversation.words import words_of
from voiceagent.demo.world import spoken_number

_WORDS = {spoken_number(number): number for number in range(1, 60)} | {"half": 30, "quarter": 15}
_NUMBER = "|".join(sorted(_WORDS, key=len, reverse=True)) + r"|\d{1,2}"
# "ten to eight" before "ten": a time from the next or the last hour begins with its minutes.
_RELATIVE = re.compile(rf"(?P<minutes>{_NUMBER}) (?P<side>past|after|to|before) (?P<hour>{_NUMBER})\b")
_CLOCK = re.compile(rf"(?P<hour>{_NUMBER})(?:(?: oh |[ :.])(?P<minutes>{_NUMBER}))?\b")
_TIME_OF_DAY = re.compile(
    rf"\b(?:(?:{_NUMBER}) (?:past|after|to|before) (?P<of_hour>{_NUMBER})"
    rf"|(?P<hour>{_NUMBER})(?: (?:oh )?(?:{_NUMBER}))?)\b"
)
_DAY_PARTS = {
    "a",
    "p",
    "m",
    "am",
    "pm",
    "morning",
    "afternoon",
    "evening",
    "tonight",
    "night",
    "today",
    "tomorrow",
}
_BEFORE_DAY_PARTS = {"in", "the", "this", "at"}
_AT_ONCE = {"", "now", "right now", "right away", "immediately", "at once", "asap", "as soon as possible"}
_MISHEARD_PAST = re.compile(r"\bpass(ed)?\b")
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


TABLES, TAXIS = 20, 90
BREAKFAST = 7 * 60, 10 * 60 + 30
"""Start and end of breakfast, in minutes from midnight."""
NO_BREAKFAST = "not done: breakfast is from seven to ten thirty"
CALLS_BACK = "noted: that a colleague will call you back within ten minutes"
HUNG_UP = "hung up"
UNKNOWN_TIME = "not done: it is not known when that is"


class NotDone(ValueError):
    """A tool could not do its work. The message tells the model why."""


def heard(time: str, said: Sequence[str]) -> str:
    """Return the time as the caller has said it, as a model may miscopy or invent one.

    A part of the day counts where the caller said it ("tonight at eight"), and one that nobody said is left
    out. A part of a longer time ("ten" of "half past ten") stands for the whole, figures for words. A time
    that was not said is taken from the last turn if that has just one of the same hour.

    said: the caller's turns. Returns "" for now. Raises NotDone if the time is in none of them.
    """
    words = words_of(time := _MISHEARD_PAST.sub("past", time))
    if " ".join(words) in _AT_ONCE:
        return ""
    clock = " ".join(word for word in words if word not in _DAY_PARTS | _BEFORE_DAY_PARTS)
    turns = [_MISHEARD_PAST.sub("past", " ".join(words_of(turn))) for turn in said]
    for turn in turns:
        if not clock or not _has(turn, clock):
            continue
        times = [found[0] for found in _TIME_OF_DAY.finditer(turn) if _has(found[0], clock)]
        parts = [word for word in words if word in _DAY_PARTS]
        as_said = all(_has(turn, part) for part in parts)
        if as_said and (not times or clock in times):
            return time
        whole = clock if not times or clock in times else times[0]
        return " ".join([whole, *(part for part in parts if _has(turn, part))])
    for turn in reversed(turns):
        for found in _TIME_OF_DAY.finditer(turn):
            if _is_same(found[0], time):
                return found[0]
    return _of_same_hour(" ".join(words), turns[-1] if turns else "")


def _is_same(time: str, other: str) -> bool:
    """Compare two times on a 12-hour clock: models write "5:30" and "17:30" for "half past five"."""
    minutes, others = minutes_of(time), minutes_of(other)
    return minutes is not None and others is not None and (minutes - others) % (12 * 60) == 0


def _has(words: str, some: str) -> bool:
    """Return True if words contain others in sequence."""
    return f" {some} " in f" {words} "


def _of_same_hour(time: str, said: str) -> str:
    """Return the only time in these words with the hour of `time`. Raises NotDone if there is none, or two,
    or if a number of `time` was said elsewhere.
    """
    meant = _TIME_OF_DAY.search(time)
    times = [found for found in _TIME_OF_DAY.finditer(said) if meant and _hour(found) == _hour(meant)]
    elsewhere = [word for word in said.split() if len(times) == 1 and word not in times[0][0].split()]
    if len(times) != 1 or any(word in _WORDS and word in elsewhere for word in time.split()):
        raise NotDone(UNKNOWN_TIME)
    return times[0][0]


def _hour(time: re.Match[str]) -> str:
    return time["of_hour"] or time["hour"]


def order_taxi(rng: Random, time: str = "") -> str:
    """Order a taxi with a random number."""
    when = f"at {time}" if time else "in ten minutes"
    return f"ordered: taxi {_number(rng, TAXIS)}, it comes {when}"


def wake_up_call(_: Random, time: str) -> str:
    """Set a wake-up call. Raises NotDone for an invalid time."""
    if minutes_of(time) is None:
        raise NotDone(UNKNOWN_TIME)
    return f"set: a wake-up call at {time}"


def book_breakfast(rng: Random, people: int, time: str = "") -> str:
    """Book a breakfast table with a random number. Raises NotDone outside breakfast hours."""
    at = minutes_of(time)
    if time and (at is None or not BREAKFAST[0] <= at <= BREAKFAST[1]):
        raise NotDone(NO_BREAKFAST)
    guests = "one person" if people == 1 else f"{spoken_number(people)} people"
    when = f" at {time}" if time else ""
    return f"booked: breakfast for {guests}{when}, table {_number(rng, TABLES)}"


DO: dict[str, Callable[..., str]] = {
    "order_taxi": order_taxi,
    "wake_up_call": wake_up_call,
    "book_breakfast": book_breakfast,
    "connect_colleague": lambda _: CALLS_BACK,
    "hang_up": lambda _: HUNG_UP,
}
TOOLS = tuple(DO)
"""Names of the tools."""


def words_for(result: str) -> str:
    """Return the sentence for a tool's result, as the model says it, "" for a result of another form.

    It begins with a clause that is always the same: the phrase cache has its audio, which lasts until that of
    the rest is made.
    """
    done, _, what = result.partition(": ")
    return f"Certainly, I have {done} {what}." if done in ("ordered", "set", "booked") else ""


def _number(rng: Random, highest: int) -> str:
    return spoken_number(rng.randint(1, highest))
