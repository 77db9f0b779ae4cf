"""Detection of speech starts, pauses and ends, in seconds of the call's audio: by voice activity, and by the
turn model's judgement of a pause. A gate withholds its events while inference is paused, until a voice wakes
the call.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from audio.detection.front_end_stream import Window
from audio.detection.smart_turn import SmartTurn
from audio.detection.vad import WINDOW_SAMPLES
from audio.endpoint import HYSTERESIS, EndpointConfig, Endpointer
from audio.loudness import RISE_S, LoudnessRise, VoiceLevel
from audio.loudness_fall import SURE, LoudnessFall
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.speech_events import (
    SpeechEvent,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnEnded,
    VoiceFaded,
    VoiceLouder,
    VoiceNoticed,
)
from voiceagent.conversation.end_of_turn.probability import SILENCES
from voiceagent.conversation.events import Event, TurnJudged
from voiceagent.conversation.settings import TurnDetection
from voiceagent.session.call_monitor import CallMonitor

WAKE_WINDOWS = 2
"""Windows in succession that reach the threshold: 64 ms, as a turn's voice has. A click has one."""


class SpeechGate:
    """Gate for the events of turn detection, closed until a voice reaches the threshold.

    threshold: speech probability, 0-1. withheld: the events that describe the voice in progress, from its
    start; none of one that ended before it reached the threshold.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._reached = 0
        self.withheld: list[SpeechEvent] = []

    def push(self, events: list[SpeechEvent], probability: float | None) -> bool:
        """Add the events of a window. Return True if the gate is open. probability: None if not judged."""
        for event in events:
            self._withhold(event)
        reached = probability is not None and probability >= self._threshold
        self._reached = self._reached + 1 if reached else 0
        return self._reached >= WAKE_WINDOWS

    def forget(self) -> None:
        """Forget the voice in progress."""
        self._reached = 0
        self.withheld = []

    def _withhold(self, event: SpeechEvent) -> None:
        match event:
            case SpeechStarted() | SpeechPaused():
                self.withheld.append(event)
            case SpeechResumed():
                # the recognizer will get the voice as a whole: only a pause in progress matters
                self.withheld = self.withheld[:1]
            case TurnEnded():
                self.withheld = []
            case _:
                pass  # of a voice that may be one, or that is over the agent


WINDOW_S = WINDOW_SAMPLES / SAMPLE_RATE_HZ
ENDED = 0.8
"""Minimum probability of an ended voice for a pause while the VAD model still reports speech (chosen in
`audio/detection/voice_end/CARD.md`).
"""
HEARD_OUT_S = 0.07
"""Minimum time since a voice ended, in that case: the "k" of "milk" follows a silence, and is soft (the
same card has the cost of this and of smaller values).
"""
OVER_AGENT_S = 0.5
"""Time after the agent's latest audio in which a voice still counts as over it."""

MIN_THRESHOLD, MAX_THRESHOLD = HYSTERESIS + 0.05, 0.99
"""Usable thresholds. Below the minimum no silence would end a turn, because speech continues down to
`HYSTERESIS` less. At 1 no audio would begin one.
"""


