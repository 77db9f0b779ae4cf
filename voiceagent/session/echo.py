"""Echo cancellation in one call: resamples both directions to the canceller's rate."""

from __future__ import annotations

from audio.echo import SAMPLE_RATE_HZ, EchoCanceller
from audio.pcm import Samples
from audio.resample import Resampler
from voiceagent.conversation.settings import CallSettings


class EchoPath:
    """Removes the agent's echo, and noise if configured, from the caller's audio."""

    def __init__(self, canceller: EchoCanceller, settings: CallSettings) -> None:
        self._canceller = canceller
        self._caller_hz = settings.input_format.rate_hz
        self._agent_hz = settings.output_format.rate_hz
        self._of_caller = Resampler(self._caller_hz, SAMPLE_RATE_HZ)
        self._of_agent = Resampler(self._agent_hz, SAMPLE_RATE_HZ)

    def configure(self, settings: CallSettings) -> None:
        """Apply the rates of these settings; drop buffered audio of another rate."""
        if settings.input_format.rate_hz != self._caller_hz:
            self._caller_hz = settings.input_format.rate_hz
            self._of_caller = Resampler(self._caller_hz, SAMPLE_RATE_HZ)
        if settings.output_format.rate_hz != self._agent_hz:
            self._agent_hz = settings.output_format.rate_hz
            self._of_agent = Resampler(self._agent_hz, SAMPLE_RATE_HZ)

    def clean(self, samples: Samples) -> Samples:
        """Return the caller's next audio [n] at the rate of the call's input, cleaned: [m] at 16 kHz."""
        return self._canceller.hear(self._of_caller.push(samples))

    def play(self, frame: Samples) -> None:
        """Record a frame [n] of the agent's audio, at the rate of the call's output."""
        self._canceller.play(self._of_agent.push(frame))

    def stop(self) -> None:
        """Record that sent audio of the agent was dropped before it was played."""
        self._canceller.stop()
