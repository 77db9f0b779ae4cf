"""What learning a language leaves in its file."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from voiceagent.conversation.end_of_turn import train_language
from voiceagent.conversation.end_of_turn.language import HashedWeights, ending_features

SENTENCES = ["turn on the light in the kitchen", "is there a pool in the garden", "make me a coffee"] * 40


@pytest.fixture(name="learned")
def learned_from_a_few_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """The file of a language that had something on what asks, after it has learned what ends."""
    (tmp_path / "sentences.txt").write_text("\n".join(SENTENCES), "utf-8")
    np.savez(tmp_path / "en.npz", asks=np.array([1, 2, 3], np.int8), ends=np.zeros(4, np.int8))
    monkeypatch.setattr(train_language, "LANGUAGES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["train_language", "en", str(tmp_path)])
    train_language.main()
    return dict(np.load(tmp_path / "en.npz"))


def test_a_whole_sentence_ends_likelier_than_its_beginning(learned) -> None:
    ends = HashedWeights(learned["ends"].tobytes(), float(learned["ends_scale"]), float(learned["ends_bias"]))
    whole, beginning = (
        ends.logit(ending_features(words.split())) for words in ("make me a coffee", "make me a")
    )
    assert whole > 0 > beginning


def test_what_asks_stays_where_nothing_is_given_to_learn_it_from(learned) -> None:
    assert learned["asks"].tolist() == [1, 2, 3]
