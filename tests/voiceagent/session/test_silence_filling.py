"""Silence is inserted while it is wanted; no timer runs while it is not."""

from __future__ import annotations

import asyncio
import time

import numpy as np

from voiceagent.session.silence_filling import SilenceFilling


class Line:
    """A line that has sent one packet. filled: silence inserted since then."""

    def __init__(self, wanted_s: float = 60.0) -> None:
        self.filled_s = 0.0
        self.wanted_s = wanted_s
        self.filled = asyncio.Event()
        self.silence = SilenceFilling(time.monotonic, self._wanted, self._fill)
        self.silence.add_audio(0.02)

    def _wanted(self) -> bool:
        return self.filled_s < self.wanted_s

    def _fill(self, seconds: float) -> None:
        self.filled_s += seconds
        self.filled.set()


def timers() -> int:
    """Return the number of timers on the event loop."""
    return sum(not handle.cancelled() for handle in asyncio.get_running_loop()._scheduled)  # type: ignore[attr-defined]


async def test_silence_is_put_in_until_it_is_not_wanted_any_more() -> None:
    line = Line(wanted_s=0.2)
    line.silence.watch()
    while line.filled_s < 0.2:
        line.filled.clear()
        await asyncio.wait_for(line.filled.wait(), 5.0)
    await asyncio.sleep(0.1)
    assert line.filled_s < 0.4
    line.silence.close()


async def test_a_line_that_is_not_watched_has_no_timer() -> None:
    before = timers()
    line = Line(wanted_s=0.0)
    assert timers() == before
    line.silence.watch()
    line.silence.watch()
    assert timers() == before + 1
    await asyncio.sleep(0.3)
    assert timers() == before, "a muted caller who is idle costs nothing"
    line.silence.close()


async def test_after_the_end_nothing_is_put_in() -> None:
    line = Line()
    line.silence.watch()
    line.silence.close()
    line.silence.watch()
    await asyncio.sleep(0.2)
    assert line.filled_s == 0.0


async def test_of_a_gap_only_the_part_is_left_that_no_silence_stood_in_for() -> None:
    line = Line()
    line.silence.watch()
    await asyncio.wait_for(line.filled.wait(), 5.0)
    line.silence.close()
    gap = np.arange(16_000, dtype=np.int16)
    left = line.silence.unfilled(gap, 16_000)
    assert len(left) == round((1.0 - line.filled_s) * 16_000)
    assert left[-1] == gap[-1]
