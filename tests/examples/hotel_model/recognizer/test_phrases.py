"""Phrases that the bundled recognizer expects."""

from __future__ import annotations

from pathlib import Path

from examples.hotel_model.data.labelled import labelled_set
from examples.hotel_model.data.labelled_calls import labelled_calls
from examples.hotel_model.data.typed import punctuated, uncontracted
from examples.hotel_model.recognizer.phrases import PHRASES, main, one_of_each
from voiceagent.bench.scoring import spoken


def test_the_shipped_file_is_what_the_command_writes(tmp_path: Path) -> None:
    main(["--out", str(tmp_path / "phrases.txt")])
    assert (tmp_path / "phrases.txt").read_text() == PHRASES.read_text()


def test_phrases_are_written_as_a_recognizer_that_punctuates_writes() -> None:
    lines = PHRASES.read_text().splitlines()
    assert len(lines) > 30_000
    assert all(line[0] == line[0].upper() and line[-1] in ".?" for line in lines)


def test_no_question_of_the_evaluation_is_among_them() -> None:
    told = {spoken(line) for line in PHRASES.read_text().splitlines()}
    asked = {spoken(item.words) for item in labelled_set() if not item.follows_up}
    assert len(asked & told) <= 3  # greetings and thanks of one or two words
    assert all(len(text.split()) <= 2 for text in asked & told)


def test_callers_requests_are_among_them_and_none_of_the_evaluation() -> None:
    told = {spoken(line) for line in PHRASES.read_text().splitlines()}
    assert not {spoken(item.words) for item in labelled_calls()} & told
    assert sum("wake me at" in text for text in told) > 100
    assert sum("taxi to the station" in text for text in told) > 10


def test_every_training_template_is_written_with_and_without_contractions() -> None:
    told, asked = set(PHRASES.read_text().splitlines()), list(one_of_each(seed=0))
    assert len(asked) > 5000
    assert {punctuated(form) for text in asked for form in (text, uncontracted(text))} <= told
