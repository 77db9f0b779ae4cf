"""pocketsphinx: a bundled recognizer, blocking: decoders of one model, one utterance in each.

It holds the GIL while it decodes, so that a server has it in a process of its own.
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
"""Measured on recorded speech: what hypotheses 200 ms apart agree on stays, but for the last two words."""

_OPTIONS = {
    "fwdflat": False,  # the second and third pass would delay the final words by up to a second
    "bestpath": False,
    "pl_window": 0,  # no phone lookahead: the words are 50 ms earlier, so a flush needs no silence fed in
    "maxhmmpf": 5_000,  # what that costs is won back by a narrower beam, at the same word error rate
    "maxwpf": 20,
}


class PocketsphinxRecognizer:
    """pocketsphinx with its English model, or a language model and a dictionary of one's own.

    language_model: an n-gram model, ARPA or binary. dictionary: the pronunciations of its words.
    A process keeps up with about four utterances at once with the bundled model. One decoder is made at the
    start, more when more speak at once (0.3 s, 90 MB each).
    Raises RecognizerError for files that are not there or cannot be read as what they should be.
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
        """An utterance in a decoder of its own, which starts from the same state every time."""
        decoder = self._idle.pop() if self._idle else self._decoder()
        decoder.set_cmn(self._initial_mean)
        decoder.start_utt()
        return Utterance(decoder, self._idle)

    def _decoder(self) -> Any:
        """A new decoder. Its own exception says nothing, its log does."""
        from pocketsphinx import Decoder  # type: ignore[import-untyped]  # noqa: PLC0415  not where it is hosted

        with tempfile.NamedTemporaryFile("r", prefix="pocketsphinx-") as log:
            try:
                return Decoder(**self._options, loglevel="ERROR", logfn=log.name)
            except RuntimeError as error:
                raise RecognizerError(f"{error}: {log.read().strip() or 'no reason given'}") from error


class Utterance:
    """One utterance. The same sound gives the same words, however it is cut into chunks."""

    def __init__(self, decoder: Any, idle: list[Any]) -> None:
        self._decoder = decoder
        self._idle = idle
        self._decoding = True
        self._samples = 0
        self._agreement = LocalAgreement(hold_n=_HOLD_WORDS)
        self._reported = Hypothesis("")

    def push(self, item: Samples | Flush, emit: Emit) -> None:
        """Decode more sound, or answer a flush."""
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
        """Decode what the decoder still holds; the words are final."""
        self._decoding = False
        self._decoder.end_utt()
        emit(self._hypothesis(settled=True))

    def close(self) -> None:
        """Hand the decoder to the next utterance."""
        if self._decoding:
            self._decoder.end_utt()
        self._idle.append(self._decoder)

    def _decode(self, sound: Samples) -> None:
        """At most up to the next step, where the cepstral mean follows the voice and the text is compared.

        Left alone the decoder keeps its first mean for 8 s, which a strange voice or microphone pays with
        a fifth more wrong words.
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
    """`decoded` without noises such as [NOISE] and <sil>, and without the marks of other pronunciations."""
    words = (re.sub(r"\(\d+\)$", "", word) for word in decoded.split() if word[0] not in "<[+")
    return " ".join(words)
