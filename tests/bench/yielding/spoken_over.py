"""A call in which the agent is interrupted, and what the caller hears."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from yielding.loudspeaker import Loudspeaker
from yielding.speakerphone import Telephone

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.events import SpeechRequested
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.services import Services
from voiceagent.session.session import Session
from voiceagent.transports.local_call import FORMAT, FRAME_S, PacedSound

LEAD_S = 0.5
"""Silence before the caller's turn."""
TURN_S = 10.0
"""Maximum time from the end of the caller's audio until the turn is over and transcribed."""


class _Client:
    """Plays the first response of a call."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._response_id = ""
        self.loudspeaker = Loudspeaker(FRAME_S)
        self.status = ""

    def notify(self, notification: notify.Notification) -> None:
        match notification:
            case notify.NotifyResponseStarted(response_id) if not self._response_id:
                self._response_id = response_id
            case notify.NotifyResponseEnded(response_id, status) if response_id == self._response_id:
                self.status = status
            case _:
                pass

    def play(self, response_id: str, frame: Samples) -> None:
        if response_id == self._response_id:
            self.loudspeaker.play(frame, self._clock())

    def clear(self) -> None:
        if not self.status:
            self.loudspeaker.clear(self._clock())

    def report(self, turn: TurnReport) -> None:
        pass


@dataclass(frozen=True, slots=True)
class SpokenOver:
    """Result: the agent's speech; `voice_s`: start of the caller's voice by the call's clock."""

    voice_s: float
    status: str
    loudspeaker: Loudspeaker


@dataclass(frozen=True, slots=True)
class Turn:
    """The caller's turn before: `sound` [n] at 24 kHz, and the agent's answer to it."""

    sound: Samples
    agent_says: str


async def speak_over(
    services: Services,
    sound: Samples,
    after_s: float,
    longest_s: float,
    telephone: Telephone | None = None,
    turn: Turn | None = None,
) -> SpokenOver:
    """Speak `sound` [n], which begins with voice, `after_s` after the agent began, in a call of its own.

    telephone: the caller's, None for a handset, which has no echo. turn: comes before; without it the agent's
    greeting is interrupted by a caller who has not spoken yet. The call ends with the agent's speech, or
    after `longest_s`.
    """
    client = _Client(services.measuring.clock)
    session = Session("bench", services, _settings(services, turn), client)
    microphone = telephone(client.loudspeaker, FORMAT.rate_hz) if telephone is not None else None

    def hear(frame: Samples) -> None:
        begins_s = line.at_s - len(frame) / FORMAT.rate_hz
        session.hear(frame if microphone is None else microphone.hear(frame, begins_s))

    line = PacedSound(hear, services.measuring.clock)
    session.begin()
    try:
        if turn is not None:
            await _take_turn(session, line, client, turn)
        await line.send(np.zeros(round(after_s * FORMAT.rate_hz), np.int16))
        voice_s = line.at_s
        ends_s = voice_s + longest_s
        await line.send(sound)
        while not client.status and line.at_s < ends_s:
            await line.send(_SILENCE)
    finally:
        await session.close("measured")
    return SpokenOver(voice_s, client.status, client.loudspeaker)


_SILENCE = np.zeros(round(FRAME_S * FORMAT.rate_hz), np.int16)


def _settings(services: Services, turn: Turn | None) -> CallSettings:
    settings = replace(services.settings, input_format=FORMAT, output_format=FORMAT)
    detection = settings.turn_detection
    if turn is None or detection is None:
        return settings
    return replace(settings, turn_detection=replace(detection, create_response=False))


async def _take_turn(session: Session, line: PacedSound, client: _Client, turn: Turn) -> None:
    """Speak the turn, and make the agent speak."""
    await line.send(np.tile(_SILENCE, round(LEAD_S / FRAME_S)))
    await line.send(turn.sound)
    over_s = line.at_s + TURN_S
    while line.at_s < over_s and not (session.idle and (session.items or not len(turn.sound))):
        await line.send(_SILENCE)
    session.post(SpeechRequested(turn.agent_says))
    while line.at_s < over_s + TURN_S and not client.loudspeaker.begins_s:
        await line.send(_SILENCE)
