"""A Moonshine model in onnxruntime: loaded, and greedy decodings of it. All of it blocks."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # ships no types
from numpy.typing import NDArray

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, RecognizerError
from audio.recognizers.growing_window import Segment
from audio.recognizers.moonshine_vocabulary import BEGIN, END, numbers_of, read_vocabulary, text_of, tokens_of
from audio.recognizers.phrase_bias import PhraseBias
from audio.recognizers.quiet_cuts import quiet_cuts
from audio.recognizers.redecoding import Decode

Floats = NDArray[np.float32]

_FILES = ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin")
_LEAST_SAMPLES = SAMPLE_RATE_HZ // 10
_STATE_SAMPLES = 384  # of the sound that one state of the encoder stands for
_TOKENS_A_SECOND = 6.5  # the paper's bound; more is a loop
_LEAST_TOKENS = 8
_CANDIDATES = 8  # of the tokens; what people are likely to say brings in no other
_JOINING = ("and", "or", "but", "so", "because", "if")
_WORDLESS = ("you", "")
"""What the model answers silence and steady noise with, as Whisper does. Nobody's turn is that one word."""


class LoadedModel:
    """A model; None finds the one in the installed wheel. Raises RecognizerError.

    phrases: a text file of what people are likely to say, one a line. weight: how much it counts.
    """

    def __init__(self, folder: Path | None, phrases: Path | None = None, weight: float = 0.0) -> None:
        folder = folder or _installed_model()
        if missing := [name for name in _FILES if not (folder / name).is_file()]:
            raise RecognizerError(f"moonshine: model {str(folder)!r} has no {' and no '.join(missing)}")
        self._encoder, self._decoder = (_session(folder / name) for name in _FILES[:2])
        self._vocabulary = read_vocabulary((folder / _FILES[2]).read_bytes())
        self._bias = None if phrases is None else _bias(phrases, self._vocabulary)
        self._weight = weight
        names = [one.name for one in self._decoder.get_inputs()]
        self._past = [name for name in names if name.startswith("past_key_values.")]
        heads, size = next(
            (one.shape[1], one.shape[3]) for one in self._decoder.get_inputs() if one.name in self._past
        )
        self._nothing: Floats = np.zeros((1, heads, 0, size), np.float32)

    def open(self) -> Decode:
        """Decodings of one growing utterance, each with the words of the one before as its draft."""
        return Utterance(self).decode

    def transcribe(self, sound: Samples, draft: list[int], abandoned: Event) -> tuple[list[int], float]:
        """The tokens of `sound`, 16 kHz, chosen greedily, and the geometric mean of their probabilities.

        `draft` is read in one step, and kept as far as the model would have chosen the same: speculative
        decoding (Leviathan et al., 2023) with the last hypothesis as the draft, in half of the time. But for
        the rounding of 8-bit numbers the tokens are those without it.
        """
        wave = sound.astype(np.float32)[np.newaxis] / np.float32(32_768)
        heard = self._encoder.run(
            None, {"input_values": wave, "attention_mask": np.ones(wave.shape, np.int64)}
        )[0]
        most = max(_LEAST_TOKENS, int(len(sound) / SAMPLE_RATE_HZ * _TOKENS_A_SECOND))
        fixed = {
            "encoder_hidden_states": heard,
            # Counted in samples, and thinned out inside to one a state.
            "encoder_attention_mask": np.ones((1, (heard.shape[1] - 1) * _STATE_SAMPLES + 1), np.int64),
        }
        past: dict[str, Floats] = dict.fromkeys(self._past, self._nothing)
        chosen, logarithms, past = self._first(fixed, past, [BEGIN, *draft[:most]])
        while chosen[-1] != END and len(chosen) < most and not abandoned.is_set():
            logits, past = self._step(fixed, past, chosen[-1:], cached=True)
            chosen.append(self._best(logits[-1], [BEGIN, *chosen]))
            logarithms.append(_log_probability(logits[-1], chosen[-1]))
        return [token for token in chosen if token != END], float(np.exp(np.mean(logarithms)))

    def text(self, tokens: list[int]) -> str:
        """The words of `tokens`; none where they are what the model makes of sound without words."""
        text = text_of(tokens, self._vocabulary)
        return "" if text.strip(".!?").lower() in _WORDLESS else text

    def _first(
        self, fixed: dict[str, Any], past: dict[str, Floats], drafted: list[int]
    ) -> tuple[list[int], list[float], dict[str, Floats]]:
        """Read the begin mark and the draft behind it.

        Returns the tokens chosen, one more than of the draft held, the logarithms of their probabilities, and
        the keys and values before the last.
        """
        logits, past = self._step(fixed, past, drafted, cached=False)
        best: list[int] = []
        logarithms: list[float] = []
        for row, expected in zip(logits, [*drafted[1:], END], strict=True):
            best.append(self._best(row, drafted[: len(best) + 1]))
            logarithms.append(_log_probability(row, best[-1]))
            if best[-1] != expected:
                break
        right = len(best) - 1
        for name in self._past:
            if ".decoder." in name:
                past[name] = past[name][:, :, : right + 1]
        return best, logarithms, past

    def _best(self, logits: Floats, before: list[int]) -> int:
        """The token to choose after the tokens `before`."""
        if self._bias is None:
            return int(logits.argmax())
        likely = np.argpartition(logits, -_CANDIDATES)[-_CANDIDATES:]
        expected = self._bias.logarithms(before, [int(token) for token in likely])
        return int(likely[(logits[likely] + self._weight * np.array(expected)).argmax()])

    def _step(
        self, fixed: dict[str, Any], past: dict[str, Floats], tokens: list[int], *, cached: bool
    ) -> tuple[Floats, dict[str, Floats]]:
        """Logits [tokens, vocabulary] behind `past`, and the keys and values that now are past.

        Those of the encoder's states are made by the first step alone.
        """
        logits, *present = self._decoder.run(
            None,
            fixed | past | {"input_ids": np.array([tokens]), "use_cache_branch": np.array([cached])},
        )
        kept = {
            name: past[name] if cached and ".encoder." in name else value
            for name, value in zip(self._past, present, strict=True)
        }
        return logits[0], kept


