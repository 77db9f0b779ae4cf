"""The answers about rooms, computed from the world: prices, stays, sizes, requests to book."""

from __future__ import annotations

from random import Random

from llmcore.demo.world import LONGEST_PRICED_STAY, ROOMS, Room, spoken_number

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
    "five nights", "six nights", "seven nights", "eight nights", "ten nights", "a week", "one week", "two weeks", "a month",
    "five days", "a whole week", "nine nights", "three weeks",
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
MONTHS = "january february march april may june july august september october november december".split()
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
ORDINALS = (
    *_ORDINALS,
    *(f"twenty {word}" for word in _ORDINALS[:9]),
    "thirtieth",
    "thirty first",
)
TIMES = ("five", "six", "seven", "eight", "six thirty", "seven thirty", "half past six", "five thirty", "eight in the morning", "six in the morning", "quarter past seven", "noon", "nine", "ten")  # fmt: skip
DAYS = (*WEEKDAYS, *(f"next {day}" for day in WEEKDAYS), "tomorrow", "this weekend")

_CONFIRM = "A colleague will call you to confirm it."


def a_date(rng: Random) -> str:
    """An arrival date as callers say it, lower-case."""
    kind = rng.random()
    if kind < 0.55:
        return rng.choice((*WEEKDAYS, "tomorrow", "tonight", *(f"next {day}" for day in WEEKDAYS)))
    month, day = rng.choice(MONTHS), rng.choice(ORDINALS)
    return f"the {day} of {month}" if kind < 0.85 else f"{month} {day}"


def said_back(date: str) -> str:
    """`date` as an answer writes it: names of days and months with capitals."""
    return " ".join(word.capitalize() if word in (*WEEKDAYS, *MONTHS) else word for word in date.split())


def nights_spoken(nights: int) -> str:
    """ "one night", "two nights"."""
    return "one night" if nights == 1 else f"{spoken_number(nights)} nights"


def price(room: Room) -> str:
    """The price of a night."""
    return f"The {room.name} is {room.total(1)} dollars a night."


def total(room: Room, nights: int) -> str:
    """The price of a stay of at most `LONGEST_PRICED_STAY` nights."""
    if not 1 <= nights <= LONGEST_PRICED_STAY:
        raise ValueError(f"a stay of {nights} nights has no price: 1..{LONGEST_PRICED_STAY}")
    return f"The {room.name} for {nights_spoken(nights)} is {room.total(nights)} dollars."


def about(room: Room) -> str:
    """What is in the room."""
    return f"The {room.name} has {room.features}. It is {room.total(1)} dollars a night."


def sleeps(room: Room) -> str:
    """How many people fit."""
    extra = " An extra bed is thirty dollars." if room.people == 2 else ""
    return f"The {room.name} sleeps {room.people_spoken}.{extra}"


def room_for(people: int) -> Room | None:
    """The room suggested for so many people, None if they need two."""
    single, double, family, _ = ROOMS
    return {1: single, 2: double, 3: family, 4: family}.get(people)


def suggestion(people: int) -> str:
    """The room suggested for so many people, and its price."""
    room = room_for(people)
    who = "one person" if people == 1 else f"{spoken_number(people)} people"
    if room is None:
        return f"For {who} I suggest two rooms, a family room and a double room."
    return f"For {who} I suggest the {room.name}, {room.total(1)} dollars a night."


def booking(room: Room | None, nights: int | None, date: str | None) -> str:
    """The answer to a wish to book with what is known so far; asks for what is missing."""
    if room and nights:
        start = f" from {said_back(date)}" if date else ""
        return (
            f"I have noted the {room.name}{start} for {nights_spoken(nights)}, "
            f"{room.total(nights)} dollars in all. {_CONFIRM}"
        )
    if room:
        return f"Gladly, the {room.name}. For how many nights?"
    if nights:
        return f"Gladly, for {nights_spoken(nights)}. Which room would you like: single, double, family or suite?"
    return "Gladly. Which room would you like, and for how many nights?"


LONG_STAY = "From five nights on you get ten percent off. A colleague will call you with the exact price."
