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
from sounds import voice_like

from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample

LINES = {
    "5 % lost": FaultyLine(lost=0.05),
    "20 % lost": FaultyLine(lost=0.2),
    "repeated": FaultyLine(repeated=0.5),
    "mixed up": FaultyLine(delay_s=(0.0, 0.06)),
    "300 ms jitter": FaultyLine(delay_s=(0.0, 0.3)),
}
IN_SHORT = ("300 ms jitter",)
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


@LONG
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


async def test_a_phone_line_that_delays_by_up_to_300_ms_is_answered(server: FaultyServer) -> None:
    async with (
        faulty_way(server.address, FaultyLine(delay_s=(0.0, 0.3))) as address,
        phoning(Twilio(), f"ws://{address}/telephony/twilio") as caller,
    ):
        voice = resample(voice_like(windows=40), SAMPLE_RATE_HZ, caller.provider.format.rate_hz)
        await caller.speak(np.concatenate([voice, np.zeros(20_000, np.int16)]))
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