class TurnDetector:
    """Turn detection on windows of the caller's audio; inactive if the client commits turns.

    Events are returned at once. received_s: seconds of audio received since the call began.
    """

    def __init__(self, config: EndpointConfig, detection: TurnDetection | None) -> None:
        self._config = config
        self._least_pause_s = min(config.pause_s, WINDOW_S)  # minimum silence within a window for a pause
        self._endpointer = self._new_endpointer(_feasible(detection))
        self._loudness = LoudnessRise()
        self._fall = LoudnessFall()
        self._level: VoiceLevel | None = None  # of the turn in progress, or of a possible one
        self._over_agent_until_s = 0.0
        self._over_agent = False  # the turn in progress was over the agent at some time
        self._skipped_s = 0.0  # audio that the endpointer did not get

    def push(self, window: Window, received_s: float) -> list[SpeechEvent]:
        """Run detection on the next window, which is included in `received_s`."""
        # windows without a probability are of a caller whose turns the client commits
        endpointer, probability = self._endpointer, window.probability
        if endpointer is None or probability is None:
            self._skipped_s += len(window.sound) / SAMPLE_RATE_HZ
            return []
        events: list[SpeechEvent] = []
        # over the agent only, where yielding early matters
        over_agent = received_s < self._over_agent_until_s
        if over_agent and self._loudness.push(window.energies):
            events += endpointer.notice(endpointer.now_s + WINDOW_S - RISE_S)
        loud_s = self._loudness.lasts_s if over_agent else 0.0
        voiced = endpointer.is_voiced(probability)
        silent_s = self._fall.push(window.energies, voiced, probability >= SURE)
        ended_s = None
        if not endpointer.idle:
            ended_ago_s = self._ended_ago_s(endpointer, window, voiced, silent_s)
            ended_s = None if ended_ago_s is None else endpointer.now_s + WINDOW_S - ended_ago_s
        # a voice that fell silent within the window: its pause begins there, not at the next window
        if silent_s < WINDOW_S:
            ended = silent_s == 0.0 and ended_s is not None
            events += endpointer.push(probability, WINDOW_S - silent_s, ended, ended_s, loud_s)
        if silent_s > 0.0:
            events += endpointer.push(probability, silent_s, fell=True, ended_s=ended_s)
        if self._level is not None or events:
            events = self._with_levels(events, window, voiced, over_agent)
        return self._in_call_time(events) if events else events

    def _ended_ago_s(
        self, endpointer: Endpointer, window: Window, voiced: bool, silent_s: float
    ) -> float | None:
        """Return how long ago the voice of the turn in progress ended, in seconds. None while it continues,
        or if no pause can begin with this window: then it is not computed, as that costs more than all other
        work on a window.

        voiced: by the VAD model. silent_s: see `LoudnessFall`, for quiet lines.
        """
        if not (endpointer.speaking or voiced):
            return None
        ended = window.ended >= ENDED
        heard_out = ended and window.ended_ago_s >= HEARD_OUT_S
        if voiced and (not heard_out if silent_s == 0.0 else silent_s < self._least_pause_s):
            return None
        ago_s = self._fall.ended_ago_s()
        if not ended or silent_s > 0.0:
            return ago_s
        ago_s = min(ago_s, window.ended_ago_s)
        return None if voiced and ago_s < HEARD_OUT_S else ago_s

    def _with_levels(
        self, events: list[SpeechEvent], window: Window, voiced: bool, over_agent: bool
    ) -> list[SpeechEvent]:
        """Return the events of this window with the level of the voice so far."""
        self._over_agent = over_agent or (self._over_agent and self._level is not None)
        level = self._level = self._level or VoiceLevel()
        level.push(window.energies, voiced)
        levelled = [self._with_level(event, level) for event in events]
        # also while the agent is held: then the level may show whose voice it is
        endpointer = self._endpointer
        if self._over_agent and endpointer is not None and endpointer.speaking and level.is_louder:
            levelled.append(VoiceLouder(endpointer.now_s, level.mark_reported()))
        return levelled

    def _with_level(self, event: SpeechEvent, level: VoiceLevel) -> SpeechEvent:
        if isinstance(event, VoiceFaded | TurnEnded):
            self._level = None
        if isinstance(event, TurnEnded):
            return replace(event, level_db=level.overall_db)
        if isinstance(event, VoiceNoticed | SpeechStarted):
            return replace(event, level_db=level.mark_reported())
        return event

    def agent_plays(self, received_s: float) -> None:
        """Record that the agent's audio is being sent: a voice that starts now is over it."""
        if received_s >= self._over_agent_until_s:
            self._loudness = LoudnessRise()
        self._over_agent_until_s = received_s + OVER_AGENT_S

    def require_silence(self, seconds: float, more_s: float) -> list[SpeechEvent]:
        """Set the silence, plus `more_s`, that ends the turn in the pause in progress."""
        if self._endpointer is None:
            return []
        return self._pause_events(self._endpointer.require(seconds, more_s))

    @property
    def awaits_silence(self) -> bool:
        """True if silence would change anything: a turn, or a possible turn, is in progress."""
        return self._endpointer is not None and self._endpointer.awaits_silence

    @property
    def due_in_s(self) -> float:
        """Seconds of audio after the last window, less than a window, that complete the required silence;
        inf if it takes more.
        """
        due_in_s = math.inf if self._endpointer is None else self._endpointer.due_in_s
        return due_in_s if due_in_s < WINDOW_S else math.inf

    def look_ahead(self, energies: Sequence[float]) -> list[SpeechEvent]:
        """Return the events of the next `due_in_s` of audio, by its loudness alone, as the VAD model has
        no result yet. If the voice may be back, the next window decides.
        """
        if self._endpointer is None or not self._fall.is_silent(energies):
            return []
        return self._pause_events(self._endpointer.silent_for(self.due_in_s))

    def _pause_events(self, events: list[SpeechEvent]) -> list[SpeechEvent]:
        level = self._level
        return self._in_call_time([self._with_level(event, level) for event in events] if level else events)

    def restart(self, detection: TurnDetection | None, received_s: float) -> None:
        """Forget the turn in progress, and apply these settings from here on."""
        self._endpointer = self._new_endpointer(_feasible(detection))
        self._level = None
        self._skipped_s = received_s

    def _new_endpointer(self, detection: TurnDetection | None) -> Endpointer | None:
        if detection is None:
            return None
        if detection.kind == "semantic_vad":
            # the response needs the transcript: no decision before that
            return Endpointer(self._config, detection.threshold, SILENCES[detection.eagerness].open_s)
        return Endpointer(self._config, detection.threshold, detection.silence_s, silence_by_model=True)

    def _in_call_time(self, events: list[SpeechEvent]) -> list[SpeechEvent]:
        return [_shifted(event, self._skipped_s) for event in events]


