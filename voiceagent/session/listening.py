"""The caller's sound: out of the front end into endpointing and recognition. Shell of one call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from audio import pitch
from audio.endpoint import EndpointConfig, Endpointer, SpeechEvent
from audio.front_end import Window
from audio.loudness import RISE_S, LoudnessFall, LoudnessRise
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import Resampler
from audio.smart_turn import MAX_TURN_S, SmartTurn
from audio.vad import WINDOW_SAMPLES
from voiceagent.conversation.end_of_turn import SILENCES
from voiceagent.conversation.events import (
    Event,
    PitchJudged,
    RecognitionFailed,
    SpeechStarted,
    TurnEnded,
    TurnJudged,
)
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.services import Hearing
from voiceagent.session.utterance import BEHIND_S, Utterance

WINDOW_S = WINDOW_SAMPLES / SAMPLE_RATE_HZ
KEPT_S = float(MAX_TURN_S)
"""Sound kept: what the turn model hears; a turn's beginning before it was noticed lies well within it."""
_KEPT_BYTES = round(KEPT_S * SAMPLE_RATE_HZ) * 2
OVER_AGENT_S = 0.5
"""So long after the agent's latest sound a voice may still be spoken over it."""


class Listener:
    """Hears one caller. Events are posted; positions are seconds of sound since the call began."""

    def __init__(
        self,
        hearing: Hearing,
        settings: CallSettings,
        post: Callable[[Event], None],
    ) -> None:
        self._recognizer = hearing.recognizer
        self._turn_model = hearing.turn_model
        self._echo = hearing.new_echo_canceller()
        self._resampler: Resampler | None = None  # both for the echo canceller only
        self._agent_resampler: Resampler | None = None
        self._judging: asyncio.Task[None] | None = None
        self._endpoint = hearing.endpoint
        self._settings = settings
        self._post = post
        self._endpointer = Endpointer(self._endpoint_config())
        self._arriving = hearing.front_end.open(self._arriving_hz, self._on_window)
        self._arriving.judged = settings.turn_detection is not None
        self._loudness = LoudnessRise()
        self._fall = LoudnessFall()
        self._over_agent_until_s = 0.0
        self._recent = bytearray()  # the newest `KEPT_S`, int16 at 16 kHz
        self._taken_samples = 0  # out of the front end, since the call began
        self._skipped_s = 0.0  # sound that the endpointer was not told of
        self._utterances: dict[str, Utterance] = {}
        self._fed: Utterance | None = None
        self._manual_since_s: float | None = None

    @property
    def received_s(self) -> float:
        """Seconds of sound received since the call began."""
        return self._taken_samples / SAMPLE_RATE_HZ + self._arriving.pending_s

    @property
    def buffered_s(self) -> float:
        """Seconds of sound in the turn that a client takes by hand."""
        return 0.0 if self._manual_since_s is None else self.received_s - self._manual_since_s

    @property
    def _arriving_hz(self) -> int:
        """The rate of what is given to the front end: an echo canceller has a rate of its own."""
        return self._settings.input_format.rate_hz if self._echo is None else SAMPLE_RATE_HZ

    def hear(self, samples: Samples) -> None:
        """Take the caller's next sound, int16 mono at the rate of the call's input format."""
        begins_s = self.received_s
        if self._echo is not None:
            if self._resampler is None:
                self._resampler = Resampler(self._settings.input_format.rate_hz, SAMPLE_RATE_HZ)
            samples = self._echo.hear(self._resampler.push(samples))
        self._arriving.push(samples)
        if self._settings.turn_detection is None and self._manual_since_s is None:
            self._manual_since_s = begins_s
            self._post(SpeechStarted(begins_s))

    def _on_window(self, window: Window) -> None:
        """Take in what the front end made of the next 32 ms."""
        self._take(window.sound)
        if window.probability is None:
            self._skipped_s += WINDOW_S
            return
        if self.received_s < self._over_agent_until_s and self._loudness.push(window.energies):
            self._notify(self._endpointer.notice(self._endpointer.now_s + WINDOW_S - RISE_S))
        voiced = self._endpointer.is_voiced(window.probability)
        silent_s = self._fall.push(window.energies, voiced)
        if silent_s < WINDOW_S:
            self._notify(self._endpointer.push(window.probability, WINDOW_S - silent_s))
        if silent_s > 0.0:
            self._notify(self._endpointer.push(window.probability, silent_s, fell=True))

    def _take(self, sound: Samples) -> None:
        """Keep sound at 16 kHz and have it recognized."""
        self._taken_samples += len(sound)
        self._recent += sound.data
        if len(self._recent) > _KEPT_BYTES:
            del self._recent[:-_KEPT_BYTES]
        if self._fed is not None and not self._fed.push(sound):
            self._give_up(self._fed)

    def _take_rest(self) -> None:
        """Take in what waits for the rest of a window, or for the tick: nobody will judge it."""
        rest = self._arriving.drain()
        self._skipped_s += len(rest) / SAMPLE_RATE_HZ
        if len(rest):
            self._take(rest)

    def agent_plays(self, frame: Samples) -> None:
        """The agent's sound that is being sent, at the rate of the output format: what an echo would be of,
        and what a voice that begins now is spoken over.
        """
        if self.received_s >= self._over_agent_until_s:
            self._loudness = LoudnessRise()
        self._over_agent_until_s = self.received_s + OVER_AGENT_S
        if self._echo is not None:
            if self._agent_resampler is None:
                self._agent_resampler = Resampler(self._settings.output_format.rate_hz, SAMPLE_RATE_HZ)
            self._echo.play(self._agent_resampler.push(frame))

    def agent_stops(self) -> None:
        """What was sent of the agent's sound and not played was dropped."""
        if self._echo is not None:
            self._echo.stop()

    def configure(self, settings: CallSettings) -> None:
        """Go on with new settings; the sound heard so far stays."""
        old, self._settings = self._settings, settings
        if old.input_format != settings.input_format:
            self._take_rest()
            self._resampler = None
            self._arriving.change_rate(self._arriving_hz)
        if old.output_format != settings.output_format:
            self._agent_resampler = None
        if old.turn_detection != settings.turn_detection:
            self._restart_endpointer()

    def clear(self) -> None:
        """Forget the turn in progress."""
        self._take_rest()
        self._fed = None
        self._manual_since_s = None
        self._recent.clear()
        self._restart_endpointer()

    def start_recognition(self, item_id: str, at_s: float) -> None:
        """Recognize the turn that began at `at_s`, from the prefix padding before it."""
        detection = self._settings.turn_detection
        padding_s = detection.prefix_padding_s if detection else 0.0
        utterance = Utterance(item_id, self._recognizer, self._post)
        utterance.push(self._since(at_s - padding_s))
        self._utterances[item_id] = self._fed = utterance

    def flush_recognition(self, item_id: str) -> None:
        """Ask for a settled hypothesis of the turn."""
        if self._settings.turn_detection is None:
            self._take_rest()  # a turn taken by hand ends where the client says, not with a window
        if utterance := self._utterances.get(item_id):
            utterance.flush()

    def judge_turn(self, item_id: str) -> None:
        """Ask the turn model about the sound so far; an older question is dropped."""
        if self._turn_model is None:
            return
        if self._judging is not None:
            self._judging.cancel()
        sound = self._since(self.received_s - MAX_TURN_S)
        self._judging = asyncio.create_task(self._judge(self._turn_model, item_id, sound), name="judge turn")

    async def _judge(self, model: SmartTurn, item_id: str, sound: Samples) -> None:
        self._post(TurnJudged(item_id, await model.complete(sound)))

    def judge_pitch(self, item_id: str, paused_at_s: float) -> None:
        """Tell whether the voice fell before the pause that began at `paused_at_s`."""
        after = self._taken_samples - round(paused_at_s * SAMPLE_RATE_HZ)
        voice = self._since(paused_at_s - pitch.MAX_VOICE_S)
        voice = voice[: max(0, len(voice) - after)]
        self._post(PitchJudged(item_id, pitch.falls(voice)))

    def require_silence(self, seconds: float) -> None:
        """Let the pause in progress end the turn after so much silence."""
        self._notify(self._endpointer.require(_in_windows(seconds)))

    def stop_recognition(self, item_id: str) -> None:
        """Close the turn's recognition."""
        utterance = self._utterances.pop(item_id, None)
        if utterance is not None:
            utterance.stop()
            if self._fed is utterance:
                self._fed = None

    async def close(self) -> None:
        """Stop everything and wait until it has stopped."""
        self._arriving.close()
        utterances = list(self._utterances.values())
        for utterance in utterances:
            utterance.stop()
        self._utterances.clear()
        tasks = [utterance.task for utterance in utterances]
        if self._judging is not None:
            self._judging.cancel()
            tasks.append(self._judging)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _notify(self, events: list[SpeechEvent]) -> None:
        for event in events:
            if isinstance(event, TurnEnded):
                self._fed = None
            self._post(replace(event, at_s=event.at_s + self._skipped_s))

    def _endpoint_config(self) -> EndpointConfig:
        detection = self._settings.turn_detection
        if detection is None:
            return self._endpoint
        silence_s = detection.silence_s
        if detection.kind == "semantic_vad":
            # A response needs the words: until they are known there is no hurry.
            silence_s = SILENCES[detection.eagerness].unfinished_s
        return replace(self._endpoint, threshold=detection.threshold, silence_s=_in_windows(silence_s))

    def _restart_endpointer(self) -> None:
        self._take_rest()
        self._arriving.reset()
        self._arriving.judged = self._settings.turn_detection is not None
        self._endpointer = Endpointer(self._endpoint_config())
        self._skipped_s = self.received_s

    def _since(self, at_s: float) -> Samples:
        kept = np.frombuffer(bytes(self._recent), np.int16)
        first = self._taken_samples - len(kept)
        return kept[max(0, round(at_s * SAMPLE_RATE_HZ) - first) :]

    def _give_up(self, utterance: Utterance) -> None:
        self._fed = None
        utterance.stop()
        reason = f"the recognizer is more than {BEHIND_S:.0f} s behind the caller"
        self._post(RecognitionFailed(utterance.item_id, reason))


def _in_windows(silence_s: float) -> float:
    """The nearest silence that the detector can tell: 200 ms are six of its windows, not seven."""
    return max(1, round(silence_s / WINDOW_S)) * WINDOW_S
