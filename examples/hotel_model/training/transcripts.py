"""Training questions as the recognizer hears them: `python -m examples.hotel_model.training.transcripts`.

Simulated errors (`recognizer_errors`) resemble a recognizer's; these are its own. The voices are synthetic,
and none is among those of the evaluation. The results are kept in `transcripts.tsv`, so that training needs
no voices.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random

from rich.progress import track

from examples.hotel_model.data.exchanges import Caller, Exchange
from examples.hotel_model.evaluation.by_voice import Voice, transcripts_of
from voiceagent.bench.scoring import spoken
from voiceagent.scores.word_errors import edit_distance

TRANSCRIPTS = Path(__file__).with_name("transcripts.tsv")
"""Lines of a question, a tab, and its transcript."""

_DRAWS, _SEED = 16_000, 7
_FOLLOW_UPS = 0.2  # of the draws
_SHARE_OF_ERRORS = 0.6  # of a question's words, at most: beyond that nobody could know what was asked
_TOGETHER = 200  # questions in one voice
_AT_ONCE = 2
_FLITE = ("awb", "kal", "kal16")
_ESPEAK = (
    "en-us+m1",
    "en-us+m3",
    "en-us+m7",
    "en-us+f1",
    "en-us+f3",
    "en-us+f4",
    "en-gb+m2",
    "en-gb-x-rp+f3",
)

VOICES = tuple(
    voice
    for telephone in (False, True)
    for voice in (
        *(Voice(name, "flite", ("-voice", name), telephone) for name in _FLITE),
        *(Voice(name, "espeak-ng", ("-v", name, "-s", "150"), telephone) for name in _ESPEAK),
    )
)


def misheard(fixed: frozenset[str], drawn: Iterable[Exchange], table: Path) -> Iterator[Exchange]:
    """Yield the `drawn` questions with the transcripts in the file `table` as their words.

    Left out are questions with too many errors or, if the answer depends on them, without the `fixed` words;
    those that templates no longer generate; and those transcribed as another question.
    """
    asked = {exchange.question: exchange for exchange in drawn}
    for line in table.read_text().splitlines():
        question, transcript = line.split("\t")
        exchange = asked.get(question)
        if exchange is None or transcript in asked or not _is_close(question, transcript):
            continue
        if not exchange.context.asked or _only(fixed, question) == _only(fixed, transcript):
            yield replace(exchange, question=transcript)


def _is_close(question: str, transcript: str) -> bool:
    said = question.split()
    return edit_distance(said, transcript.split()) <= _SHARE_OF_ERRORS * len(said)


def _only(fixed: frozenset[str], text: str) -> list[str]:
    return [word for word in text.split() if word in fixed]


def draws() -> Iterator[Exchange]:
    """Yield the exchanges whose questions are transcribed; deterministic."""
    rng = Random(_SEED)
    caller = Caller("train", rng)
    for _ in range(_DRAWS):
        exchange = caller.any_follow_up() if rng.random() < _FOLLOW_UPS else caller.alone()
        if exchange.intent != "talk.unclear":
            yield exchange


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.hotel_model.training.transcripts", description=__doc__
    )
    parser.add_argument("--config", type=Path, default=Path("configs/demo.toml"), help="with the recognizer")
    parser.add_argument("--out", type=Path, default=TRANSCRIPTS, help="the file that is written")
    options = parser.parse_args(arguments)
    questions = list(dict.fromkeys(exchange.question for exchange in draws()))
    with tempfile.TemporaryDirectory() as folder:
        transcripts = _listen(questions, _configs(options.config, Path(folder)))
    pairs = zip(questions, transcripts, strict=True)
    lines = [f"{question}\t{words}" for question, words in pairs if words not in ("", spoken(question))]
    options.out.write_text("\n".join(lines) + "\n")


def _configs(config: Path, folder: Path) -> tuple[Path, Path]:
    """Return the configuration, and one whose recognizer has no phrases: held-out questions are recognized
    slightly worse than training questions, which are among the phrases.
    """
    lines = config.read_text().splitlines()
    plain = folder / config.name
    plain.write_text("\n".join(line for line in lines if not line.startswith("phrases =")))
    return config, plain


def _listen(questions: Sequence[str], configs: Sequence[Path]) -> list[str]:
    """Return the transcript of each question, in lower-case words."""
    batches = [questions[start : start + _TOGETHER] for start in range(0, len(questions), _TOGETHER)]
    transcripts: list[str] = []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        listening = pool.map(lambda batch, number: _transcribe(batch, number, configs), batches, count())
        for words in track(listening, "listening", len(batches)):
            transcripts += words
    return transcripts


def _transcribe(questions: Sequence[str], number: int, configs: Sequence[Path]) -> list[str]:
    voice, config = VOICES[number % len(VOICES)], configs[number // len(VOICES) % len(configs)]
    return [spoken(text) for text in transcripts_of(questions, [voice] * len(questions), config)]


if __name__ == "__main__":
    main()
