"""The caller's sound: into voice activity, endpointing and recognition. Shell of one call."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

import numpy as np

from audio.echo import EchoCanceller
from audio.endpoint import EndpointConfig, Endpointer, SpeechEvent
from audio.loudness import RISE_S, LoudnessRise
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Recognizer, RecognizerError
from audio.resample import Resampler
from audio.turn import HEARD_S, SmartTurn
from audio.vad import WINDOW_SAMPLES, VadBatcher
from voiceagent.conversation.events import (
    Event,
    RecognitionFailed,
    SpeechStarted,
    TranscriptChanged,
    TurnEnded,
    TurnJudged,
)
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_end import SILENCES

KEPT_S = float(HEARD_S)
"""Sound kept: what the turn model hears; a turn's beginning before it was noticed lies well within it."""
OVER_AGENT_S = 0.5
"""So long after the agent's latest sound a voice may still be spoken over it."""
BEHIND_S = 60.0
"""Sound a recognizer may be behind before its turn is given up."""


class Listener:
    """Hears one caller. Events are posted; positions are seconds of sound since the call began."""

    def __init__(
        self,
        vad: VadBatcher,
        recognizer: Recognizer,
        turn_model: SmartTurn | None,
        echo: EchoCanceller | None,
        endpoint: EndpointConfig,
        settings: CallSettings,
        post: Callable[[Event], None],
    ) -> None:
        self._recognizer = recognizer
        self._turn_model = turn_model
        self._echo = echo
        self._agent_resampler: Resampler | None = None
        self._judging: asyncio.Task[None] | None = None
        self._endpoint = endpoint
        self._settings = settings
        self._post = post
        self._resampler = Resampler(settings.input_format.rate_hz, SAMPLE_RATE_HZ)
        self._endpointer = Endpointer(self._endpoint_config())
        self._vad_stream = vad.open(self._on_probability)
        self._loudness = LoudnessRise(SAMPLE_RATE_HZ)
        self._over_agent_until_s = 0.0
        self._arrived: list[Samples] = []  # and not taken in yet, at the rate of the input format
        self._arrived_samples = 0
        self._recent: deque[Samples] = deque()
        self._recent_samples = 0
        self._heard_samples = 0
        self._skipped_s = 0.0
        self._utterances: dict[str, Utterance] = {}
        self._fed: Utterance | None = None
        self._manual_since_s: float | None = None

    @property
    def heard_s(self) -> float:
        """Seconds of sound heard since the call began."""
        arrived_s = self._arrived_samples / self._settings.input_format.rate_hz
        return self._heard_samples / SAMPLE_RATE_HZ + arrived_s

    @property
    def buffered_s(self) -> float:
        """Seconds of sound in the turn that a client takes by hand."""
        return 0.0 if self._manual_since_s is None else self.heard_s - self._manual_since_s

    def hear(self, samples: Samples) -> None:
        """Take the caller's next sound, int16 mono at the rate of the call's input format.

        It waits for the rest of a window of voice activity, before which nothing can be decided: five times
        for eight frames of 20 ms all the rest is done, and not eight times.
        """
        self._arrived.append(samples)
        self._arrived_samples += len(samples)
        missing = self._vad_stream.missing_samples if self._settings.turn_detection is not None else 0
        if self._arrived_samples * SAMPLE_RATE_HZ >= missing * self._settings.input_format.rate_hz:
            self._take_in()

    def _take_in(self) -> None:
        """Take in what has arrived."""
        if not self._arrived:
            return
        arrived = self._arrived[0] if len(self._arrived) == 1 else np.concatenate(self._arrived)
        self._arrived, self._arrived_samples = [], 0
        sound = self._resampler.push(arrived)
        if self._echo is not None:
            sound = self._echo.hear(sound)
        if len(sound) == 0:
            return
        begins_s = self.heard_s
        self._keep(sound)
        if self._fed is not None and not self._fed.push(sound):
            self._give_up(self._fed)
        if self._settings.turn_detection is not None:
            self._vad_stream.push(sound)
            if self.heard_s < self._over_agent_until_s and self._loudness.push(sound):
                self._tell(self._endpointer.notice(self.heard_s - self._skipped_s - RISE_S))
        elif self._manual_since_s is None:
            self._manual_since_s = begins_s
            self._post(SpeechStarted(begins_s))

    def agent_plays(self, frame: Samples) -> None:
        """The agent's sound that is being sent, at the rate of the output format: what an echo would be of,
        and what a voice that begins now is spoken over.
        """
        if self.heard_s >= self._over_agent_until_s:
            self._loudness = LoudnessRise(SAMPLE_RATE_HZ)
        self._over_agent_until_s = self.heard_s + OVER_AGENT_S
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
        self._take_in()
        old, self._settings = self._settings, settings
        if old.input_format != settings.input_format:
            self._resampler = Resampler(settings.input_format.rate_hz, SAMPLE_RATE_HZ)
        if old.output_format != settings.output_format:
            self._agent_resampler = None
        if old.turn_detection != settings.turn_detection:
            self._restart_endpointer()

    def clear(self) -> None:
        """Forget the turn in progress."""
        self._take_in()
        self._fed = None
        self._manual_since_s = None
        self._recent.clear()
        self._recent_samples = 0
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
        if utterance := self._utterances.get(item_id):
            utterance.flush()

    def judge_turn(self, item_id: str) -> None:
        """Ask the turn model about the sound so far; an older question is dropped."""
        if self._turn_model is None:
            return
        if self._judging is not None:
            self._judging.cancel()
        sound = self._since(self.heard_s - HEARD_S)
        self._judging = asyncio.create_task(self._judge(self._turn_model, item_id, sound), name="judge turn")

    async def _judge(self, model: SmartTurn, item_id: str, sound: Samples) -> None:
        self._post(TurnJudged(item_id, await model.complete(sound)))

    def require_silence(self, seconds: float) -> None:
        """Let the pause in progress end the turn after so much silence."""
        self._tell(self._endpointer.require(_in_windows(seconds)))

    def stop_recognition(self, item_id: str) -> None:
        """Close the turn's recognition."""
        utterance = self._utterances.pop(item_id, None)
        if utterance is not None:
            utterance.stop()
            if self._fed is utterance:
                self._fed = None

    async def close(self) -> None:
        """Stop everything and wait until it has stopped."""
        self._vad_stream.close()
        utterances = list(self._utterances.values())
        for utterance in utterances:
            utterance.stop()
        self._utterances.clear()
        tasks = [utterance.task for utterance in utterances]
        if self._judging is not None:
            self._judging.cancel()
            tasks.append(self._judging)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_probability(self, probability: float) -> None:
        self._tell(self._endpointer.push(probability, WINDOW_SAMPLES / SAMPLE_RATE_HZ))

    def _tell(self, events: list[SpeechEvent]) -> None:
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
            # A reply needs the words: until they are known there is no hurry.
            silence_s = SILENCES[detection.eagerness].unfinished_s
        return replace(self._endpoint, threshold=detection.threshold, silence_s=_in_windows(silence_s))

    def _restart_endpointer(self) -> None:
        self._endpointer = Endpointer(self._endpoint_config())
        self._vad_stream.reset()
        self._skipped_s = self.heard_s

    def _keep(self, sound: Samples) -> None:
        self._heard_samples += len(sound)
        self._recent.append(sound)
        self._recent_samples += len(sound)
        while self._recent_samples - len(self._recent[0]) >= KEPT_S * SAMPLE_RATE_HZ:
            self._recent_samples -= len(self._recent.popleft())

    def _since(self, at_s: float) -> Samples:
        if not self._recent:
            return np.zeros(0, np.int16)
        kept = np.concatenate(self._recent)
        first = self._heard_samples - len(kept)
        return kept[max(0, round(at_s * SAMPLE_RATE_HZ) - first) :]

    def _give_up(self, utterance: Utterance) -> None:
        self._fed = None
        utterance.stop()
        reason = f"the recognizer is more than {BEHIND_S:.0f} s behind the caller"
        self._post(RecognitionFailed(utterance.item_id, reason))


