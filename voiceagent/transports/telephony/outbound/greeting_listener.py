"""Listener to the first words and tones of an outbound call: decides who answered, then stops."""

from __future__ import annotations

import asyncio

import structlog

from audio.pcm import Samples
from audio.steady_tones import SteadyToneDetector
from voiceagent.conversation import notifications as notify
from voiceagent.session.agent import AnsweredBy
from voiceagent.transports.telephony.outbound.policies.answered import MORE_WORDS_S, Greeting

log = structlog.get_logger()

NO_WORDS_S = 2.0
"""Silence from the start of the call after which a person is greeted who says nothing."""
BEEP_SILENCE_S = 2.0
"""Silence after a voicemail's greeting after which a beep is no longer expected."""
MAX_BEEP_S = 25.0
"""Maximum wait for a beep, whatever is heard. Less than the timeout of a hook."""


class GreetingListener:
    """Listener to one call: an `Answer`. screened: a screener has answered, and a person may follow."""

    def __init__(self, call_id: str, screened: bool = False) -> None:
        self.wanted = False
        self._log = log.bind(call=call_id)
        self._loop = asyncio.get_running_loop()
        self._greeting = Greeting(screened=screened)
        self._tones: SteadyToneDetector | None = None
        self._speaking = False
        self._received_s = self._silence_due_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._kind: asyncio.Future[AnsweredBy | None] = self._loop.create_future()
        self._beep: asyncio.Future[None] = self._loop.create_future()

    def start(self) -> None:
        self.wanted = True
        self._wait(NO_WORDS_S)

    async def kind(self) -> AnsweredBy | None:
        return await asyncio.shield(self._kind)

    async def beep(self) -> None:
        await asyncio.wait([self._beep], timeout=MAX_BEEP_S)

    @property
    def is_over(self) -> bool:
        """True once nothing more is listened for."""
        return self._beep.done()

    def push_audio(self, samples: Samples, rate_hz: int) -> None:
        """Add audio of the other end."""
        self._received_s += len(samples) / rate_hz
        if self._tones is None:
            self._tones = SteadyToneDetector(rate_hz)
        for tone in self._tones.push(samples):
            self._update(self._greeting.on_tone(tone))

    def on_notification(self, notification: notify.Notification) -> None:
        """Handle the beginning and the end of a turn, and its transcript."""
        if self._beep.done():
            return
        match notification:
            case notify.NotifySpeechStarted():
                self._speaking = True
                self._cancel_timer()
                self._update(self._greeting.on_voice())
            case notify.NotifySpeechStopped(_, at_s):
                self._speaking = False
                silence_s = max(0.0, self._received_s - at_s)
                self._silence_due_s = self._loop.time() + MORE_WORDS_S - silence_s
                self._wait(BEEP_SILENCE_S if self._kind.done() else MORE_WORDS_S)
            case notify.NotifyTranscript(_, text, True, seconds):
                self._update(self._greeting.on_turn(text, seconds))
                if not self._speaking and not self._kind.done() and self._silence_due_s:
                    self._wait(max(0.0, self._silence_due_s - self._loop.time()))
            case _:
                pass

    def close(self) -> None:
        """End the waits: the call is over, or the decision is no longer needed."""
        self._cancel_timer()
        for future in (self._kind, self._beep):
            if not future.done():
                future.set_result(None)

    def _update(self, greeting: Greeting) -> None:
        """Keep the greeting, and publish what it decides."""
        self._greeting = greeting
        if greeting.kind is not None and not self._kind.done():
            self._log.info("answered_by", kind=greeting.kind)
            self._kind.set_result(greeting.kind)
            if greeting.kind != "voicemail":
                self.close()
            elif not self._speaking:
                self._wait(BEEP_SILENCE_S)
        if greeting.beeped:
            self.close()

    def _on_silence(self) -> None:
        if self._kind.done():
            self.close()
        else:
            self._update(self._greeting.on_silence())
            if self._kind.done():  # a voicemail: this silence counts
                self._wait(BEEP_SILENCE_S - MORE_WORDS_S)

    def _wait(self, seconds: float) -> None:
        self._cancel_timer()
        if not self._beep.done():
            self._timer = self._loop.call_later(seconds, self._on_silence)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