def _shifted(event: SpeechEvent, seconds: float) -> SpeechEvent:
    """Return the event with its positions moved by this many seconds."""
    if isinstance(event, TurnEnded) and event.silent_to_s is not None:
        event = replace(event, silent_to_s=event.silent_to_s + seconds)
    return replace(event, at_s=event.at_s + seconds)


def _feasible(detection: TurnDetection | None) -> TurnDetection | None:
    """Return the nearest settings that an `Endpointer` supports; a client may ask for 0 of each."""
    if detection is None:
        return None
    threshold = min(max(detection.threshold, MIN_THRESHOLD), MAX_THRESHOLD)
    return replace(detection, threshold=threshold, silence_s=max(detection.silence_s, WINDOW_S))


class TurnJudge:
    """Turn-model queries of one call. One at most is open. If it fails or is late, silence ends a turn."""

    def __init__(self, model: SmartTurn | None, post: Callable[[Event], None], monitor: CallMonitor) -> None:
        self._model = model
        self._post = post
        self._monitor = monitor
        self._task: asyncio.Task[None] | None = None

    def ask(self, item_id: str, sound: Samples) -> None:
        """Query the model for the turn, [n] at 16 kHz up to its newest sample; an older query is dropped."""
        self.close()
        if self._model is not None:
            self._task = asyncio.create_task(self._judge(self._model, item_id, sound), name="judge turn")

    def close(self) -> None:
        """Cancel the open query, if any."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _judge(self, model: SmartTurn, item_id: str, sound: Samples) -> None:
        try:
            async with asyncio.timeout(self._monitor.limits.turn_model_s):
                probability = await model.complete(sound)
        except TimeoutError:
            self._monitor.log_timeout("turn model", item_id)
        except Exception as error:  # any failure
            self._monitor.fault("turn model", error)
        else:
            self._post(TurnJudged(item_id, probability))