def _in_windows(silence_s: float) -> float:
    """The nearest silence that the detector can tell: 200 ms are six of its windows, not seven."""
    window_s = WINDOW_SAMPLES / SAMPLE_RATE_HZ
    return max(1, round(silence_s / window_s)) * window_s


class Utterance:
    """The recognition of one turn: sound goes in by `push`, hypotheses are posted."""

    def __init__(self, item_id: str, recognizer: Recognizer, post: Callable[[Event], None]) -> None:
        self.item_id = item_id
        self._recognizer = recognizer
        self._post = post
        self._sound: deque[Samples | Flush] = deque()
        self._waiting_samples = 0
        self._more = asyncio.Event()
        self.task = asyncio.create_task(self._recognize(), name=f"recognize {item_id}")

    def push(self, sound: Samples) -> bool:
        """Take more sound; False when the recognizer is too far behind to take it."""
        if self._waiting_samples + len(sound) > BEHIND_S * SAMPLE_RATE_HZ:
            return False
        self._waiting_samples += len(sound)
        self._sound.append(sound)
        self._more.set()
        return True

    def flush(self) -> None:
        """Mark the place up to which a settled hypothesis is wanted."""
        self._sound.append(Flush())
        self._more.set()

    def stop(self) -> None:
        """End the recognition now."""
        self.task.cancel()

    async def _recognize(self) -> None:
        try:
            async with aclosing(self._recognizer.recognize(self._take())) as hypotheses:
                async for hypothesis in hypotheses:
                    self._post(
                        TranscriptChanged(
                            self.item_id, hypothesis.text, hypothesis.stable, hypothesis.settled
                        )
                    )
        except RecognizerError as error:
            self._post(RecognitionFailed(self.item_id, str(error)))

    async def _take(self) -> AsyncGenerator[Samples | Flush, None]:
        while True:
            while self._sound:
                item = self._sound.popleft()
                if not isinstance(item, Flush):
                    self._waiting_samples -= len(item)
                yield item
            self._more.clear()
            await self._more.wait()
