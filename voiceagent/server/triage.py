"""The server's own metrics, kept for a while and judged: what `GET /triage` tells."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from voiceagent.telemetry.totals import Page
from voiceagent.triage.history import EVERY_S, History, reading
from voiceagent.triage.rules import Finding, judge


class Judged(NamedTuple):
    """All rules, the likeliest cause first, and over how many seconds they were judged."""

    findings: tuple[Finding, ...]
    window_s: float


class Triage:
    """collect: the metrics of the whole server now."""

    def __init__(self, collect: Callable[[], Awaitable[Page]]) -> None:
        self._collect = collect
        self._history = History()

    async def run(self) -> None:
        """Keep the metrics until cancelled."""
        while True:
            self._history.keep(time.monotonic(), reading(await self._collect()))
            await asyncio.sleep(EVERY_S)

    async def judge(self) -> Judged:
        """What the metrics since then say."""
        read = reading(await self._collect())
        window_s, window = self._history.window(time.monotonic(), read)
        return Judged(judge(window), window_s)
