"""Plays backchannels of the agent: outside of responses, in the caller's pause, able to stop at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from audio.synthesizers import Speech
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.background import FRAME_S, Background
from voiceagent.session.services import Speaking
from voiceagent.session.speaking import PlayFrame, Speaker
from voiceagent.session.timers import TICK_S

LEAD_S = FRAME_S + 2 * TICK_S
"""Audio sent ahead of real time, which cannot be taken back. With the 60 ms of responses a backchannel falls
over the caller's first 60 ms. It must be more than a frame: each wake-up is late by up to a tick.
"""
MIN_QUIET_S = 0.2
"""Least time since a loud frame, which may be the breath before a word: a backchannel is not said sooner."""


class BackchannelPlayer:
    """Backchannels of one call. The conversation is not notified of them.

    play_frame, clear, background: see `Speaker`.
    """

    def __init__(
        self, play_frame: PlayFrame, clear: Callable[[], None], speaking: Speaking, background: Background
    ) -> None:
        speaking = replace(speaking, lead_s=min(LEAD_S, speaking.lead_s))
        self._pacer = speaking.pacer
        self._speaker = Speaker(
            play_frame, clear, speaking, lambda event: None, lambda name, at_s: None, background
        )
        self._waiting: tuple[str, Sequence[Speech]] | None = None
        self._tick = 0
        self._voice_at_s = -math.inf  # of the newest loud frame

    def configure(self, settings: CallSettings) -> None:
        """Apply rate and frame length of these settings, see `Speaker.configure`."""
        self._speaker.configure(settings)

    def play(self, name: str, sound: Sequence[Speech], at_s: float) -> None:
        """Play this sound at a time on the pacer's clock, at once if that has passed; `close` cancels it."""
        self.close()
        self._waiting = name, sound
        if at_s > self._pacer.clock():
            self._tick = self._pacer.wake(at_s, self._begin)
        else:
            self._begin()

    def on_voice_return(self) -> None:
        """Drop the part that was not sent. What waits is left: a voice that fades also rises now and then."""
        self._voice_at_s = self._pacer.clock()
        self._speaker.close()

    def close(self) -> None:
        """Drop what waits, and the part that was not sent."""
        if self._waiting is not None:
            self._pacer.forget(self._tick, self._begin)
            self._waiting = None
        self._speaker.close()

    def _begin(self) -> None:
        if self._waiting is None:
            return
        (name, sound), self._waiting = self._waiting, None
        if self._pacer.clock() < self._voice_at_s + MIN_QUIET_S:
            return
        for speech in sound:
            self._speaker.play(name, speech.samples)
        self._speaker.finish(name)
