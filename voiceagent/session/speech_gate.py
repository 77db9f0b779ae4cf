"""Withholds a caller's voice while inference is paused."""

from __future__ import annotations

from audio.speech_events import SpeechEvent, SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded

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
