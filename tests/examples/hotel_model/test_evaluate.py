"""The report on a model: shares, targets, agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import StringIO

import pytest
from rich.console import Console

from examples.hotel_model.data.labelled import labelled_set
from examples.hotel_model.evaluate import agreement, evaluate, meets_targets, report, share_right

_BY_CHAT = {
    (item.history, item.question): item.canonical for item in labelled_set()
}  # what a perfect model answers


def _perfect(messages: Sequence[Mapping[str, str]]) -> str:
    turns = tuple((message["role"], message["content"]) for message in messages[1:])
    return _BY_CHAT[turns[:-1], turns[-1][1]]


def _always(text: str) -> Callable[[Sequence[Mapping[str, str]]], str]:
    return lambda messages: text


def test_a_perfect_model_meets_the_targets() -> None:
    judged = evaluate(_perfect, labelled_set())
    assert share_right(judged) == 1.0
    assert meets_targets(judged)


def test_a_model_that_only_declines_misses_them() -> None:
    judged = evaluate(_always("I can only help with the Lakeside Hotel."), labelled_set())
    assert share_right([item for item in judged if item.labelled.outside]) == 1.0
    assert not meets_targets(judged)


def test_a_model_that_never_declines_misses_them() -> None:
    inside = tuple(item for item in labelled_set() if not item.outside)
    outside = tuple(item for item in labelled_set() if item.outside)
    judged = evaluate(_perfect, inside) + evaluate(_always("The pool is free."), outside)
    assert not meets_targets(judged)


def test_the_report_names_the_intents_and_the_wrong_answers() -> None:
    questions = labelled_set()[:2]
    text = StringIO()
    report(evaluate(_always("Blue bananas."), questions), Console(file=text, width=100))
    assert questions[0].intent in text.getvalue()
    assert "Blue bananas." in text.getvalue()
    assert "0.0% of 2" in text.getvalue()


def test_answers_agree_by_their_words() -> None:
    judged = evaluate(_always("Until 11, please."), labelled_set()[:2])
    assert agreement(judged, ["until eleven please", "until ten please"]) == 0.5


def test_answers_to_another_set_can_not_be_compared() -> None:
    judged = evaluate(_always("Yes."), labelled_set()[:2])
    with pytest.raises(ValueError, match="zip"):
        agreement(judged, ["Yes."])
