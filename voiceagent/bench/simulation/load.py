"""What calls bring to a simulated cluster, and what befalls it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

DAY = 0.8
"""By this part of the mean the calls of the busiest hour exceed it, and those of the quietest fall short of
it."""


@dataclass(frozen=True, slots=True)
class Load:
    """`calls` of them, begun at random times so that about `at_once` go on together.

    call_s: their mean length. pause_s: between the end of an answer and the next request of its call.
    turn_tokens: by which a prompt grows a turn, beside the beginning that all prompts share. reply_tokens: of
    an answer. by_day: calls come as over a day, from its quietest hour to that again. agents: whose
    instructions differ, agent_tokens of them each; a call has any of them.
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
        """When calls begin, in seconds: a Poisson process."""
        mean, length_s, at_s = self.at_once / self.call_s, self.calls * self.call_s / self.at_once, 0.0
        for _ in range(self.calls):
            swing = -DAY * math.cos(2 * math.pi * at_s / length_s) if self.by_day else 0.0
            at_s += random.expovariate(mean * (1 + swing))
            yield at_s

    def caller(self, number: int, seed: int) -> random.Random:
        """All that is random of one call, so that it is the same call however it is answered."""
        return random.Random(seed * 1_000_003 + number)

    def agent(self, number: int, seed: int) -> int:
        """Whose call it is: drawn beside the rest, which is the same with any number of agents."""
        return random.Random(f"{seed} agent of {number}").randrange(self.agents)

    def length_of_call_s(self, caller: random.Random) -> float:
        """How long a call lasts: asked first."""
        return caller.expovariate(1 / self.call_s)

    def next_pause_s(self, caller: random.Random) -> float:
        """How long a caller takes until the next turn."""
        return caller.expovariate(1 / self.pause_s)


@dataclass(frozen=True, slots=True)
class Troubles:
    """lost_s: for how long the first replica is away, in mid-run. deploy_s: the same for each in turn, before
    that: it takes no requests, ends those that are open, and comes back empty.
    """

    lost_s: float = 0.0
    deploy_s: float = 0.0
