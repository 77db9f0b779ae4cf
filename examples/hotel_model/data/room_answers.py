"""Answers about rooms, computed from the world: prices, stays, sizes, bookings."""

from __future__ import annotations

from dataclasses import dataclass

from examples.hotel_model.data.rooms import said_back
from voiceagent.demo.world import MAX_PRICED_STAY, ROOMS, Room, spoken_number

# The room questions that open a conversation, the likelier ones more than once.
ROOM_INTENTS = (
    "price", "price", "price", "total", "total", "total", "about", "sleeps", "suggest", "suggest",
    "book", "book", "book_room", "book_room", "book_nights", "book_all", "book_date", "book_date",
    "book_date", "book_date", "long",
)  # fmt: skip
# What may follow each.
ROOM_FOLLOW_UPS = {
    "price": ("price", "total", "total", "sleeps", "take", "correct_room", "suggest", "long"),
    "total": ("price", "total", "total", "take", "correct_room", "correct_nights", "long"),
    "about": ("total", "sleeps", "take", "correct_room", "cost", "cost"),
    "sleeps": ("total", "take", "correct_room", "cost"),
    "book": ("give_room", "give_all"),
    "book_nights": ("give_room",),
    "book_room": ("give_nights",),
    "booked": ("correct_room", "correct_nights"),
}
_BOOKS = frozenset((
    "book", "book_nights", "book_room", "book_all", "book_date", "give_room", "give_nights", "give_all",
    "take", "booked",
))  # fmt: skip
_CONFIRM = "A colleague will call you to confirm it."
_LONG_STAY = "From five nights on you get ten percent off. A colleague will call you with the exact price."


@dataclass(frozen=True)
class Wish:
    """The caller's booking so far, partly from earlier turns."""

    room: Room | None
    nights: int | None
    people: int
    date: str | None


@dataclass(frozen=True)
class RoomReply:
    """An answer, the facts it must contain, the intent (for follow-ups) and the room."""

    text: str
    must: tuple[str, ...]
    asked: str
    room: Room | None


def answer_about_rooms(name: str, asked: str, wish: Wish) -> RoomReply:
    """Return the answer to the room intent `name` after `asked`.

    Raises ValueError if the wish lacks the room or the nights that the intent needs.
    """
    name = _renewed(name, asked, wish)
    if name == "long":
        return RoomReply(_LONG_STAY, ("ten percent", "colleague"), "", wish.room)
    if name == "suggest":
        return _suggest(wish.people)
    if name in _BOOKS:
        return _book(wish)
    room = wish.room
    if room is None:
        raise ValueError(f"room intent {name} needs a room")
    if name == "total":
        if wish.nights is None:
            raise ValueError("room intent total needs the nights")
        return RoomReply(total(room, wish.nights), (room.name, room.total(wish.nights)), "total", room)
    if name == "about":
        beds = room.features.split(",")[0].split(" and ")[-1]
        return RoomReply(about(room), (room.name, beds), "about", room)
    if name == "sleeps":
        return RoomReply(sleeps(room), (room.name, room.people_spoken), "sleeps", room)
    return RoomReply(price(room), (room.name, room.total(1)), "price", room)


def _renewed(name: str, asked: str, wish: Wish) -> str:
    """Return the intent that a correction or "and the suite?" repeats."""
    if name.startswith("correct"):
        return asked
    if name == "price" and asked == "total" and wish.nights:
        return "total"
    return name


def _suggest(people: int) -> RoomReply:
    room = room_for(people)
    if room is None:
        return RoomReply(suggestion(people), ("two rooms",), "", None)
    return RoomReply(suggestion(people), (room.name, room.total(1)), "price", room)


def _book(wish: Wish) -> RoomReply:
    room, nights = wish.room, wish.nights
    text = booking(room, nights, wish.date)
    if room and nights:
        date = (said_back(wish.date),) if wish.date else ()
        facts = ("noted", room.name, *date, room.total(nights), "confirm")
        return RoomReply(text, facts, "booked", room)
    if room:
        return RoomReply(text, (room.name, "how many nights"), "book_room", room)
    if nights:
        return RoomReply(text, ("which room", nights_spoken(nights)), "book_nights", None)
    return RoomReply(text, ("which room",), "book", None)


def nights_spoken(nights: int) -> str:
    """Return "one night", "two nights"."""
    return "one night" if nights == 1 else f"{spoken_number(nights)} nights"


def price(room: Room) -> str:
    """Return the answer with the price of a night."""
    return f"The {room.name} is {room.total(1)} dollars a night."


def total(room: Room, nights: int) -> str:
    """Return the answer with the price of a stay of at most `MAX_PRICED_STAY` nights."""
    if not 1 <= nights <= MAX_PRICED_STAY:
        raise ValueError(f"a stay of {nights} nights has no price: 1..{MAX_PRICED_STAY}")
    return f"The {room.name} for {nights_spoken(nights)} is {room.total(nights)} dollars."


def about(room: Room) -> str:
    """Return the answer with the room's equipment."""
    return f"The {room.name} has {room.features}. It is {room.total(1)} dollars a night."


def sleeps(room: Room) -> str:
    """Return the answer with the number of people that fit."""
    extra = " An extra bed is thirty dollars." if room.people == 2 else ""
    return f"The {room.name} sleeps {room.people_spoken}.{extra}"


def room_for(people: int) -> Room | None:
    """Return the suggested room for so many people; None if they need two."""
    single, double, family, _ = ROOMS
    return {1: single, 2: double, 3: family, 4: family}.get(people)


def suggestion(people: int) -> str:
    """Return the answer with the suggested room and its price."""
    room = room_for(people)
    who = "one person" if people == 1 else f"{spoken_number(people)} people"
    if room is None:
        return f"For {who} I suggest two rooms, a family room and a double room."
    return f"For {who} I suggest the {room.name}, {room.total(1)} dollars a night."


def booking(room: Room | None, nights: int | None, date: str | None) -> str:
    """Return the answer to a booking request, which asks for missing details."""
    if room and nights:
        start = f" from {said_back(date)}" if date else ""
        return (
            f"I have noted the {room.name}{start} for {nights_spoken(nights)}, "
            f"{room.total(nights)} dollars in all. {_CONFIRM}"
        )
    if room:
        return f"Gladly, the {room.name}. For how many nights?"
    if nights:
        which = "Which room would you like: single, double, family or suite?"
        return f"Gladly, for {nights_spoken(nights)}. {which}"
    return "Gladly. Which room would you like, and for how many nights?"
