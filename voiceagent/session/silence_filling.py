"""Puts silence in while a call waits for it and its line sends nothing. Shell around `LineSilence`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from audio.pcm import Samples
from voiceagent.processes.rounds import InRound, rounds_of
from voiceagent.session.line_silence import LineSilence


class SilenceFilling:
    """The silence of one call's line. It costs nothing while `wanted` is False: no timer runs then.

    clock: monotonic seconds. wanted: whether silence changes anything now, as while a turn is in progress.
    fill: takes so many seconds of silence.
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

    def took(self, seconds: float) -> float:
        """Count sound of the line, as `LineSilence.took` does."""
        return self._line.took(seconds, self._clock())

    def left_of(self, gap: Samples, rate_hz: int) -> Samples:
        """Return the end of a gap's sound [n] for which no silence has stood in yet."""
        left = round(self._line.stands_in(len(gap) / rate_hz) * rate_hz)
        return gap[len(gap) - left :]

    def watch(self) -> None:
        """Look after the line for as long as silence is wanted."""
        if self._timer is None and not self._closed:
            self._arm()

    def close(self) -> None:
        """Put nothing in any more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        now_s = self._clock()
        # in a round, behind what was read in it: of a line that sends there is nothing to put in
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
