"""The audio fixture of a Live session: a clip of the client that is played word for word."""

from __future__ import annotations

from collections.abc import Callable

from audio.pcm import AudioFormat, Samples
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.client_requests import CLIP_HZ
from voiceagent.session.call import new_id
from voiceagent.transports.live.protocol.client_events import FixturePlay
from voiceagent.transports.realtime.protocol.decode import to_samples
from voiceagent.transports.realtime.protocol.errors import RequestError

MAX_FIXTURE_S = 30
"""Longest fixture, as in the API."""


class Fixture:
    """The fixture that is playing, one at most.

    handle: carries out requests of the client. send: sends a server event of this kind, with the
    id of the client's event that it answers.
    """

    def __init__(
        self, handle: Callable[[ev.ClientRequest], None], send: Callable[[str, str | None], None]
    ) -> None:
        self._handle = handle
        self._send = send
        self._response_id = ""
        self._client_event_id: str | None = None

    @property
    def is_playing(self) -> bool:
        """True from the acceptance of a fixture until all of it is sent. The caller is not heard."""
        return self._response_id != ""

    def play(self, event: FixturePlay) -> None:
        """Play a fixture in place of the agent's speech. Raise RequestError."""
        self.check_not_playing()
        sound = to_clip(event.audio)
        self._response_id, self._client_event_id = new_id("resp"), event.event_id
        self._send("session.output_audio.fixture.playing", event.event_id)
        self._handle(ev.ClipRequested(self._response_id, sound))

    def check_not_playing(self) -> None:
        """Raise RequestError while a fixture is playing."""
        if self.is_playing:
            message = "an audio fixture is playing; wait for session.output_audio.fixture.played"
            raise RequestError("fixture_active", message, "type")

    def on_notification(self, notification: notify.Notification) -> None:
        """End the fixture with its clip. A clip that was cut has no event."""
        if isinstance(notification, notify.NotifyClipEnded) and notification.response_id == self._response_id:
            self._response_id = ""
            if notification.completed:
                self._send("session.output_audio.fixture.played", self._client_event_id)


def to_clip(audio: str) -> Samples:
    """Decode a fixture: base64 of raw mono PCM16 at 24 kHz, little-endian, up to 30 s. Raise RequestError."""
    sound = to_samples(audio, "audio", AudioFormat.PCM_24K)
    if not len(sound):
        raise RequestError("invalid_value", "audio is empty", "audio")
    if len(sound) > MAX_FIXTURE_S * CLIP_HZ:
        message = f"audio has {len(sound) / CLIP_HZ:.1f} s; allowed: at most {MAX_FIXTURE_S} s"
        raise RequestError("invalid_value", message, "audio")
    return sound
