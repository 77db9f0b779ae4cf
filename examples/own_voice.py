"""A synthesizer of your own; here each letter is a tone. `own_voice.toml` names it as its engine."""

from collections.abc import AsyncGenerator

import numpy as np

from voiceagent.engines.own import Speech, SynthesizerEngine

LETTER_S = 0.06
LOWEST_HZ = 220.0


class Tones(SynthesizerEngine):
    """The constructor's arguments are keys of the table in the configuration."""

    rate_hz = 24_000

    def __init__(self, loudness: float = 0.3) -> None:
        if not 0 < loudness <= 1:
            raise ValueError(f"loudness is {loudness}; allowed: over 0, up to 1")
        self.loudness = loudness

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Yield the sound word by word; playback starts with the first."""
        for word in text.lower().split():
            tones = [self._tone(letter) for letter in word if letter.isalnum()]
            if tones:
                yield Speech(np.concatenate(tones))

    def _tone(self, letter: str) -> np.ndarray:
        at_s = np.arange(int(LETTER_S * self.rate_hz)) / self.rate_hz
        pitch_hz = LOWEST_HZ * 2 ** ((ord(letter) - ord("a")) % 24 / 12)
        return self.loudness * np.sin(2 * np.pi * pitch_hz * at_s)
