"""An endpointer that is given sound in chunks of 20 ms, and what is asked of its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from audio.endpoint import EndpointConfig, Endpointer
from audio.speech_events import SpeechEvent, VoiceFaded, VoiceNoticed

CONFIG = EndpointConfig(start_s=0.06, pause_s=0.1, interruption_candidate_s=0.4, interruption_confirmed_s=0.6)
THRESHOLD = 0.5
SILENCE_S = 0.3
CHUNK_S = 0.02
VOICE, SILENCE = 0.9, 0.1
"""Probabilities."""


def new_endpointer(silence_s: float = SILENCE_S) -> Endpointer:
    return Endpointer(CONFIG, THRESHOLD, silence_s)


def play(endpointer: Endpointer, *stretches: tuple[float, float]) -> list[SpeechEvent]:
    """Push stretches of (probability, seconds) in chunks; returns the events."""
    events: list[SpeechEvent] = []
    for probability, seconds in stretches:
        for _ in range(round(seconds / CHUNK_S)):
            events += endpointer.push(probability, CHUNK_S)
    return events


def speaking() -> Endpointer:
    """An endpointer that has heard a voice for 0.3 s."""
    endpointer = new_endpointer()
    play(endpointer, (VOICE, 0.3))
    return endpointer


def of_turns(events: Iterable[SpeechEvent]) -> list[Any]:
    """The events without those of a voice that is only noticed."""
    return [event for event in events if not isinstance(event, VoiceNoticed | VoiceFaded)]


def kinds(events: Iterable[SpeechEvent]) -> list[type[Any]]:
    """The kinds of the events of turns."""
    return [type(event) for event in of_turns(events)]


def times(events: Iterable[SpeechEvent]) -> list[Any]:
    """Return the times of the turns' events, for comparison."""
    return [pytest.approx(event.at_s) for event in of_turns(events)]
