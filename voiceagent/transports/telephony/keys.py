"""Keys of a phone call: those that the caller presses, and those sent by the provider's API or as tones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import numpy as np

from audio.dtmf import length_s, tones
from audio.pcm import Samples
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem
from voiceagent.session.agent import Pressed
from voiceagent.session.call import Call, new_id
from voiceagent.transports.telephony.control import CallControl
from voiceagent.transports.telephony.stream.keypad import InbandKeys, Keypad, entry_text
from voiceagent.transports.telephony.stream.serializer import ProtocolError


class KeyReceiver:
    """Handler of the keys of one call, which the line reports or which are tones in the audio.

    max_keys: keypresses per call. briefing: the other end is a colleague who is briefed.
    """

    def __init__(self, call: Call, max_keys: int, briefing: bool) -> None:
        self.inband: InbandKeys | None = None
        """Detector of tones, if the line may not report keys."""
        self._call = call
        self._max_keys = max_keys
        self._briefing = briefing
        self._keypad = Keypad()
        self._pressed = 0
        self._loop = asyncio.get_running_loop()
        self._entry_timer: asyncio.TimerHandle | None = None

    def mute(self, until_s: float) -> None:
        """Ignore tones until this time of the event loop: this end sends some, which the line may echo."""
        if self.inband is not None:
            self.inband.mute(until_s)

    def on_reported(self, digit: str) -> None:
        """Handle a key that the line reported, unless its tone was heard already. Raises ProtocolError."""
        if self.inband is None or self.inband.is_new(digit, self._loop.time()):
            self.press(digit)

    def press(self, digit: str) -> None:
        """Handle a keypress. It interrupts the agent unless it only ends an entry. Raises ProtocolError."""
        self._pressed += 1
        if self._pressed > self._max_keys:
            raise ProtocolError(f"more than {self._max_keys} digits were sent")
        pressed = self._call.press(digit, round(time.time()))
        # a key of a colleague would cut the brief, and the model would answer it
        if pressed is Pressed.IGNORED_TERMINATOR or self._briefing:
            return
        self._call.handle(ev.OutputCleared(by_key=True))
        self.close()
        if pressed is Pressed.TAKEN:
            return
        digits = self._keypad.press(digit, self._loop.time())
        if digits is not None:
            self._enter(digits)
        elif self._keypad.due_s is not None:
            self._entry_timer = self._loop.call_at(self._keypad.due_s, self._enter_late)

    def close(self) -> None:
        """Cancel the timer of the entry in progress."""
        if self._entry_timer is not None:
            self._entry_timer.cancel()
            self._entry_timer = None

    def _enter_late(self) -> None:
        self._enter(self._keypad.take())

    def _enter(self, digits: str) -> None:
        item = MessageItem(new_id("item"), "user", entry_text(digits))
        self._call.handle(ev.OutputCleared(by_key=True))
        self._call.handle(ev.ItemCreated(item))
        self._call.handle(ev.ResponseRequested())


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
