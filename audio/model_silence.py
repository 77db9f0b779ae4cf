"""Silence as judged by a voice activity model, in whole chunks. Times are seconds of audio.

Silero's own `VADIterator` counts silence in this way (silero-vad 5 and later, utils_vad.py). So does OpenAI's
Realtime API with `server_vad`: in its recordings a turn ends in the very chunk of 32 ms in which that
iterator ends it. In one sentence, for example, the chunk that begins at 1.760 s is voiced for the model, and
the chunk at 4.000 s is not. OpenAI reports `audio_start_ms` 1460 with a padding of 300, and `audio_end_ms`
4256 with a silence of 200: seven chunks (224 ms) after the first silent one. In a dip before the verb, 45 dB
quieter than the voice for 0.16 s, the model reports three silent chunks.

Measured on 21 questions spoken by people: a silence of 0.2 s cuts 8 of them in two if it is counted from the
fall of the loudness, and 4 if counted by the model. Three times each, shifted by 7 ms: 21 of 63, and 11. The
end of the turn is decided 0.24 s and 0.42 s after the last voiced sample (p50, in time of the audio); 0.34 s
and 0.52 s at the 95th percentile.
"""

from __future__ import annotations


class ModelSilence:
    """Silence since the end of the first chunk that the model considers unvoiced.

    perhaps_from: probability from which a chunk may be voice; such a chunk cannot end a turn.
    """

    def __init__(self, perhaps_from: float) -> None:
        self._perhaps_from = perhaps_from
        self._from_s: float | None = None
        self._perhaps_voiced = False

    def push(self, probability: float, voiced: bool, now_s: float) -> None:
        """Add the next chunk, which ends at `now_s`. voiced: the model's decision on it."""
        self._perhaps_voiced = probability >= self._perhaps_from
        if voiced:
            self._from_s = None
        elif self._from_s is None:
            self._from_s = now_s

    def until(self, now_s: float) -> float:
        """Return the seconds of silence up to `now_s`; 0 while the newest chunk may be voice."""
        return 0.0 if self._from_s is None or self._perhaps_voiced else now_s - self._from_s
