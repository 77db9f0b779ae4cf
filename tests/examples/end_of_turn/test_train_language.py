"""Training data of a language's models."""

from pathlib import Path

import numpy as np
import pytest

from examples.end_of_turn import train_language
from voiceagent.conversation.end_of_turn.language import HashedWeights, asking_features, ending_features
from voiceagent.conversation.words import words_of

ASKS = ["can i have a room", "i would like a table", "give me the bill", "where is the station"]
TELLS = ["we went to the station", "it was a long day"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with twice as many statements as questions; the trained models are written into it."""
    monkeypatch.setattr(train_language, "LANGUAGES", tmp_path)
    for name, lines in (("asks", ASKS * 4), ("answers", ["yes", "six"]), ("tells", TELLS * 4)):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines), "utf-8")
    return tmp_path


def learn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    monkeypatch.setattr("sys.argv", ["train_language", "xx", str(folder)])
    train_language.main()
    with np.load(folder / "xx.npz") as stored:
        return dict(stored)


def test_what_asks_and_what_tells_are_told_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = learn(folder, monkeypatch)
    asks = HashedWeights(stored["asks"].tobytes(), float(stored["asks_scale"]), float(stored["asks_bias"]))
    for text, is_asking in (*((text, True) for text in ASKS), *((text, False) for text in TELLS)):
        assert (asks.logit(asking_features(words_of(text), False)) > 0) is is_asking


def test_more_lines_of_one_kind_make_it_no_likelier() -> None:
    example = np.zeros(0, np.int64)
    assert train_language.prior_logit([(example, True)] * 8 + [(example, False)] * 2) == pytest.approx(
        np.log(4)
    )
    assert train_language.prior_logit([(example, True), (example, False)]) == 0.0


def test_without_sentences_what_is_stored_of_ends_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = np.arange(8, dtype=np.int8)
    np.savez_compressed(folder / "xx.npz", ends=ends, ends_scale=np.array(0.5), ends_bias=np.array(-1.0))
    stored = learn(folder, monkeypatch)
    assert (stored["ends"] == ends).all()
    assert float(stored["ends_bias"]) == -1.0
    assert "asks" in stored


def test_a_made_line_stands_for_each_of_its_alternatives(tmp_path: Path) -> None:
    path = tmp_path / "xx_sentences.txt"
    path.write_text("# questions\n(who|what) (do i|) wait for\n\n2 * no\n", "utf-8")
    made = [" ".join(words) for words in train_language.made_sentences(path)]
    assert made == ["who do i wait for", "who wait for", "what do i wait for", "what wait for", "no", "no"]


def test_a_language_without_made_sentences_has_none(tmp_path: Path) -> None:
    assert train_language.made_sentences(tmp_path / "xx_sentences.txt") == []


def test_made_sentences_are_learned_as_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "asks.txt").unlink()
    (folder / "sentences.txt").write_text("\n".join(["where are you from paris"] * 20), "utf-8")
    (folder / "xx_sentences.txt").write_text("20 * where are you from\n", "utf-8")
    stored = learn(folder, monkeypatch)
    ends = HashedWeights(stored["ends"].tobytes(), float(stored["ends_scale"]), float(stored["ends_bias"]))
    whole, cut = (ends.logit(ending_features(words_of(text))) for text in ("where are you from", "where are"))
    assert whole > -1.0 > cut


def test_the_first_word_tells_whether_a_preposition_ends_a_sentence() -> None:
    told = [set(ending_features(words_of(text))) for text in ("where are you from", "we are all from")]
    assert "f where from" in told[0] - told[1]