class Utterance:
    """One utterance; a long one in pieces that end where it is quiet."""

    def __init__(self, model: LoadedModel) -> None:
        self._model = model
        self._drafts: list[list[int]] = []

    def decode(self, sound: Samples, before: str, abandoned: Event) -> list[Segment]:
        """The pieces of `sound`; what was said before it does not matter to the model."""
        segments = []
        begin = 0
        drafts, self._drafts = self._drafts, []
        for index, end in enumerate([*quiet_cuts(sound), len(sound)]):
            if end - begin < _LEAST_SAMPLES or abandoned.is_set():
                break
            draft = drafts[index] if index < len(drafts) else []
            tokens, certainty = self._model.transcribe(sound[begin:end], draft, abandoned)
            self._drafts.append(tokens)
            segments.append(Segment(self._model.text(tokens), end / SAMPLE_RATE_HZ, certainty))
            begin = end
        return segments


def _log_probability(logits: Floats, token: int) -> float:
    """The logarithm of a token's probability, as the model alone has it."""
    highest = logits.max()
    return float(logits[token] - highest - np.log(np.exp(logits - highest).sum()))


def _installed_model() -> Path:
    package = find_spec("moonshine_voice")
    if package is None or not package.submodule_search_locations:
        raise RecognizerError(
            "moonshine: no model is installed: pip install --no-deps moonshine-voice==0.0.73, "
            "or give a folder as model"
        )
    return Path(package.submodule_search_locations[0]) / "assets" / "tiny-en"


def _bias(phrases: Path, vocabulary: list[bytes]) -> PhraseBias:
    numbers = numbers_of(vocabulary)
    try:
        lines = phrases.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RecognizerError(f"moonshine: phrases {str(phrases)!r} cannot be read: {error}") from error
    of_word = {word: tokens_of(word, numbers) for word in {word for line in lines for word in line.split()}}
    said = ([token for word in line.split() for token in of_word[word]] for line in lines)
    joining = frozenset(token for word in _JOINING for token, *more in [tokens_of(word, numbers)] if not more)
    return PhraseBias(said, BEGIN, END, len(vocabulary), joining)


def _session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a dozen exception types without a common base
        raise RecognizerError(f"moonshine: {str(path)!r} cannot be loaded: {error}") from error
