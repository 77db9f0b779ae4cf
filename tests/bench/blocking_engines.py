"""Blocking engines of fixed cost, each in a process of its own that a test can stop, slow down or kill.

Each writes its process id into a file in this module's folder.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from voiceagent.engines.own import Flush, Hypothesis, Piece, Samples, Speech


def _note_process(name: str) -> None:
    place = Path(__file__).with_name(f"{name}.pid")
    (whole := place.with_suffix(f".{os.getpid()}")).write_text(str(os.getpid()))
    whole.rename(place)


class Words:
    """A recognizer that understands the same, whatever it hears."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s
        _note_process("recognizer")

    def open(self) -> WordsStream:
        """One utterance."""
        return WordsStream(self.delay_s)


class WordsStream:
    """Answers each flush."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s

    def push(self, item: Samples | Flush, emit: Any) -> None:
        """Take sound, or settle."""
        if isinstance(item, Flush):
            time.sleep(self._delay_s)
            self.finish(emit)

    def finish(self, emit: Any) -> None:
        """Settle."""
        emit(Hypothesis("Could you help me?", "Could you help me?", settled=True))

    def close(self) -> None:
        """Nothing is kept."""


class Tone:
    """A synthesizer: 20 ms of tone for each character, in chunks of 100 ms that come one by one."""

    turn_characters = 40
    rate_hz = 24_000

    def __init__(self, delay_s: float = 0.0, character_s: float = 0.02, tone_hz: float = 440.0) -> None:
        self.delay_s = delay_s
        self.character_s = character_s
        self.tone_hz = tone_hz
        _note_process("synthesizer")

    def open(self) -> ToneStream:
        """One fragment."""
        return ToneStream(self)


class ToneStream:
    """Speaks its pieces."""

    def __init__(self, tone: Tone) -> None:
        self._tone = tone

    def push(self, piece: Piece, emit: Any) -> None:
        """Speak a piece."""
        tone = self._tone
        time.sleep(tone.delay_s)
        chunk = round(tone.rate_hz / 10)
        wave = 8_000 * np.sin(2 * np.pi * tone.tone_hz * np.arange(chunk) / tone.rate_hz)
        for _ in range(round(len(piece.text) * tone.character_s * 10) or 1):
            if not emit(Speech(wave.astype(np.int16))):
                return

    def finish(self, emit: Any) -> None:
        """All is said."""

    def close(self) -> None:
        """Nothing is kept."""
