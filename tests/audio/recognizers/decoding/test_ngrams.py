from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers.decoding.ngrams import Ngrams

BEGIN, SIZE, ORDER = 1, 9, 4
texts = st.lists(st.lists(st.integers(2, SIZE - 1), max_size=6), max_size=8)


def counted(said: list[list[int]], context: list[int]) -> Counter[int]:
    """Count the successors of a context, one by one."""
    rows = [[BEGIN] * (ORDER - 1) + one for one in said]
    length = len(context)
    return Counter(
        row[at] for row in rows for at in range(ORDER - 1, len(row)) if row[at - length : at] == context
    )


@given(texts, st.lists(st.integers(2, SIZE - 1), max_size=5))
def test_what_follows_the_ever_longer_ends_of_a_text_is_counted(
    said: list[list[int]], before: list[int]
) -> None:
    ngrams = Ngrams(said, ORDER, BEGIN, SIZE)
    filled = [BEGIN] * (ORDER - 1) + before
    expected = [counted(said, filled[len(filled) - length :]) for length in range(ORDER)]
    known = next((length for length, each in enumerate(expected) if not each), ORDER)
    found = list(ngrams.following(before))
    assert [(each.kinds, each.total) for each in found] == [
        (len(each), each.total()) for each in expected[:known]
    ]
    for followers, each in zip(found, expected, strict=False):
        assert [followers.count(token) for token in range(SIZE)] == [each[token] for token in range(SIZE)]
