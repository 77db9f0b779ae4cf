"""What the front desk does for callers, in words: for the agent, and for what its model learns from. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from voiceagent.conversation.words import words_of
from voiceagent.demo.spoken_times import minutes_of
from voiceagent.demo.world import spoken_number

TABLES, TAXIS = 20, 90
BREAKFAST = 7 * 60, 10 * 60 + 30
"""When breakfast begins and ends, in minutes from midnight."""
NO_BREAKFAST = "not done: breakfast is from seven to ten thirty"
CALLS_BACK = "noted: that a colleague will call you back within ten minutes"
HUNG_UP = "hung up"
UNKNOWN_TIME = "not done: it is not known when that is"


class NotDone(ValueError):
    """It could not be done; the text tells the model why."""


def heard(time: str, said: Iterable[str]) -> str:
    """The time, which the caller must have said: a model may miscopy one, or make one up. said: what the
    caller said.

    Raises NotDone where nothing of it has the words of the time, one after the other.
    """
    words = words_of(time)
    for each in map(words_of, said):
        if any(each[at : at + len(words)] == words for at in range(len(each) - len(words) + 1)):
            return time
    raise NotDone(UNKNOWN_TIME)


def order_taxi(rng: Random, time: str = "") -> str:
    """A taxi, its number drawn."""
    when = f"at {time}" if time else "in ten minutes"
    return f"ordered: taxi {_number(rng, TAXIS)}, it comes {when}"


def wake_up_call(_: Random, time: str) -> str:
    """A wake-up call. Raises NotDone where the time is none."""
    if minutes_of(time) is None:
        raise NotDone(UNKNOWN_TIME)
    return f"set: a wake-up call at {time}"


def book_breakfast(rng: Random, people: int, time: str = "") -> str:
    """A table at breakfast, its number drawn. Raises NotDone where there is no breakfast then."""
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
"""The names of the tools."""


def _number(rng: Random, highest: int) -> str:
    return spoken_number(rng.randint(1, highest))
