"""A local caller whose audio is late, on a machine that was busy: no word of it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
from call_services import call_services
from fixed_engines import FixedLlm, FixedRecognizer, FixedSynthesizer
from sounds import voice_like

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.transports.local_call import FORMAT, Exchange, LocalCall

LATE_S = 5.0
SHORT_WORD = resample(voice_like(12), SAMPLE_RATE_HZ, FORMAT.rate_hz)


class Clock:
    """The event loop's clock, and time for which the whole process stood still."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.stood_still_s = 0.0

    def __call__(self) -> float:
        return self._loop.time() + self.stood_still_s


async def said(delay: Callable[[LocalCall, Clock], None], pause_s: float = 0.0) -> Exchange:
    """Say a short word after a greeting and a pause."""
    clock = Clock()
    agent = AgentConfig(greeting="Welcome.", filler="")
    services = await call_services(
        FixedRecognizer(text="Yes."), FixedLlm(), FixedSynthesizer(), agent=agent, clock=clock
    )
    async with LocalCall(services) as call:
        await asyncio.sleep(pause_s)
        delay(call, clock)
        return await call.say(SHORT_WORD)


def test_a_short_word_after_a_time_in_which_nothing_was_sent_is_heard() -> None:
    assert run_virtually(said(lambda *_: None, LATE_S)).understood == ["Yes."]


def test_a_short_word_within_which_the_process_stood_still_is_heard() -> None:
    def stand_still(call: LocalCall, clock: Clock) -> None:
        hear = call._line._hear

        def stood_still(frame: Samples) -> None:
            clock.stood_still_s = LATE_S
            hear(frame)

        call._line._hear = stood_still

    assert run_virtually(said(stand_still)).understood == ["Yes."]


def test_what_is_said_late_is_not_sent_in_a_burst() -> None:
    sent_s: list[float] = []

    def take_times(call: LocalCall, clock: Clock) -> None:
        hear = call._line._hear

        def timed(frame: Samples) -> None:
            sent_s.append(clock())
            hear(frame)

        call._line._hear = timed

    run_virtually(said(take_times, LATE_S))
    assert np.diff(sent_s).min() > 0
