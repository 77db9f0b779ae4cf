"""Rooms, stays, people and dates, as callers say them."""

from __future__ import annotations

from random import Random

ROOM_WORDS = {
    "single room": ("single room", "single room", "single"),
    "double room": ("double room", "double room", "double"),
    "family room": ("family room", "family room"),
    "suite": ("suite", "suite"),
}
STAYS = {
    1: ("one night", "just one night", "a night", "only one night"),
    2: ("two nights", "two nights", "just two nights"),
    3: ("three nights", "three nights"),
    4: ("four nights", "four nights"),
}
LONG_STAYS = (
    "five nights", "six nights", "seven nights", "eight nights", "ten nights", "a week", "one week",
    "two weeks", "a month", "five days", "a whole week", "nine nights", "three weeks",
)  # fmt: skip
PEOPLE = {
    1: ("one person", "just me", "one adult"),
    2: ("two people", "two adults", "two persons", "two guests"),
    3: ("three people", "three adults", "two adults and one child", "three persons", "three guests"),
    4: ("four people", "four adults", "two adults and two children", "four persons", "a family of four"),
    5: ("five people", "five adults", "five guests"),
    6: ("six people", "six adults", "six guests"),
}  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
    "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip
ORDINALS = (
    *_ORDINALS,
    *(f"twenty {word}" for word in _ORDINALS[:9]),
    "thirtieth",
    "thirty first",
)
TIMES = (
    "five", "six", "seven", "eight", "six thirty", "seven thirty", "half past six", "five thirty",
    "eight in the morning", "six in the morning", "quarter past seven", "noon", "nine", "ten",
)  # fmt: skip
DAYS = (*WEEKDAYS, *(f"next {day}" for day in WEEKDAYS), "tomorrow", "this weekend")


def a_date(rng: Random) -> str:
    """Return an arrival date as spoken, lower-case."""
    kind = rng.random()
    if kind < 0.55:
        return rng.choice((*WEEKDAYS, "tomorrow", "tonight", *(f"next {day}" for day in WEEKDAYS)))
    month, day = rng.choice(MONTHS), rng.choice(ORDINALS)
    return f"the {day} of {month}" if kind < 0.85 else f"{month} {day}"


def said_back(date: str) -> str:
    """Return `date` as an answer writes it: names of days and months with capitals."""
    return " ".join(word.capitalize() if word in (*WEEKDAYS, *MONTHS) else word for word in date.split())
