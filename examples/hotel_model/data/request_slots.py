"""Times, places and people of requests, as spoken and, except for places, as tool arguments.

A value belongs to one split: times, places and streets of the evaluation are in no training request.
"""

from __future__ import annotations

from random import Random
from typing import Literal
from zlib import crc32

from examples.hotel_model.data.catalogue import Split
from voiceagent.demo.world import spoken_number

_HELD_OUT = 0.2  # of the times
_MINUTES = (
    "{h}", "{h}", "{h}", "{h} thirty", "{h} thirty", "half past {h}", "half past {h}",
    "quarter past {h}", "quarter to {h}", "{h} fifteen", "{h} forty five", "{h} o'clock", "{h} twenty",
    "{h} forty", "{h} ten", "{h} fifty", "{h} oh five", "ten past {h}", "twenty past {h}", "ten to {h}",
    "twenty to {h}", "five past {h}", "five to {h}", "a quarter past {h}", "a quarter to {h}",
    "{h} fifty five", "{h} thirty five", "{h} twenty five",
)  # fmt: skip
_TYPED = (
    "{n}",
    "{n}:30",
    "{n}:15",
    "{n}:45",
    "{n}.30",
    "{n}:00",
    "{n}:10",
    "{n}:05",
    "{n} o'clock",
    "{n}:20",
    "{n}:50",
)
_DAY_PARTS = ("in the morning", "am", "a.m.", "sharp")
_LATER_PARTS = ("in the evening", "in the afternoon", "pm", "p.m.", "tonight")

_PLACES = (
    "the station", "the airport", "the train station", "downtown", "the city center", "the old mill",
    "the glass museum", "the hospital", "the theater", "the university", "the zoo", "the harbor",
    "the convention center", "the stadium", "the mall", "the bus station", "the cathedral",
    "the market", "the park", "the beach", "the courthouse", "the library", "the fair", "the golf club",
    "the concert hall", "the town hall", "the casino", "the clinic", "the cinema", "town",
    "the congress center", "the lake", "brookfield", "brookfield station", "mill street",
    "the italian restaurant", "my sister's house", "the office", "the pharmacy", "the dentist",
    "the church", "the ferry", "terminal two",
)  # fmt: skip
_HELD_OUT_PLACES = (
    "the opera", "the bus terminal", "the botanical garden", "the wedding", "the aquarium",
    "the city hall", "the castle", "the old town", "harbor square", "cedar road", "the fish market",
    "the race track", "grand central", "my aunt's place", "the trade fair", "the embassy",
    "the medical center", "willow lane", "the shopping center", "the planetarium",
)  # fmt: skip

_PEOPLE = {
    1: ("one", "one person", "just me", "one adult", "only me", "myself", "1", "one guest"),
    2: (
        "two", "two people", "two adults", "two persons", "the two of us", "my wife and me",
        "my husband and me", "2", "2 people", "two guests", "me and my son", "a couple",
    ),
    3: (
        "three", "three people", "three adults", "two adults and one child", "three persons",
        "the three of us", "3", "3 people", "two adults and a child", "three guests",
    ),
    4: (
        "four", "four people", "four adults", "two adults and two children", "a family of four",
        "the four of us", "4", "4 people", "two couples", "four guests",
    ),
    5: (
        "five", "five people", "five adults", "two adults and three children", "the five of us", "5",
        "five guests", "a family of five",
    ),
    6: ("six", "six people", "six adults", "the six of us", "6", "6 people", "a group of six"),
    7: ("seven", "seven people", "seven adults", "seven guests", "7", "the seven of us"),
    8: ("eight", "eight people", "eight adults", "eight guests", "8", "a group of eight"),
}  # fmt: skip
_HELD_OUT_PEOPLE = {
    1: ("a single person", "only one"),
    2: ("my friend and me", "two grown ups", "a party of two"),
    3: ("a family of three", "three of us", "three grown ups"),
    4: ("four of us", "four persons", "a group of four"),
    5: ("five persons", "five of us"),
    6: ("six guests", "six persons"),
    7: ("seven persons", "a group of seven"),
    8: ("eight persons", "the eight of us"),
}
_PEOPLE_WEIGHTS = (12, 26, 16, 20, 9, 7, 5, 5)

Slot = Literal["at", "place", "people"]


def a_time(split: Split, rng: Random, hours: tuple[int, int] = (1, 12)) -> str:
    """Return a time of day as spoken or typed, with its hour in the range `hours`."""
    while True:
        hour = rng.randint(*hours)
        pattern = rng.choice(_TYPED if rng.random() < 0.2 else _MINUTES)
        time = pattern.format(h=spoken_number(hour), n=hour)
        if hours == (1, 12) and rng.random() < 0.03:
            time = rng.choice(("noon", "midnight", "midday"))
        elif rng.random() < 0.22 and "o'clock" not in time:
            time = (
                f"{time} {rng.choice(_DAY_PARTS if hours != (1, 12) or rng.random() < 0.5 else _LATER_PARTS)}"
            )
        if _is_held_out(time) == (split == "heldout"):
            return time


def a_place(split: Split, rng: Random) -> str:
    """Return a taxi's destination, which callers say but no tool gets."""
    return rng.choice(_PLACES if split == "train" else _HELD_OUT_PLACES)


def people(split: Split, rng: Random) -> tuple[str, int]:
    """Return the guests at breakfast as spoken, and their number."""
    number = rng.choices(range(1, 9), _PEOPLE_WEIGHTS)[0]
    return rng.choice((_PEOPLE if split == "train" else _HELD_OUT_PEOPLE)[number]), number


def _is_held_out(time: str) -> bool:
    return crc32(time.encode()) % 100 < 100 * _HELD_OUT
