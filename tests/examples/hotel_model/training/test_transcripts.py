"""Training questions as the recognizer misheard them: which of them are learned from."""

from __future__ import annotations

import pytest

from examples.hotel_model.data.exchanges import Context, Exchange
from examples.hotel_model.evaluation import by_voice
from examples.hotel_model.training import transcripts

FIXED = frozenset({"two", "nights", "lake", "suite"})
LINES = {
    "is the pool heated": "is the pool eating",
    "two nights in the lake suite please": "ten nights in the lake suite please",
    "how much is the lake suite": "how much is the lake sweet",
    "where is the gym": "wear",
    "do you have a sauna": "is the pool heated",
    "can i bring my parrot": "can i bring my carrot",
}


@pytest.fixture
def learned(tmp_path) -> dict[str, str]:
    """Return the transcript of each question trained on, by its answer."""
    asked = [question for question in LINES if "parrot" not in question]
    path = tmp_path / "transcripts.tsv"
    path.write_text("\n".join(f"{said}\t{words}" for said, words in LINES.items()) + "\n")
    exchanges = transcripts.misheard(FIXED, [_exchange(question) for question in asked], path)
    return {exchange.answer: exchange.question for exchange in exchanges}


def _exchange(question: str) -> Exchange:
    asked = "quote" if "nights" in question else ""
    return Exchange("some.intent", question, f"answer to: {question}", (), Context(asked=asked))


def test_what_was_heard_is_answered_as_what_was_said(learned):
    assert learned["answer to: is the pool heated"] == "is the pool eating"
    assert learned["answer to: how much is the lake suite"] == "how much is the lake sweet"


def test_words_that_the_answer_depends_on_must_have_been_heard(learned):
    assert "answer to: two nights in the lake suite please" not in learned


def test_what_nobody_could_understand_is_not_learned(learned):
    assert "answer to: where is the gym" not in learned


def test_what_was_heard_as_another_question_is_not_learned(learned):
    assert "answer to: do you have a sauna" not in learned


def test_what_no_template_says_any_more_is_not_learned(learned):
    assert "answer to: can i bring my parrot" not in learned


def test_the_file_is_of_the_templates_and_holds_only_what_was_misheard():
    pairs = [line.split("\t") for line in transcripts.TRANSCRIPTS.read_text().splitlines()]
    assert all(said != words for said, words in pairs)
    asked = {exchange.question for exchange in transcripts.draws()}
    known = sum(said in asked for said, _ in pairs)
    assert known > 0.9 * len(pairs), "other templates: make transcripts.tsv anew"


def test_no_voice_of_the_evaluation_is_learned_from():
    evaluated = {(voice.program, voice.arguments) for voice in by_voice.VOICES}
    assert not evaluated & {(voice.program, voice.arguments) for voice in transcripts.VOICES}
