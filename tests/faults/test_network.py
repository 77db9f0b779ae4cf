"""The network loses, repeats, mixes up and delays packets, and goes away for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest
from fault_calls import LONG, WITHIN_S, calling
from faulty_lines import FaultyLine, faulty_way
from faulty_server import FaultyServer, faulty_server
from phone_caller import calling as phoning
from phone_lines import Twilio
from rtc_caller import RtcCaller, rtc_calling

from audio.pcm import Samples

LINES = {
    "5 % lost": FaultyLine(lost=0.05),
    "20 % lost": FaultyLine(lost=0.2),
    "repeated": FaultyLine(repeated=0.5),
    "mixed up": FaultyLine(delay_s=(0.0, 0.06)),
    "300 ms jitter": FaultyLine(delay_s=(0.0, 0.3)),
}
IN_SHORT = ("20 % lost", "300 ms jitter")
"""Those that are not left to `make faults`."""
AWAY_S = 5.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    with faulty_server(tmp_path_factory.mktemp("network")) as server:
        yield server


async def answered(caller: RtcCaller) -> None:
    """A turn of a call over WebRTC, with its sound."""
    turns, sound = len(caller.of("response.done")), len(caller.sound)
    caller.send(type="response.create")
    done = await caller.until("response.done", turns + 1)
    assert done["response"]["status"] == "completed"
    assert len(caller.sound) > sound


@pytest.mark.parametrize(
    "line",
    [pytest.param(line, id=name, marks=[LONG] * (name not in IN_SHORT)) for name, line in LINES.items()],
)
async def test_a_browser_is_answered_over_a_bad_line(server: FaultyServer, line: FaultyLine) -> None:
    async with rtc_calling(server.address) as caller:
        caller.over(line)
        await answered(caller)
    assert "Traceback" not in server.log


async def test_a_browser_whose_network_comes_back_is_answered_again(server: FaultyServer) -> None:
    async with rtc_calling(server.address) as caller:
        line = FaultyLine()
        caller.over(line)
        caller.send(type="response.create")
        await caller.until("response.created")
        line.away = True
        await asyncio.sleep(AWAY_S)
        line.away = False
        async with asyncio.timeout(WITHIN_S):
            await caller.until("response.done")
            await answered(caller)


def voice(seconds: float, rate_hz: int) -> Samples:
    """Something that may be a voice: the recognizer of fixed cost understands the same in any case."""
    times = np.arange(round(seconds * rate_hz)) / rate_hz
    hum = sum(np.sin(2 * np.pi * 130 * harmonic * times) / harmonic for harmonic in range(1, 20))
    return (3_000 * hum * (1 + np.sin(2 * np.pi * 4 * times))).astype(np.int16)


@pytest.mark.parametrize("delay_s", [(0.0, 0.3)], ids=["300 ms"])
async def test_a_phone_line_that_delays_is_answered(
    server: FaultyServer, delay_s: tuple[float, float]
) -> None:
    async with (
        faulty_way(server.address, FaultyLine(delay_s=delay_s)) as address,
        phoning(Twilio(), f"ws://{address}/telephony/twilio") as caller,
    ):
        await caller.speak(np.concatenate([voice(1.0, 8_000), np.zeros(12_000, np.int16)]))
        await caller.until(lambda: caller.playing_s > 0.5)


@LONG
async def test_a_connection_that_stands_still_for_a_while_goes_on(server: FaultyServer) -> None:
    line = FaultyLine()
    async with faulty_way(server.address, line) as address, calling(address) as caller:
        await caller.ask()
        await caller.until("response.output_audio.delta")
        line.away = True
        await asyncio.sleep(AWAY_S)
        line.away = False
        async with asyncio.timeout(WITHIN_S):
            assert await caller.outcome() in ("completed", "ended")
            assert await caller.answered_again_or_ended() in ("completed", "ended")
