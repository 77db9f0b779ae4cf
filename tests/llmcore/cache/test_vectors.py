from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore.cache.vectors import DIMENSIONS, MAX_NEAR, Vector, VectorIndex

VECTORS = np.random.default_rng(1).standard_normal((24, DIMENSIONS)).astype(np.float32)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
VECTORS[12:] = 0.97 * VECTORS[:12] + 0.1 * VECTORS[12:]  # each near one of the others
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)


def expected(kept: dict[tuple[str, str], int], space: str, vector: Vector, threshold: float) -> list[str]:
    scored = [(float(VECTORS[v] @ vector), key) for (s, key), v in kept.items() if s == space]
    return [key for cosine, key in sorted(scored, reverse=True) if cosine >= threshold][:MAX_NEAR]


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "remove"]), st.sampled_from("ab"), st.integers(0, 20), st.integers(0, 23)
        ),
        max_size=60,
    ),
    st.integers(0, 23),
)
def test_it_finds_what_a_plain_search_finds_whatever_came_and_went(steps, asked):
    index = VectorIndex(100)
    kept: dict[tuple[str, str], int] = {}
    for step, space, key, vector in steps:
        name = f"{space}{key}"
        if step == "add":
            index.add(space, name, VECTORS[vector])
            kept[space, name] = vector
        else:
            index.remove(name)
            kept.pop((space, name), None)
    for space in "ab":
        found = index.find_near(space, VECTORS[asked], 0.5)
        wanted = expected(kept, space, VECTORS[asked], 0.5)
        assert sorted(round(cosine, 3) for _, cosine in found) == sorted(
            round(float(VECTORS[kept[space, key]] @ VECTORS[asked]), 3) for key in wanted
        )
        assert all(
            round(float(VECTORS[kept[space, key]] @ VECTORS[asked]), 3) == round(c, 3) for key, c in found
        )


def test_an_agents_questions_are_not_anothers():
    index = VectorIndex(10)
    index.add("one", "k", VECTORS[0])
    assert [key for key, _ in index.find_near("one", VECTORS[0], 0.9)] == ["k"]
    assert index.find_near("other", VECTORS[0], 0.9) == []


def test_beyond_its_capacity_the_oldest_goes():
    index = VectorIndex(2)
    assert [index.add("s", key, VECTORS[n]) for n, key in enumerate("abc")] == [[], [], ["a"]]
    assert index.find_near("s", VECTORS[0], 0.99) == []


def test_a_vector_that_is_added_again_is_a_new_one():
    index = VectorIndex(2)
    for n, key in enumerate("aba"):
        index.add("s", key, VECTORS[n])
    assert index.add("s", "c", VECTORS[5]) == ["b"]
    assert len(index) == 2


def test_clearing_leaves_nothing():
    index = VectorIndex(5)
    index.add("s", "a", VECTORS[0])
    assert index.clear() == ["a"]
    assert (len(index), index.find_near("s", VECTORS[0], 0.5)) == (0, [])
