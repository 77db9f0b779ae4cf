"""Inserts silence while a call waits for it and its line sends nothing. The I/O of `LineSilence`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from audio.pcm import Samples
from voiceagent.processes.rounds import InRound, rounds_of
from voiceagent.session.line_silence import LineSilence


class SilenceFilling:
    """Silence filler of one call's line. No timer runs while `wanted` is False.

    clock: monotonic seconds. wanted: returns True if silence would change anything now, such as during a
    turn. fill: inserts this many seconds of silence.
    """

    def __init__(
        self, clock: Callable[[], float], wanted: Callable[[], bool], fill: Callable[[float], None]
    ) -> None:
        self._clock = clock
        self._wanted = wanted
        self._fill = fill
        self._line = LineSilence()
        self._timer: asyncio.TimerHandle | InRound | None = None
        self._closed = False

    def add_audio(self, seconds: float) -> float:
        """Count audio of the line; see `LineSilence.add_audio`."""
        return self._line.add_audio(seconds, self._clock())

    def unfilled(self, gap: Samples, rate_hz: int) -> Samples:
        """Return the end of a gap's audio [n] that silence has not filled yet."""
        left = round(self._line.unfilled_s(len(gap) / rate_hz) * rate_hz)
        return gap[len(gap) - left :]

    def watch(self) -> None:
        """Check the line for as long as silence is wanted."""
        if self._timer is None and not self._closed:
            self._arm()

    def close(self) -> None:
        """Stop inserting silence."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        now_s = self._clock()
        # on a tick, after the packets read in it: a line that sends then needs no silence
        later = rounds_of(asyncio.get_running_loop()).call_later
        self._timer = later(self._line.next_s(now_s) - now_s, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._wanted():
            self._line.rest()
            return
        missing_s = self._line.missing_s(self._clock())
        if missing_s > 0.0:
            self._fill(missing_s)
        self.watch()
