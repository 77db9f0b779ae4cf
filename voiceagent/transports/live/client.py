"""The client of a Live session: encodes events and audio, and queues them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pybase64 import b64encode_as_string

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from audio.resample import Resampler
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.transports.live.protocol.encode import Encoder, Event
from voiceagent.transports.live.protocol.permissions import Permissions
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.protocol.encode import to_json
from voiceagent.transports.realtime.resuming import ResumableWire
from voiceagent.transports.realtime.sidebands.endpoint import Attached
from voiceagent.transports.webrtc.media import AudioOutput

EVERYTHING = Permissions(None)
REFLECTED = AudioFormat.PCM_24K
"""Format of audio for sidebands."""


class LiveClient:
    """Client of a session.

    clock: monotonic seconds; the session's timeline begins with `begin`. output: sends the agent's audio if
    it is not in events, as over WebRTC. permissions: events that it may receive. received_s: position in the
    caller's audio. `on_notification` is called with each notification after its events were sent. Set
    `encoder` before the call begins, and `open_sideband` once it has begun. sidebands: their queues. wire:
    connection that the client may replace, if it asked for that.
    """

    encoder: Encoder

    def __init__(
        self,
        clock: Callable[[], float],
        output: AudioOutput | None = None,
        permissions: Permissions = EVERYTHING,
    ) -> None:
        self.output = output
        self.permissions = permissions
        self.outbox: Outbox[str] = Outbox()
        self.sidebands: list[Outbox[str]] = []
        self.open_sideband: Callable[[], Attached] | None = None
        self.wire: ResumableWire | None = None
        self._asking: Outbox[str] | None = None
        self._reflected_in: Resampler | None = None
        self._reflected_out: Resampler | None = None
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
        for event in self.encoder.encode(notification, self.now_ms, self.received_s):
            self.send(event)
        self.on_notification(notification)
        match notification:
            case notify.NotifyResponseEnded(response_id=ended) if self.output is not None:
                if self.output.is_playing(ended):
                    self.output.stop()

    def play(self, response_id: str, frame: Samples) -> None:
        """Send the agent's audio, int16 mono at the rate of the session's format, and the words in it."""
        if self.output is not None:
            self.output.play(response_id, frame)
        else:
            sound = b64encode_as_string(encode_sound(frame, self.output_format))
            # the API numbers no audio, but a client that resumes must name the last that it received
            number = "" if self.wire is None else f'"event_id":"{self.encoder.next_id()}",'
            self.outbox.put(f'{{"type":"session.output_audio.delta",{number}"delta":"{sound}"}}', sound=True)
        if self.sidebands:
            self._reflect_output(frame)
        if not response_id:
            return  # a backchannel has no transcript
        for event in self.encoder.on_audio(len(frame) / self.output_format.rate_hz, self.now_ms):
            self.send(event)

    def clear(self) -> None:
        """Drop unsent audio. The API has no event to drop audio at the client."""
        self.outbox.drop_sound()
        if self.output is not None:
            self.output.stop()

    def report(self, turn: TurnReport) -> None:
        """Do nothing: the API has no event for it."""

    def send(self, event: Event) -> None:
        """Send an event to the client and its sidebands, but an error only to the one that caused it."""
        text = to_json(event)
        if event["type"] == "error":
            # an empty queue is false
            if self._asking is not None:
                self._asking.put(text)
            elif self.permissions.allows_server_event(event):
                self.outbox.put(text)
            return
        if self.permissions.allows_server_event(event):
            self.outbox.put(text)
        for sideband in self.sidebands:
            sideband.put(text)

    def send_notice(self, code: str, message: str) -> None:
        """Send an `info` event to the client alone."""
        event = self.encoder.event("info", code=code, message=message)
        if self.permissions.allows_server_event(event):
            self.outbox.put(to_json(event))

    @contextmanager
    def answering(self, sideband: Outbox[str]) -> Iterator[None]:
        """Send errors that occur in the block to this sideband."""
        self._asking = sideband
        try:
            yield
        finally:
            self._asking = None

    def reflect_input(self, samples: Samples, rate_hz: int) -> None:
        """Send the caller's audio to the sidebands, as it came: muting does not silence it."""
        if self._reflected_in is None:
            self._reflected_in = Resampler(rate_hz, REFLECTED.rate_hz)
        sound = b64encode_as_string(encode_sound(self._reflected_in.push(samples), REFLECTED))
        text = f'{{"type":"session.input_audio.append","audio":"{sound}"}}'
        for sideband in self.sidebands:
            sideband.put(text, sound=True)

    def _reflect_output(self, frame: Samples) -> None:
        rate_hz = self.output_format.rate_hz
        if self._reflected_out is None:
            self._reflected_out = Resampler(rate_hz, REFLECTED.rate_hz)
        sound = b64encode_as_string(encode_sound(self._reflected_out.push(frame), REFLECTED))
        start_ms = self.now_ms
        event = {"type": "session.output_audio.delta", "delta": sound, "start_ms": start_ms}
        text = to_json(event | {"end_ms": start_ms + round(len(frame) / rate_hz * 1000)})
        for sideband in self.sidebands:
            sideband.put(text, sound=True)
