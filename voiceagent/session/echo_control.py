"""Echo of the agent in one call: measures it, and cancels it from then on.

A canceller costs 5 ms a second of audio, and also changes the caller's voice. So a line without echo has
none: only a voice over the agent is compared with the agent's audio.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from audio.echo import FRAME_SAMPLES, SAMPLE_RATE_HZ, EchoCanceller, EchoError
from audio.echo_detection import DETECTION_HZ, MAX_DELAY_S, MAX_NEAR_S, Echo, find_echo
from audio.pcm import Samples
from audio.resample import Resampler, resample
from audio.speech_events import SpeechEvent, SpeechStarted, TurnEnded, VoiceFaded, VoiceNoticed
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.config import EchoConfig
from voiceagent.session.played_audio import KEPT_S, PlayedAudio

_MEASURED_AFTER_S = (0.16, 0.26, 0.4, 0.6, 0.9)
"""Lengths of a voice over the agent after which it is compared with the agent's audio."""
_LEAD_IN_S = 0.1
"""Audio before a voice that is compared too."""
_CONVERGE_S = 2.0
"""Audio from which a new canceller learns; it takes 10 ms, once a call. Less audio is used several times."""
Since = Callable[[float], Samples]
"""Returns the caller's audio from a position on, [n] at 16 kHz."""

_log = structlog.get_logger()


class EchoControl:
    """The agent's audio in one call, and its echo. Raises EchoError if a configured canceller is missing."""

    def __init__(self, config: EchoConfig, settings: CallSettings) -> None:
        self._config = config
        self._settings = settings
        self._played = PlayedAudio(settings.output_format.rate_hz)
        self._path: EchoPath | None = None
        self._delay_s = 0.0  # of a measured echo
        if config.cancel is True or config.suppress_noise:
            self._path = EchoPath(EchoCanceller(config.cancel is True, config.suppress_noise), settings)
        self._voice_s: float | None = None  # beginning of the voice that may be an echo
        self._measurements = 0
        self._agent_began_s = 0.0  # start of the agent's audio after a second of silence
        self._cancels = config.cancel is True
        self._reported = False  # that there is no canceller
        if settings.suppress_noise and not config.suppress_noise:
            self._rebuild()

    @property
    def rate_hz(self) -> int:
        """Sample rate of cleaned audio: a canceller has a rate of its own."""
        return self._settings.input_format.rate_hz if self._path is None else SAMPLE_RATE_HZ

    def clean(self, samples: Samples) -> Samples:
        """Return the caller's next audio [n] at the rate of the call's input, cleaned: [m] at `rate_hz`."""
        return samples if self._path is None else self._path.clean(samples)

    def configure(self, settings: CallSettings) -> None:
        """Apply the rates of these settings, and their noise suppression."""
        suppressed = self._suppresses_noise
        self._settings = settings
        self._played.change_rate(settings.output_format.rate_hz)
        if self._suppresses_noise != suppressed:
            self._rebuild()
        elif self._path is not None:
            self._path.configure(settings)

    @property
    def _suppresses_noise(self) -> bool:
        return self._config.suppress_noise or self._settings.suppress_noise

    def _rebuild(self) -> None:
        """Begin, or end, noise suppression. A canceller learns its echo again."""
        noise = self._suppresses_noise
        if not noise and not self._cancels:
            self._path = None
            return
        try:
            canceller = EchoCanceller(self._cancels, noise, self._delay_s)
        except EchoError as error:
            _log.warning("noise_not_suppressed", reason=str(error))
            return
        self._path = EchoPath(canceller, self._settings)

    # ---- the agent's audio

    def play(self, frame: Samples, at_s: float, response_id: str = "") -> None:
        """Record a frame of the agent's audio, sent at this position of the caller's."""
        if at_s > self._played.end_s + MAX_DELAY_S:
            self._agent_began_s = at_s
        self._played.play(frame, at_s, response_id)
        if self._path is not None:
            self._path.play(frame)

    def drop(self, at_s: float) -> None:
        """Record that audio sent for later than this position was dropped."""
        self._played.drop(at_s)
        if self._path is not None:
            self._path.stop()

    def position(self, at_s: float) -> tuple[str, float]:
        """Return the response that was played at a position; see `PlayedAudio.position`."""
        return self._played.position(at_s)

    # ---- the echo

    def on_speech_event(self, event: SpeechEvent) -> None:
        """Begin to measure a voice over the agent, or end it."""
        match event:
            case VoiceNoticed(at_s) | SpeechStarted(at_s):
                # with noise suppression alone there is a path, but no cancellation
                measured = self._config.cancel == "auto" and not self._cancels
                if at_s >= self._played.end_s + KEPT_S:
                    self._played.release()
                elif measured and self._voice_s is None and at_s < self._played.end_s + MAX_DELAY_S:
                    self._voice_s, self._measurements = at_s, 0
            case VoiceFaded() | TurnEnded():
                self._voice_s = None

    def is_due(self, received_s: float) -> bool:
        """Return True if a voice over the agent is to be measured now."""
        if self._voice_s is None:
            return False
        if self._measurements == len(_MEASURED_AFTER_S):
            self._voice_s = None
            return False
        return received_s >= self._voice_s + _MEASURED_AFTER_S[self._measurements]

    def measure(self, received_s: float, since: Since) -> Echo | None:
        """Compare the voice over the agent with what was played. Return the echo, None if it is none.

        received_s: end of the audio that `since` returns.
        """
        if self._voice_s is None:
            return None
        self._measurements += 1
        from_s = max(0.0, self._voice_s - _LEAD_IN_S, received_s - MAX_NEAR_S)
        received = resample(since(from_s), SAMPLE_RATE_HZ, DETECTION_HZ)
        from_s = received_s - len(received) / DETECTION_HZ
        played = self._played.between(from_s - MAX_DELAY_S, received_s)
        echo = find_echo(resample(played, self._played.rate_hz, DETECTION_HZ), received)
        if echo is not None:
            self._voice_s = None
        return echo

    def cancel(self, echo: Echo, received_s: float, since: Since) -> Samples | None:
        """Cancel this echo from now on. Return the newest audio cleaned, [n] at 16 kHz, if there is a
        canceller.
        """
        try:
            canceller = EchoCanceller(True, self._suppresses_noise, echo.delay_s)
        except EchoError as error:
            if not self._reported:
                self._reported = True
                _log.warning("echo_not_cancelled", reason=str(error), delay_s=round(echo.delay_s, 3))
            return None
        self._cancels, self._delay_s = True, echo.delay_s
        received = since(max(self._agent_began_s, received_s - _CONVERGE_S))
        received = received[len(received) % FRAME_SAMPLES :]
        passes = max(1, round(_CONVERGE_S * SAMPLE_RATE_HZ) // max(1, len(received)))
        from_s = received_s - len(received) / SAMPLE_RATE_HZ
        played = self._played.between(from_s, max(received_s, self._played.end_s))
        cleaned = canceller.converge(resample(played, self._played.rate_hz, SAMPLE_RATE_HZ), received, passes)
        self._path = EchoPath(canceller, self._settings)
        return cleaned


class EchoPath:
    """A canceller that removes the agent's echo, and noise if configured, from the caller's audio. Both
    directions are resampled to its rate.
    """

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
