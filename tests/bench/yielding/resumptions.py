"""Callers who continue just after their turn was decided to be over: the cost of a false end of turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from rich.console import Console
from yielding.loudspeaker import Loudspeaker

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.latency import TurnReport, percentile
from voiceagent.session.services import Services
from voiceagent.session.session import Session
from voiceagent.transports.local_call import FORMAT, FRAME_S, PacedSound, Recording

GOES_ON_S = (0.04, 0.4)
"""Range of the time after the agent's start at which the caller continues."""
RESUMES_S = 1.4
"""Maximum time after the caller's voice: `turn.resume_s` is 1.5."""
PATIENCE_S = 12.0
"""Maximum time until the answer to the whole turn is over."""


@dataclass(slots=True)
class Resumed:
    """Results of callers who continued; times in milliseconds after their voice began again.

    silent: until the agent was silent. later: callers whom no response interrupted in time. in_two: callers
    with a part of the withdrawn response in the history. unanswered: callers whose whole turn got no answer.
    """

    silent: list[float] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    in_two: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)


class _Client:
    """Plays all responses of a call, each on a loudspeaker of its own."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.responses: dict[str, Loudspeaker] = {}
        self.open = 0

    def notify(self, notification: notify.Notification) -> None:
        match notification:
            case notify.NotifyResponseStarted(response_id):
                self.responses[response_id] = Loudspeaker(FRAME_S)
                self.open += 1
            case notify.NotifyResponseEnded():
                self.open -= 1
            case _:
                pass

    def play(self, response_id: str, frame: Samples) -> None:
        if response_id in self.responses:
            self.responses[response_id].play(frame, self._clock())

    def clear(self) -> None:
        for loudspeaker in self.responses.values():
            loudspeaker.clear(self._clock())

    def report(self, turn: TurnReport) -> None:
        pass


async def go_on(
    services: Services, first: Recording, rest: Recording, random: Random, resumed: Resumed
) -> None:
    """Speak one recording in a call, and the other as soon as the agent answers.

    Both [n] begin and end with voice. The result is added to `resumed`.
    """
    settings = replace(services.settings, input_format=FORMAT, output_format=FORMAT)
    client = _Client(services.measuring.clock)
    session = Session("bench", services, settings, client)
    line = PacedSound(session.hear, services.measuring.clock)
    silence = np.zeros(round(FRAME_S * FORMAT.rate_hz), np.int16)
    name = f"{first.name} + {rest.name}"
    session.begin()
    try:
        await line.send(np.tile(silence, 25))
        await line.send(first.sound)
        ended_s = line.at_s
        while not any(one.begins_s for one in client.responses.values()) and line.at_s < ended_s + RESUMES_S:
            await line.send(silence)
        if line.at_s >= ended_s + RESUMES_S - GOES_ON_S[1]:
            resumed.later.append(name)
            return
        for _ in range(round(random.uniform(*GOES_ON_S) / FRAME_S)):
            await line.send(silence)
        voice_s = line.at_s
        await line.send(rest.sound)
        over_s = line.at_s + PATIENCE_S
        while line.at_s < over_s and (client.open or len(client.responses) < 2):
            await line.send(silence)
        early, *later = client.responses.values()
        silent_s = early.silent_s(voice_s)
        resumed.silent.append(((silent_s or voice_s) - voice_s) * 1000)
        if _is_in_two(session.items):
            resumed.in_two.append(name)
        if not any(one.begins_s for one in later):
            resumed.unanswered.append(name)
    finally:
        await session.close("measured")


def print_resumed(resumed: Resumed) -> None:
    """Print the figures and the failures."""
    console, said = Console(), len(resumed.silent)
    if resumed.silent:
        p50, p95 = percentile(resumed.silent, 50), percentile(resumed.silent, 95)
        whole = said - len(resumed.in_two)
        console.print(f"{whole} of {said} callers who went on after a false end were answered as a whole,")
        console.print(f"and the agent was silent {p50:.0f} ms (p50), {p95:.0f} (p95) after their voice.")
    for name, which in (
        ("answered in two", resumed.in_two),
        ("unanswered", resumed.unanswered),
        ("no response met them in time", resumed.later),
    ):
        if which:
            console.print(f"{name}: {', '.join(which)}", markup=False)


def _is_in_two(items: Sequence[Item]) -> bool:
    """Return True if the history has agent text before the caller's last message."""
    roles = [item.role for item in items if isinstance(item, MessageItem) and item.text]
    return "user" in roles and "assistant" in roles[: len(roles) - roles[::-1].index("user")]
