"""Health of an upstream."""

from __future__ import annotations

import asyncio
import time
from typing import cast

from websockets.asyncio.client import ClientConnection

from voiceagent.upstream.connection import wait_until_unresponsive

PING_S = 0.1


class Upstream:
    """Answers as many pings; the first answer is read after a pause of this process, beyond the limit."""

    def __init__(self, answers: int) -> None:
        self.asked = 0
        self._answers = answers

    async def ping(self) -> asyncio.Future[float]:
        loop = asyncio.get_running_loop()
        pong: asyncio.Future[float] = loop.create_future()
        self.asked += 1
        if self.asked == 1:
            loop.call_soon(time.sleep, 3 * PING_S)
        if self.asked <= self._answers:
            loop.call_later(3.1 * PING_S if self.asked == 1 else 0.0, pong.set_result, 0.0)
        return pong


async def test_a_pause_of_this_process_is_not_held_against_an_upstream_that_answers() -> None:
    upstream = Upstream(answers=2)
    await asyncio.wait_for(wait_until_unresponsive(cast("ClientConnection", upstream), PING_S), 20)
    assert upstream.asked == 3  # the first answer was waited for, and the third never came
