"""Load of a simulated cluster, and its failures."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

DAY = 0.8
"""Relative amplitude of the daily variation of the call rate."""


@dataclass(frozen=True, slots=True)
class Load:
    """`calls` calls, begun at random times so that about `at_once` are concurrent.

    call_s: mean length. pause_s: between the end of an answer and the call's next request. turn_tokens:
    growth of a prompt per turn, besides the prefix shared by all prompts. reply_tokens: of an answer. by_day:
    vary the rate as over a day, from its quietest hour. agents: number of agents with different instructions
    of agent_tokens each, assigned at random.
    """

    calls: int
    at_once: int
    call_s: float = 180.0
    pause_s: float = 8.0
    turn_tokens: int = 120
    reply_tokens: int = 40
    by_day: bool = False
    agents: int = 1
    agent_tokens: int = 0

    def arrivals(self, random: random.Random) -> Iterator[float]:
        """Yield the start of each call in seconds: a Poisson process."""
        mean, length_s, at_s = self.at_once / self.call_s, self.calls * self.call_s / self.at_once, 0.0
        for _ in range(self.calls):
            swing = -DAY * math.cos(2 * math.pi * at_s / length_s) if self.by_day else 0.0
            at_s += random.expovariate(mean * (1 + swing))
            yield at_s

    def caller(self, number: int, seed: int) -> random.Random:
        """Return the random generator of one call, so that it is the same however it is answered."""
        return random.Random(seed * 1_000_003 + number)

    def agent(self, number: int, seed: int) -> int:
        """Return the agent of a call, drawn separately so that the rest does not depend on their number."""
        return random.Random(f"{seed} agent of {number}").randrange(self.agents)

    def length_of_call_s(self, caller: random.Random) -> float:
        """Draw the length of a call. Call this first."""
        return caller.expovariate(1 / self.call_s)

    def next_pause_s(self, caller: random.Random) -> float:
        """Draw the time until the caller's next turn."""
        return caller.expovariate(1 / self.pause_s)


@dataclass(frozen=True, slots=True)
class Troubles:
    """Failures. lost_s: how long the first replica is away, in mid-run. deploy_s: the same for each in turn,
    before that: it takes no requests, ends the open ones, and returns with an empty cache.
    """

    lost_s: float = 0.0
    deploy_s: float = 0.0
