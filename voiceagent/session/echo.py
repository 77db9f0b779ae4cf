"""Echo cancellation in one call: both directions of its sound are brought to the canceller's rate."""

from __future__ import annotations

from audio.echo import SAMPLE_RATE_HZ, EchoCanceller
from audio.pcm import Samples
from audio.resample import Resampler
from voiceagent.conversation.settings import CallSettings


class EchoPath:
    """Takes the agent's sound out of the caller's, and noise, as the canceller is set to."""

    def __init__(self, canceller: EchoCanceller, settings: CallSettings) -> None:
        self._canceller = canceller
        self._caller_hz = settings.input_format.rate_hz
        self._agent_hz = settings.output_format.rate_hz
        self._of_caller = Resampler(self._caller_hz, SAMPLE_RATE_HZ)
        self._of_agent = Resampler(self._agent_hz, SAMPLE_RATE_HZ)

    def configure(self, settings: CallSettings) -> None:
        """Take the rates of these settings from now on; what waits of sound at another rate is dropped."""
        if settings.input_format.rate_hz != self._caller_hz:
            self._caller_hz = settings.input_format.rate_hz
            self._of_caller = Resampler(self._caller_hz, SAMPLE_RATE_HZ)
        if settings.output_format.rate_hz != self._agent_hz:
            self._agent_hz = settings.output_format.rate_hz
            self._of_agent = Resampler(self._agent_hz, SAMPLE_RATE_HZ)

    def clean(self, samples: Samples) -> Samples:
        """The caller's next sound [n] at the rate of the call's input, cleaned: [m] at 16 kHz."""
        return self._canceller.hear(self._of_caller.push(samples))

    def play(self, frame: Samples) -> None:
        """The agent's sound [n] that is being sent, at the rate of the call's output."""
        self._canceller.play(self._of_agent.push(frame))

    def stop(self) -> None:
        """What was sent of the agent's sound and not played was dropped."""
        self._canceller.stop()
