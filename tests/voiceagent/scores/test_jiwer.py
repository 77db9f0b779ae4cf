"""Agreement with jiwer on normalized words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.scores.word_errors import WordErrors, comparable, word_errors

jiwer: Any = pytest.importorskip("jiwer")

WORDS = st.lists(st.sampled_from(["room", "key", "lake", "pool", "late"]), min_size=1, max_size=12).map(
    " ".join
)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_word_error_rate_over_utterances_is_jiwers(pairs: list[tuple[str, str]]) -> None:
    ours = sum((word_errors(said, got) for said, got in pairs), WordErrors(0, 0))
    said = [" ".join(comparable(text)) for text, _ in pairs]
    got = [" ".join(comparable(text)) for _, text in pairs]
    assert ours.rate == pytest.approx(jiwer.wer(said, got))


def test_other_languages_are_compared_without_case_and_punctuation() -> None:
    assert word_errors("Ist das Frühstück dabei?", "ist das frühstück, dabei", "de") == WordErrors(0, 4)
