"""The destinations of the agent's audio frames."""

from __future__ import annotations

from audio.pcm import Samples
from voiceagent.conversation import call_events
from voiceagent.session.call import Client
from voiceagent.session.listening import Listener
from voiceagent.session.publishing import CallPublisher


class FrameOutput:
    """Sends frames to the client, after the listener, which finds their echo in the caller's audio, and
    before the call's subscribers, which record them.

    It holds no reference to the players that call it, so that a call leaves no reference cycle behind.
    """

    def __init__(self, listener: Listener, client: Client, publisher: CallPublisher) -> None:
        self._listener = listener
        self._client = client
        self._publisher = publisher

    def play(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        self._listener.on_output_frame(frame, response_id)
        self._client.play(response_id, frame)
        self._publisher.on_output_audio(response_id, frame, rate_hz)

    def play_backchannel(self, name: str, frame: Samples, rate_hz: int) -> None:
        """Send a frame of a backchannel, which belongs to no response."""
        self._listener.on_output_frame(frame)
        self._client.play("", frame)
        self._publisher.on_output_audio(name, frame, rate_hz)

    def play_background(self, frame: Samples, rate_hz: int) -> None:
        """Send a frame of background sounds without speech. No voice is over such a frame."""
        self._listener.on_background_frame(frame)
        self._client.play("", frame)
        self._publisher.on_output_audio(call_events.BACKGROUND, frame, rate_hz)
