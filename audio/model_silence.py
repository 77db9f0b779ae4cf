"""Silence as a model of speech has it, in whole chunks. Pure; seconds of sound.

Silero's own `VADIterator` counts so (silero-vad 5 and later, utils_vad.py), and so does OpenAI's Realtime API
with `server_vad`: its recordings end a turn in the very chunk of 32 ms in which that iterator does. Of one
sentence, for example, the model takes the chunk that begins at 1.760 s for voice and that from 4.000 s for
none; OpenAI reports `audio_start_ms` 1460 with a padding of 300, and `audio_end_ms` 4256 with a silence of
200: seven more chunks than the first silent one, of 224 ms. In a dip before the verb, which is quieter than
the voice by 45 dB for 0.16 s, the model is silent for three chunks.

Measured on 21 questions of people: a silence of 0.2 s cuts 8 of them in two where it is counted from the fall
of the loudness, and 4 where it is counted so. Said three times, each 7 ms later, that is 21 of 63 and 11. The
turn's end is decided 0.24 s and 0.42 s behind the last voiced sample (p50), by the clock of the sound; 0.34 s
and 0.52 s at the 95th percentile.
"""

from __future__ import annotations


class ModelSilence:
    """The silence since the end of the first chunk that the model did not take for voice.

    perhaps_from: the probability from which a chunk may be a voice: silence does not end with it.
    """

    def __init__(self, perhaps_from: float) -> None:
        self._perhaps_from = perhaps_from
        self._from_s: float | None = None
        self._perhaps_voiced = False

    def push(self, probability: float, voiced: bool, now_s: float) -> None:
        """Take in the next chunk, which ends at `now_s`. voiced: the model takes it for voice."""
        self._perhaps_voiced = probability >= self._perhaps_from
        if voiced:
            self._from_s = None
        elif self._from_s is None:
            self._from_s = now_s

    def until(self, now_s: float) -> float:
        """Return the seconds of silence that may end a turn now; 0 where the newest chunk may be a voice."""
        return 0.0 if self._from_s is None or self._perhaps_voiced else now_s - self._from_s
