"""The client of a Live session: encodes events and audio, and queues them."""

from __future__ import annotations

from collections.abc import Callable

from pybase64 import b64encode_as_string

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.transports.live.protocol.encode import Encoder, Event
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.protocol.encode import to_json


class LiveClient:
    """Client of a session over WebSocket.

    clock: monotonic seconds; the session's timeline begins with `begin`. received_s: position in the caller's
    audio. `on_notification` is called with each notification after its events were sent. Set `encoder` before
    the call begins.
    """

    encoder: Encoder

    def __init__(self, clock: Callable[[], float]) -> None:
        self.outbox: Outbox[str] = Outbox()
        self.received_s = 0.0
        self.output_format = AudioFormat.PCM_24K
        self.on_notification: Callable[[notify.Notification], None] = lambda notification: None
        self._clock = clock
        self._began_s = clock()

    def begin(self) -> None:
        """Begin the session's timeline."""
        self._began_s = self._clock()

    @property
    def now_ms(self) -> int:
        """Position on the session's timeline."""
        return round((self._clock() - self._began_s) * 1000)

    def notify(self, notification: notify.Notification) -> None:
        """Send a notification to the client."""
        for event in self.encoder.encode(notification, self.now_ms, self.received_s):
            self.send(event)
        self.on_notification(notification)

    def play(self, response_id: str, frame: Samples) -> None:
        """Send the agent's audio, int16 mono at the rate of the session's format, and the words in it."""
        sound = b64encode_as_string(encode_sound(frame, self.output_format))
        self.outbox.put(f'{{"type":"session.output_audio.delta","delta":"{sound}"}}', sound=True)
        for event in self.encoder.on_audio(len(frame) / self.output_format.rate_hz, self.now_ms):
            self.send(event)

    def clear(self) -> None:
        """Drop unsent audio. The API has no event to drop audio at the client."""
        self.outbox.drop_sound()

    def report(self, turn: TurnReport) -> None:
        """Do nothing: the API has no event for it."""

    def send(self, event: Event) -> None:
        """Send an event."""
        self.outbox.put(to_json(event))
