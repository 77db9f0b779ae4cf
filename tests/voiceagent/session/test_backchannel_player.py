"""Backchannels are said at their time in the pause, and stop within a frame."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import numpy as np
import pytest
import structlog
from call_services import speaking
from call_settings import call_settings

from audio.pcm import AudioFormat
from audio.synthesizers import Speech
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.session.backchannel_player import LEAD_S, MIN_QUIET_S, BackchannelPlayer
from voiceagent.session.background import FRAME_S, Background
from voiceagent.session.timers import TICK_S, Pacer

RATE_HZ = 8_000
NOD = (Speech(np.full(RATE_HZ // 2, 1_000, np.int16)),)
PAUSE_S = 0.4


class Mouth:
    rate_hz = RATE_HZ

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield NOD[0]


def sent(script: Callable[[BackchannelPlayer, float], Awaitable[None]]) -> list[float]:
    """Return when each frame is sent, in seconds from the beginning of a script for a player."""

    async def run() -> list[float]:
        clock = asyncio.get_running_loop().time
        begin_s, times = clock(), list[float]()
        services = await speaking(Mouth(), AgentConfig(filler=""), Pacer(clock))
        player = BackchannelPlayer(
            lambda name, frame, rate_hz: times.append(clock() - begin_s),
            lambda: None,
            services,
            Background(lambda frame, rate_hz: None, services, structlog.get_logger()),
        )
        player.configure(call_settings(output_format=AudioFormat.PCM_8K))
        await script(player, begin_s)
        player.close()
        return times

    return run_virtually(run(), 0.0)


async def whole(player: BackchannelPlayer, begin_s: float) -> None:
    player.play("backchannel_1", NOD, begin_s + PAUSE_S)
    await asyncio.sleep(2.0)


async def stopped(player: BackchannelPlayer, begin_s: float) -> None:
    player.play("backchannel_1", NOD, begin_s)
    await asyncio.sleep(0.1)
    player.close()
    await asyncio.sleep(1.0)


async def stopped_before_its_time(player: BackchannelPlayer, begin_s: float) -> None:
    player.play("backchannel_1", NOD, begin_s + PAUSE_S)
    await asyncio.sleep(PAUSE_S - 0.1)
    player.close()
    await asyncio.sleep(1.0)


def test_backchannel_begins_at_its_time_and_is_whole() -> None:
    times = sent(whole)
    assert len(times) == 25
    assert PAUSE_S <= times[0] <= PAUSE_S + TICK_S


def test_backchannel_has_no_gaps() -> None:
    """Each frame is sent before the one before it is over."""
    times = sent(whole)
    assert all(at_s <= times[0] + number * FRAME_S for number, at_s in enumerate(times))


def test_backchannel_that_stops_has_at_most_its_lead_still_to_play() -> None:
    times = sent(stopped)
    assert len(times) * FRAME_S <= 0.1 + LEAD_S


def test_backchannel_that_stops_before_its_time_is_not_said() -> None:
    assert not sent(stopped_before_its_time)


def test_returning_voice_stops_what_plays_and_not_what_waits() -> None:
    async def returning(player: BackchannelPlayer, begin_s: float) -> None:
        player.play("backchannel_1", NOD, begin_s + PAUSE_S)
        player.on_voice_return()
        await asyncio.sleep(PAUSE_S + 0.1)
        player.on_voice_return()
        await asyncio.sleep(1.0)

    assert 0 < len(sent(returning)) * FRAME_S <= 0.1 + LEAD_S


@pytest.mark.parametrize(("quiet_s", "said"), [(MIN_QUIET_S - 0.02, False), (MIN_QUIET_S + 0.02, True)])
def test_backchannel_is_not_said_right_after_a_loud_frame(quiet_s: float, said: bool) -> None:
    async def breathing(player: BackchannelPlayer, begin_s: float) -> None:
        player.play("backchannel_1", NOD, begin_s + PAUSE_S)
        await asyncio.sleep(PAUSE_S - quiet_s)
        player.on_voice_return()
        await asyncio.sleep(1.0)

    assert bool(sent(breathing)) is said


@pytest.mark.parametrize("earlier_s", [0.0, 5.0])
def test_backchannel_whose_time_has_passed_begins_at_once(earlier_s: float) -> None:
    async def late(player: BackchannelPlayer, begin_s: float) -> None:
        player.play("backchannel_1", NOD, begin_s - earlier_s)

    assert sent(late) == [0.0]
