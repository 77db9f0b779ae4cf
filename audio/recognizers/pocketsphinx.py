"""pocketsphinx, a bundled recognizer: blocking; each open utterance has a decoder of its own.

It holds the GIL while it decodes, so the server runs it in a separate process.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from audio.agreement import LocalAgreement
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Emit, Flush, Hypothesis, RecognizerError

_STEP_SAMPLES = SAMPLE_RATE_HZ // 10
_AGREEMENT_STEPS = 2
_MEAN_STEPS = 5
_HOLD_WORDS = 2
"""Measured on recorded speech: what hypotheses 200 ms apart agree on stays, except its last two words."""

_OPTIONS = {
    "fwdflat": False,  # passes two and three would delay the final transcript by up to a second
    "bestpath": False,
    "pl_window": 0,  # no phone look-ahead: 50 ms earlier, and a flush needs no silence appended
    "maxhmmpf": 5_000,  # a narrower beam makes up for the cost of the above, at the same word error rate
    "maxwpf": 20,
}


class PocketsphinxRecognizer:
    """pocketsphinx with its English model, or with a language model and a dictionary of your own.

    A process keeps up with about four concurrent utterances of the bundled model. One decoder is created at
    the start, others on demand (0.3 s, 90 MB each).

    Args:
        language_model: an n-gram model, ARPA or binary.
        dictionary: the pronunciations of its words.

    Raises:
        RecognizerError: a file is missing or invalid.
    """

    def __init__(self, language_model: Path | None = None, dictionary: Path | None = None) -> None:
        self._options: dict[str, Any] = dict(_OPTIONS)
        for option, what, path in (
            ("lm", "language_model", language_model),
            ("dict", "dictionary", dictionary),
        ):
            if path is None:
                continue
            if not path.is_file():
                raise RecognizerError(f"{what} {str(path)!r} is not a file")
            self._options[option] = str(path)
        self._idle = [self._decoder()]
        self._initial_mean = self._idle[0].get_cmn(False)

    def open(self) -> Utterance:
        """Begin an utterance in a decoder of its own, always from the same initial state."""
        decoder = self._idle.pop() if self._idle else self._decoder()
        decoder.set_cmn(self._initial_mean)
        decoder.start_utt()
        return Utterance(decoder, self._idle)

    def _decoder(self) -> Any:
        """Create a decoder. The library's exception has no details, its log does."""
        from pocketsphinx import Decoder  # type: ignore[import-untyped]  # noqa: PLC0415  not where it is hosted

        with tempfile.NamedTemporaryFile("r", prefix="pocketsphinx-") as log:
            try:
                return Decoder(**self._options, loglevel="ERROR", logfn=log.name)
            except RuntimeError as error:
                raise RecognizerError(f"{error}: {log.read().strip() or 'no reason given'}") from error


class Utterance:
    """One utterance. The transcript does not depend on how the audio is split into chunks."""

    def __init__(self, decoder: Any, idle: list[Any]) -> None:
        self._decoder = decoder
        self._idle = idle
        self._decoding = True
        self._samples = 0
        self._agreement = LocalAgreement(hold_n=_HOLD_WORDS)
        self._reported = Hypothesis("")

    def push(self, item: Samples | Flush, emit: Emit) -> None:
        """Decode more audio, or answer a flush.

        Args:
            item: audio or a flush.
            emit: receives the hypotheses.
        """
        if isinstance(item, Flush):
            emit(self._hypothesis(settled=True))
            return
        while len(item):
            step = _STEP_SAMPLES - self._samples % _STEP_SAMPLES
            self._decode(item[:step])
            item = item[step:]
        hypothesis = self._hypothesis()
        if hypothesis != self._reported:
            self._reported = hypothesis
            emit(hypothesis)

    def finish(self, emit: Emit) -> None:
        """Decode the remaining audio and emit the final transcript."""
        self._decoding = False
        self._decoder.end_utt()
        emit(self._hypothesis(settled=True))

    def close(self) -> None:
        """Return the decoder to the pool."""
        if self._decoding:
            self._decoder.end_utt()
        self._idle.append(self._decoder)

    def _decode(self, sound: Samples) -> None:
        """Decode audio that does not cross the end of a step. At the end of some steps the cepstral mean is
        adapted, and the transcript is compared with earlier ones.

        Without that, the decoder keeps its first mean for 8 s, which costs a fifth more wrong words with an
        unusual voice or microphone.
        """
        self._decoder.process_raw(sound.tobytes())
        self._samples += len(sound)
        steps, rest = divmod(self._samples, _STEP_SAMPLES)
        if rest == 0 and steps % _MEAN_STEPS == 0:
            self._decoder.get_cmn(True)
        if rest == 0 and steps % _AGREEMENT_STEPS == 0:
            self._agreement.push(self._words())

    def _hypothesis(self, settled: bool = False) -> Hypothesis:
        text, stable = self._words(), self._agreement.stable
        return Hypothesis(text, stable if text.startswith(stable) else "", settled)

    def _words(self) -> str:
        best = self._decoder.hyp()
        return "" if best is None else spoken_words(best.hypstr)


def spoken_words(decoded: str) -> str:
    """Return `decoded` without noises such as [NOISE] and <sil>, and marks of alternative pronunciations."""
    words = (re.sub(r"\(\d+\)$", "", word) for word in decoded.split() if word[0] not in "<[+")
    return " ".join(words)
