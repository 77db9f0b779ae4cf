"""The order of LLM requests: priority classes by urgency, deadlines within a class.

Within a class, callers with fewer prompts in prefill go first (fair queueing over calls), then the earliest
deadline (Liu and Layland, "Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment",
1973). Under overload, earliest-deadline-first makes all requests late, so a turn that can no longer be on
time yields to those that can.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from llmcore.engine import Message, PriorityClass, Request, Usage
from llmcore.policies.prefill_speed import PrefillSpeed

_RANKS = {"turn": 0, "late": 1, "long": 2, "preemptive": 3, "review": 4, "prefill": 5, "summary": 6}
MAX_KNOWN_PREFIXES = 4096
"""Prompt prefixes remembered as computed."""


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Limits on concurrent prefill.

    max_running: prompts at once. long_tokens: uncached tokens from which a prompt is long. max_long: long
    prompts at once.
    """

    max_running: int
    long_tokens: int
    max_long: int

    @property
    def share(self) -> int:
        """Prompts of one caller in prefill at once; as many slots always remain for others."""
        return max(1, self.max_running // 2)


@dataclass(eq=False, slots=True)
class Ticket:
    """A queued request. new_tokens: estimated prompt tokens that are not cached."""

    request: Request
    new_tokens: int
    arrived_s: float
    admitted_s: float = 0.0
    prefixes: tuple[int, ...] = field(default=())


class PriorityQueue:
    """Admits prompts to prefill, most urgent first. Times are seconds of one clock.

    A request holds a slot until its first token; batched decoding afterwards is left to the engine.
    """

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._waiting: list[Ticket] = []
        self._in_prefill: list[Ticket] = []
        self._known: OrderedDict[int, None] = OrderedDict()
        self._speed = PrefillSpeed()

    @property
    def waiting(self) -> int:
        """Requests not yet admitted."""
        return len(self._waiting)

    def add(self, request: Request, now_s: float) -> Ticket:
        """Queue a request until `admit` returns its ticket."""
        prefixes, characters = self._hash_prefixes(request.messages)
        ticket = Ticket(request, self._speed.tokens(characters), now_s, prefixes=prefixes)
        self._waiting.append(ticket)
        return ticket

    def admit(self, now_s: float) -> list[Ticket]:
        """Return the requests that may start now, most urgent first."""
        chosen: list[Ticket] = []
        while True:
            allowed = [ticket for ticket in self._waiting if self._may_run(ticket)]
            if not allowed:
                break
            ticket = min(allowed, key=lambda ticket: self._urgency(ticket, now_s))
            self._waiting.remove(ticket)
            self._in_prefill.append(ticket)
            ticket.admitted_s = now_s
            chosen.append(ticket)
        return chosen

    def raise_priority(self, caller: str, due_s: float) -> list[Ticket]:
        """Turn a caller's preemptive request into a turn's request, due at `due_s`.

        Return updated copies of the tickets that the engine has already.
        """
        for ticket in self._waiting:
            if _is_preemptive(ticket, caller):
                ticket.request = _as_turn(ticket.request, due_s)
        read = (ticket for ticket in self._in_prefill if _is_preemptive(ticket, caller))
        return [replace(ticket, request=_as_turn(ticket.request, due_s)) for ticket in read]

    def priority_class(self, ticket: Ticket) -> PriorityClass:
        """Return the request's class, or "long" for a turn with a long prompt."""
        priority_class = ticket.request.priority_class
        return "long" if priority_class == "turn" and self._is_long(ticket) else priority_class

    def priority(self, ticket: Ticket, now_s: float) -> int:
        """Return the same order as a number for the engine's own queue: smaller runs first."""
        rank, _, due_s, _ = self._urgency(ticket, now_s)
        return rank * 10**12 + min(round(due_s * 1000), 10**12 - 1)

    def reading_s(self, ticket: Ticket) -> float:
        """Return the time allowed for prefill in an engine that also serves turns."""
        return self._speed.seconds_under_load(ticket.new_tokens)

    def on_first_token(self, ticket: Ticket, now_s: float) -> None:
        """Free the slot of a request whose prompt has been read. Repeated calls do nothing.

        A summary holds its slot to its end: no caller waits for it, and it is long.
        """
        if ticket not in self._in_prefill or ticket.request.priority_class == "summary":
            return
        self._in_prefill.remove(ticket)
        self._remember(ticket.prefixes)
        self._speed.observe(
            ticket.new_tokens,
            now_s - ticket.admitted_s,
            concurrent_tokens=sum(other.new_tokens for other in self._in_prefill),
            turn=self.priority_class(ticket) == "turn",
            long=self._is_long(ticket),
        )

    def remove(self, ticket: Ticket, usage: Usage | None) -> None:
        """Remove a finished or cancelled request. usage: None if it was cancelled."""
        for tickets in (self._waiting, self._in_prefill):
            if ticket in tickets:
                tickets.remove(ticket)
        if usage is not None:
            self._speed.observe_length(_characters(ticket.request.messages), usage.prompt_tokens)

    def unloaded_ttft_s(self) -> float:
        """Return `predicted_ttft_s` without other requests: the minimum that load shedding cannot reduce."""
        return self._speed.seconds(self._speed.turn_tokens)

    def predicted_ttft_s(self) -> float:
        """Return the time to first token of a typical turn that arrives now: wait for a slot, prefill of the
        prompts ahead, its own prefill.
        """
        turns = [ticket for ticket in self._waiting if ticket.request.priority_class == "turn"]
        # only turns: all other requests would wait behind this one
        missing = len(self._in_prefill) + len(turns) + 1 - self._limits.max_running
        wait_s = max(0, missing) * self._speed.slot_s / self._limits.max_running
        before = sum(t.new_tokens for t in (*turns, *self._in_prefill) if not self._is_long(t))
        return wait_s + self._speed.seconds(before) + self.unloaded_ttft_s()

    def _urgency(self, ticket: Ticket, now_s: float) -> tuple[int, int, float, float]:
        request = ticket.request
        due_s = request.due_s if request.due_s is not None else ticket.arrived_s
        priority_class = self.priority_class(ticket)
        begun_s = now_s + self._speed.seconds(ticket.new_tokens)
        late = priority_class == "turn" and request.due_s is not None and begun_s > due_s
        rank = _RANKS["late" if late else priority_class]
        return rank, self._prefill_count(ticket.request.caller), due_s, ticket.arrived_s

    def _prefill_count(self, caller: str) -> int:
        """Return the number of a caller's prompts in prefill."""
        return sum(ticket.request.caller == caller for ticket in self._in_prefill) if caller else 0

    def _may_run(self, ticket: Ticket) -> bool:
        # Only other turns are ahead of a turn: the engine may hold admitted lower-priority requests in its
        # own queue.
        turn = self.priority_class(ticket) == "turn"
        ahead = [other for other in self._in_prefill if not turn or self.priority_class(other) == "turn"]
        if len(ahead) >= self._limits.max_running:
            return False
        if self._prefill_count(ticket.request.caller) >= self._limits.share:
            return False
        if self._is_long(ticket) and sum(map(self._is_long, self._in_prefill)) >= self._limits.max_long:
            return False
        last_slot = len(self._in_prefill) + 1 == self._limits.max_running
        if ticket.request.priority_class == "prefill":  # a turn may arrive during prefill
            return not last_slot or self._limits.max_running == 1
        return ticket.request.priority_class != "summary" or not last_slot

    def _is_long(self, ticket: Ticket) -> bool:
        return ticket.new_tokens >= self._limits.long_tokens

    def _hash_prefixes(self, messages: tuple[Message, ...]) -> tuple[tuple[int, ...], int]:
        """Return a chained hash for each prompt prefix, and the characters after the longest known one."""
        prefix_hash, hashes = 0, list[int]()
        for message in messages:
            # chained: a message counts as cached only after the same preceding messages
            prefix_hash = hash((prefix_hash, message.role, message.content))
            hashes.append(prefix_hash)
        known = next((end for end in range(len(hashes), 0, -1) if hashes[end - 1] in self._known), 0)
        return tuple(hashes), _characters(messages[known:])

    def _remember(self, prefixes: tuple[int, ...]) -> None:
        self._known.update(dict.fromkeys(prefixes))
        deque(map(self._known.move_to_end, prefixes), maxlen=0)
        while len(self._known) > MAX_KNOWN_PREFIXES:
            self._known.popitem(last=False)


def _characters(messages: Sequence[Message]) -> int:
    return sum(map(len, map(attrgetter("content"), messages)))


def _is_preemptive(ticket: Ticket, caller: str) -> bool:
    return ticket.request.caller == caller and ticket.request.priority_class == "preemptive"


def _as_turn(request: Request, due_s: float) -> Request:
    return replace(request, priority_class="turn", due_s=due_s)
