"""The recognizer's language model: words of callers of the demo hotel, mixed with general English.

`python -m examples.hotel_model.recognizer.language_model` writes the two files that pocketsphinx needs: an
n-gram model and a pronouncing dictionary. It takes half a minute and writes the same files each time.
"""

from __future__ import annotations

import argparse
from itertools import islice, product
from pathlib import Path

import pocketsphinx  # type: ignore[import-untyped]  # ships no types

from examples.hotel_model.data.conversations import questions
from examples.hotel_model.recognizer.ngrams import (
    START,
    STOP,
    BackOffModel,
    Gram,
    kneser_ney,
    mix,
    write_arpa,
)
from voiceagent.demo import WEIGHTS

RECOGNIZER = WEIGHTS / "recognizer"

QUESTIONS = 60_000
GENERAL_WORDS = 3_000
DOMAIN_SHARE = 0.95
GENERAL_PAIRED_WORDS = 1_500
MIN_GAIN = 1e-6
"""Minimum excess probability of a listed pair of general English over chance."""

# Words of the conversations that the dictionary of pocketsphinx lacks, in its phones.
PRONUNCIATIONS = {
    "creased": "K R IY S T",
    "hiya": "HH AY Y AH",
    "minibar": "M IH N IY B AA R",
    "vaping": "V EY P IH NG",
    "whiteboard": "W AY T B AO R D",
    "wi": "W AY",
}


def pronunciations() -> dict[str, list[str]]:
    """Return the pronunciations, in phones, of each word of pocketsphinx's dictionary and of
    PRONUNCIATIONS.
    """
    spoken: dict[str, list[str]] = {word: [phones] for word, phones in PRONUNCIATIONS.items()}
    path = Path(pocketsphinx.get_model_path("en-us/cmudict-en-us.dict"))
    for line in path.read_text(encoding="utf-8").splitlines():
        word, phones = line.split(maxsplit=1)
        spoken.setdefault(word.split("(")[0], []).append(phones)
    return spoken


class GeneralEnglish:
    """pocketsphinx's own model."""

    def __init__(self) -> None:
        self._logarithms = pocketsphinx.LogMath()  # the model does not keep it alive
        path = pocketsphinx.get_model_path("en-us/en-us.lm.bin")
        self._model = pocketsphinx.NGramModel(pocketsphinx.Config(), self._logarithms, path)

    def after(self, history: Gram, word: str) -> float:
        """See LanguageModel.after."""
        newest_first = [word, *reversed(history)]
        return float(self._logarithms.exp(self._model.prob(newest_first)))


def hotel_model() -> BackOffModel:
    """Return the mixture: all grams of the conversations, and the most common words and surest
    pairs of general English.
    """
    known = set(pronunciations())
    domain = kneser_ney(
        [word for word in question.split() if word in known]
        for question in islice(questions(seed=0), QUESTIONS)
    )
    general = GeneralEnglish()
    alone = {word: general.after((), word) for word in known}
    commonest = sorted(known, key=lambda word: (-alone[word], word))[:GENERAL_WORDS]
    pairs = product(commonest[:GENERAL_PAIRED_WORDS], repeat=2)
    grams = set(domain.probability) | {(word,) for word in commonest}
    grams |= {
        (first, second)
        for first, second in pairs
        if alone[first] * (general.after((first,), second) - alone[second]) > MIN_GAIN
    }
    return mix(domain, general, DOMAIN_SHARE, grams)


def write_dictionary(model: BackOffModel, path: Path) -> None:
    """Write the pronunciations of the model's words, in order, variants as `word(2)`."""
    spoken = pronunciations()
    words = sorted(gram[0] for gram in model.probability if len(gram) == 1 and gram[0] not in (START, STOP))
    with path.open("w", encoding="utf-8") as out:
        for word in words:
            for index, phones in enumerate(spoken[word], 1):
                out.write(f"{word}{f'({index})' if index > 1 else ''} {phones}\n")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.hotel_model.recognizer.language_model", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=RECOGNIZER, help="folder of hotel.lm and hotel.dict")
    out: Path = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    model = hotel_model()
    write_arpa(model, out / "hotel.lm")
    write_dictionary(model, out / "hotel.dict")


if __name__ == "__main__":
    main()
