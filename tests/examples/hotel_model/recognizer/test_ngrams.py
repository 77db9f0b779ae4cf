"""Trigram language models."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pocketsphinx import Config, LogMath, NGramModel

from examples.hotel_model.recognizer.ngrams import (
    START,
    STOP,
    BackOffModel,
    Gram,
    kneser_ney,
    mix,
    write_arpa,
)

SENTENCES = [["is", "there", "a", "pool"], ["is", "there", "parking"], ["where", "is", "the", "pool"]]
sentence_lists = st.lists(st.lists(st.sampled_from("abcde"), max_size=5), min_size=1, max_size=10)


def words_of(model: BackOffModel) -> list[str]:
    return [gram[0] for gram in model.probability if len(gram) == 1 and gram[0] != START]


def histories_of(model: BackOffModel) -> list[Gram]:
    return [(), *model.back_off]


def test_what_was_said_is_likelier_than_what_was_not() -> None:
    model = kneser_ney(SENTENCES)
    assert model.after(("is", "there"), "parking") > model.after(("is", "there"), "where")
    assert model.after((START, START), "is") > model.after((START, START), "pool")
    assert model.after(("the", "pool"), STOP) > model.after(("the", "pool"), "is")


def test_a_word_never_said_has_no_probability() -> None:
    assert kneser_ney(SENTENCES).after(("is",), "sauna") == 0


@given(sentence_lists)
def test_after_every_history_the_words_come_to_one(sentences: list[list[str]]) -> None:
    model = kneser_ney(sentences)
    for history in histories_of(model):
        assert sum(model.after(history, word) for word in words_of(model)) == pytest.approx(1, abs=1e-6)


@given(sentence_lists, sentence_lists, st.floats(0.05, 0.95))
def test_a_mixture_comes_to_one_as_well(
    first: list[list[str]], second: list[list[str]], share: float
) -> None:
    models = kneser_ney(first), kneser_ney(second)
    mixed = mix(*models, share, set(models[0].probability) | set(models[1].probability))
    for history in histories_of(mixed):
        assert sum(mixed.after(history, word) for word in words_of(mixed)) == pytest.approx(1, abs=1e-4)


def test_pocketsphinx_reads_what_is_written(tmp_path: Path) -> None:
    model = kneser_ney(SENTENCES)
    write_arpa(model, tmp_path / "model.arpa")
    logarithms = LogMath()
    read = NGramModel(Config(), logarithms, str(tmp_path / "model.arpa"))
    for history, word in ((("is", "there"), "a"), (("there", "a"), "pool"), (("is",), "the")):
        told = logarithms.exp(read.prob([word, *reversed(history)]))
        assert told == pytest.approx(model.after(history, word), rel=0.01)
