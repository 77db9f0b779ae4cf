"""The language in which an utterance is decoded, from the probabilities of a model that detects it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from audio.recognizers import ExpectedSpeech, LanguageProbabilities

EXPECTED_FACTOR = 3.0
"""Factor on the probability of the expected language: short words sound alike in several."""
SETTLED_S = 2.0
"""Audio from which a clear detection holds for the rest of the utterance, and is not repeated."""
SETTLED_PROBABILITY = 0.9


class UtteranceLanguage:
    """The language of one utterance, detected in each decoding until it is settled.

    Attributes:
        code: the language to decode in.
        probabilities: of the languages in question at the last detection; () before.
        settled: True if no further detection is needed.

    Args:
        languages: the languages in question, at least one.
        expected: None if nothing is known of the utterance.
    """

    def __init__(self, languages: Sequence[str], expected: ExpectedSpeech | None) -> None:
        self._languages = tuple(languages)
        self._expected = expected.language if expected is not None and expected.language in languages else ""
        self.code = self._expected or self._languages[0]
        self.probabilities: LanguageProbabilities = ()
        self.settled = len(self._languages) == 1 or bool(
            self._expected and expected is not None and expected.fixed
        )

    def observe(self, detected: Iterable[tuple[str, float]], seconds: float) -> None:
        """Set the language from a detection in this much audio.

        Args:
            detected: probabilities of any languages.
            seconds: length of the audio.
        """
        found = {code: max(probability, 0.0) for code, probability in detected if code in self._languages}
        total = sum(found.values())
        if total <= 0.0:
            return
        self.probabilities = tuple((code, found.get(code, 0.0) / total) for code in self._languages)
        self.code, probability = max(self.probabilities, key=self._weight)
        self.settled = seconds >= SETTLED_S and probability >= SETTLED_PROBABILITY

    def _weight(self, detected: tuple[str, float]) -> float:
        code, probability = detected
        return probability * (EXPECTED_FACTOR if code == self._expected else 1.0)
