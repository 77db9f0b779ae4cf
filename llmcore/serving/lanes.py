"""Who is computed next, and how soon: lanes by urgency, deadlines within them. Pure.

Within a lane the earliest deadline goes first (Liu and Layland, "Scheduling Algorithms for Multiprogramming
in a Hard-Real-Time Environment", 1973), which fails all when there is too much work: therefore a turn that
can no longer be in time yields to those that can.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from llmcore.engine import Lane, Message, Request, Usage

_RANKS = {"turn": 0, "late": 1, "long": 2, "preemptive": 3, "ahead": 4, "summary": 5}
KNOWN_PREFIXES = 4096
"""Beginnings of prompts that are remembered as computed."""
FEWEST_TOKENS = 16
"""Reading fewer tells nothing of how fast the engine reads."""
WEIGHT = 0.2
"""Of the newest measurement in a running mean."""


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """places: prompts that are read at once. long_tokens: new tokens from which a prompt is long. long: how
    many of those are read at once.
    """

    places: int
    long_tokens: int
    long: int


@dataclass(eq=False, slots=True)
class Ticket:
    """One request in the lanes. new_tokens: those of its prompt that no cache holds, estimated."""

    request: Request
    new_tokens: int
    arrived_s: float
    let_in_s: float = 0.0
    prefixes: tuple[int, ...] = field(default=())


class Lanes:
    """Lets prompts be read, the most urgent first. Times are seconds of one clock.

    A request holds a place until its first token: what the engine then writes for many at once is its affair.
    """

    def __init__(self, limits: LaneLimits) -> None:
        self._limits = limits
        self._waiting: list[Ticket] = []
        self._reading: list[Ticket] = []
        self._known: OrderedDict[int, None] = OrderedDict()
        self._tokens_per_character = 0.25
        self._prefill_tokens_s = 2_000.0
        self._reading_s = 0.05
        self._turn_tokens = 50.0

    @property
    def waiting(self) -> int:
        """Requests that wait to be let in."""
        return len(self._waiting)

    def enter(self, request: Request, now_s: float) -> Ticket:
        """A request has come; it waits until `let_in` returns it."""
        prefixes, characters = self._unknown(request.messages)
        ticket = Ticket(request, round(characters * self._tokens_per_character), now_s, prefixes=prefixes)
        self._waiting.append(ticket)
        return ticket

    def let_in(self, now_s: float) -> list[Ticket]:
        """The requests that may be read from now on, most urgent first."""
        chosen: list[Ticket] = []
        while len(self._reading) < self._limits.places:
            allowed = [ticket for ticket in self._waiting if self._may_enter(ticket)]
            if not allowed:
                break
            ticket = min(allowed, key=lambda ticket: self._urgency(ticket, now_s))
            self._waiting.remove(ticket)
            self._reading.append(ticket)
            ticket.let_in_s = now_s
            chosen.append(ticket)
        return chosen

    def lane(self, ticket: Ticket) -> Lane:
        """What a request came for, except that a turn's reply with much to read is "long"."""
        lane = ticket.request.lane
        return "long" if lane == "turn" and self._is_long(ticket) else lane

    def priority(self, ticket: Ticket, now_s: float) -> int:
        """The same order as a number for the engine's own queue: smaller runs first."""
        rank, due_s, _ = self._urgency(ticket, now_s)
        return rank * 10**12 + min(round(due_s * 1000), 10**12 - 1)

    def first_token(self, ticket: Ticket, now_s: float) -> None:
        """A prompt has been read: its place is free. Later calls for the same one do nothing.

        A summary holds its place to its end: nobody waits for it, and it is long.
        """
        if ticket not in self._reading or ticket.request.lane == "summary":
            return
        self._reading.remove(ticket)
        self._know(ticket.prefixes)
        took_s = max(now_s - ticket.let_in_s, 1e-4)
        self._reading_s = _mean(self._reading_s, took_s)
        if self.lane(ticket) == "turn":
            self._turn_tokens = _mean(self._turn_tokens, ticket.new_tokens)
        if ticket.new_tokens >= FEWEST_TOKENS:
            beside = sum(other.new_tokens for other in self._reading)
            self._prefill_tokens_s = _mean(self._prefill_tokens_s, (ticket.new_tokens + beside / 2) / took_s)

    def leave(self, ticket: Ticket, usage: Usage | None) -> None:
        """A request is over, or was given up; usage: where it came to its end."""
        for place in (self._waiting, self._reading):
            if ticket in place:
                place.remove(ticket)
        characters = sum(len(message.content) for message in ticket.request.messages)
        if usage is not None and usage.prompt_tokens and characters:
            self._tokens_per_character = _mean(self._tokens_per_character, usage.prompt_tokens / characters)

    def unloaded_ttft_s(self) -> float:
        """The same where nobody else wants anything: what no measure against load can shorten."""
        return self._turn_tokens / self._prefill_tokens_s

    def predicted_ttft_s(self) -> float:
        """When a turn like the latest would have its first token if it came now: the wait for a place, and
        the reading of what is before it and of itself.
        """
        turns = [ticket for ticket in self._waiting if ticket.request.lane == "turn"]
        missing = len(self._reading) + len(turns) + 1 - self._limits.places
        wait_s = max(0, missing) * self._reading_s / self._limits.places
        before = sum(t.new_tokens for t in (*turns, *self._reading) if not self._is_long(t))
        return wait_s + before / self._prefill_tokens_s + self.unloaded_ttft_s()

    def _urgency(self, ticket: Ticket, now_s: float) -> tuple[int, float, float]:
        request = ticket.request
        due_s = request.due_s if request.due_s is not None else ticket.arrived_s
        lane = self.lane(ticket)
        begun_s = now_s + ticket.new_tokens / self._prefill_tokens_s
        late = lane == "turn" and request.due_s is not None and begun_s > due_s
        return _RANKS["late" if late else lane], due_s, ticket.arrived_s

    def _may_enter(self, ticket: Ticket) -> bool:
        if self._is_long(ticket) and sum(map(self._is_long, self._reading)) >= self._limits.long:
            return False
        last_place = len(self._reading) + 1 == self._limits.places
        if ticket.request.lane == "ahead":  # a turn may come while it is being read
            return not last_place or self._limits.places == 1
        return ticket.request.lane != "summary" or not last_place

    def _is_long(self, ticket: Ticket) -> bool:
        return ticket.new_tokens >= self._limits.long_tokens

    def _unknown(self, messages: tuple[Message, ...]) -> tuple[tuple[int, ...], int]:
        """A mark for each beginning of a prompt, and the characters behind the longest known one."""
        marks: list[int] = []
        mark = unknown = 0
        for message in messages:
            mark = hash((mark, message.role, message.content))
            marks.append(mark)
            unknown = 0 if mark in self._known else unknown + len(message.content)
        return tuple(marks), unknown

    def _know(self, prefixes: tuple[int, ...]) -> None:
        for mark in prefixes:
            self._known[mark] = None
            self._known.move_to_end(mark)
        while len(self._known) > KNOWN_PREFIXES:
            self._known.popitem(last=False)


def _mean(before: float, newest: float) -> float:
    return (1 - WEIGHT) * before + WEIGHT * newest
