"""Event queue and speaker of a forked call, on a virtual clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from audio.playout import Playout
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify


@dataclass(order=True, slots=True)
class Planned:
    """A planned event. event: None to poll the speaker. valid: called at that time; False drops the event."""

    at_s: float
    order: int
    event: ev.Event | None = field(compare=False)
    valid: Callable[[], bool] = field(compare=False)


class Agenda:
    """Priority queue of events by time; events of the same time keep their order."""

    def __init__(self) -> None:
        self._planned: list[Planned] = []
        self._order = count()

    def plan(self, at_s: float, event: ev.Event | None, valid: Callable[[], bool] = lambda: True) -> None:
        """Plan an event at `at_s` of the virtual clock."""
        heapq.heappush(self._planned, Planned(at_s, next(self._order), event, valid))

    def next(self, end_s: float) -> Planned | None:
        """Pop the next event up to `end_s`, if any."""
        if not self._planned or self._planned[0].at_s > end_s:
            return None
        return heapq.heappop(self._planned)

    def clear(self) -> None:
        """Drop all events."""
        self._planned.clear()


class VirtualSpeaker:
    """Plays one response after another, like `Speaker`. rate_hz: sample rate."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._response_id = ""
        self._playout: Playout | None = None
        self._told_sent = self._held = False
        self._planned_s: float | None = None

    def execute(self, command: do.Command) -> None:
        """Execute a command, if it concerns playout."""
        match command:
            case do.Play(response_id, speech):
                silence = np.broadcast_to(np.int16(0), len(speech.samples))
                self._open(response_id).queue(silence)
            case do.FinishPlayout(response_id):
                self._open(response_id).finish()
            case do.HoldPlayout():
                self._held = True
                if self._playout is not None:
                    self._playout.hold()
            case notify.NotifyResponseEnded(out_of_band=False) if self._playout is None:
                self._held = False  # the held response had no audio
            case do.RestorePlayout():
                self._held = False
                if self._playout is not None:
                    self._playout.restore()
            case _:
                pass

    def stop(self, response_id: str, now_s: float) -> float:
        """Drop unplayed audio. Return the seconds played."""
        if response_id != self._response_id or self._playout is None:
            return 0.0
        self._playout.due(now_s)
        played_s = self._playout.stop(now_s)
        self._playout, self._response_id, self._held = None, "", False
        return played_s

    def pump(self, now_s: float) -> list[ev.Event]:
        """Return the events of playout due now."""
        if self._playout is None:
            return []
        self._playout.due(now_s)
        events: list[ev.Event] = []
        if self._playout.all_sent and not self._told_sent:
            self._told_sent = True
            events.append(ev.PlayoutSent(self._response_id))
        if self._playout.all_played(now_s):
            events.append(ev.PlayoutPlayed(self._response_id))
            self._playout, self._response_id, self._held = None, "", False
        return events

    def next_s(self, now_s: float) -> float | None:
        """Return the time of the next event, once."""
        next_s = None if self._playout is None else self._playout.next_due_s(now_s)
        if next_s == self._planned_s:
            return None
        self._planned_s = next_s
        return next_s

    def _open(self, response_id: str) -> Playout:
        if self._playout is None or response_id != self._response_id:
            self._response_id, self._told_sent = response_id, False
            self._playout = Playout(self._rate_hz)
            if self._held:
                self._playout.hold()
        return self._playout
