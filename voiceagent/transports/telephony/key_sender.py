"""Sends keys on a phone line: by the provider's API, or as tones in the agent's audio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np

from audio.dtmf import length_s, tones
from audio.pcm import Samples
from voiceagent.transports.telephony.control import CallControl

LEAD_S = 0.1
"""Time by which tones are sent ahead of real time, so that network jitter does not break a key."""


class KeySender:
    """Sender of keys in one call, one sequence after the other.

    control: the provider's API, None for none. play: sends a frame of audio. rate_hz, frame_s: of the
    agent's audio. mute: called with the time until which our tones sound, by the event loop's clock.
    """

    def __init__(
        self,
        control: CallControl | None,
        play: Callable[[Samples], None],
        rate_hz: int,
        frame_s: float,
        mute: Callable[[float], None],
    ) -> None:
        self._control = control
        self._play = play
        self._rate_hz = rate_hz
        self._frame_s = frame_s
        self._mute = mute
        self._sending = asyncio.Lock()

    async def send(self, keys: str) -> None:
        """Send keys, and return when they have sounded. keys: see `audio.dtmf.tones`. Raise ControlError."""
        async with self._sending:
            if self._control is not None and await self._control.send_digits(keys):
                await asyncio.sleep(length_s(keys))
                return
            await self._send_tones(keys)

    async def _send_tones(self, keys: str) -> None:
        loop = asyncio.get_running_loop()
        samples, length = tones(keys, self._rate_hz), round(self._frame_s * self._rate_hz)
        samples = np.pad(samples, (0, -len(samples) % length))
        self._mute(loop.time() + len(samples) / self._rate_hz + 1.0)
        due_s = loop.time() - LEAD_S
        for begin in range(0, len(samples), length):
            self._play(samples[begin : begin + length])
            due_s += self._frame_s
            await asyncio.sleep(max(0.0, due_s - loop.time()))
        await asyncio.sleep(LEAD_S)
