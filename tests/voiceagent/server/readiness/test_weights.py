from __future__ import annotations

import json
from pathlib import Path

import pytest

from voiceagent import demo
from voiceagent.server.readiness.weights import Weights, hub_cache, loaded_bytes, weights_of
from voiceagent.weights.table import known_weights


def checkpoint(folder: Path, size: int = 1000, **config: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(b"\0" * size)
    (folder / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16"} | config))
    return folder


def of_hub(tmp_path: Path, name: str = "nobody--tiny") -> tuple[dict[str, str], Path]:
    snapshot = tmp_path / "hub" / f"models--{name}" / "snapshots" / "abc"
    return {"HF_HOME": str(tmp_path)}, checkpoint(snapshot)


def test_a_model_of_the_hub_is_found_in_its_cache(tmp_path):
    environ, snapshot = of_hub(tmp_path)
    (found,) = weights_of("vllm", {"model": "nobody/tiny"}, environ)
    assert (found.folder, found.bytes()) == (snapshot, 1000)


def test_a_model_that_is_missing_names_where_it_was_looked_for(tmp_path):
    environ = {"HF_HUB_CACHE": str(tmp_path)}
    (found,) = weights_of("vllm", {"model": "nobody/tiny"}, environ)
    assert (found.folder, found.looked_in, found.bytes()) == (None, tmp_path, 0)
    assert "hf download nobody/tiny" in found.way_out


def test_a_snapshot_without_weights_is_none(tmp_path):
    environ, snapshot = of_hub(tmp_path)
    (snapshot / "model.safetensors").unlink()
    (found,) = weights_of("vllm", {"model": "nobody/tiny"}, environ)
    assert found.folder is None


def test_a_draft_is_a_model_too(tmp_path):
    options = {
        "model": str(checkpoint(tmp_path / "a")),
        "speculative": {"model": str(checkpoint(tmp_path / "b"))},
    }
    assert [found.key for found in weights_of("vllm", options, {})] == ["model", "speculative.model"]


@pytest.mark.parametrize(
    ("size", "name"),
    [("small.en", "Systran/faster-whisper-small.en"), ("large", "Systran/faster-whisper-large-v3")],
)
def test_a_size_of_whisper_stands_for_a_model_of_the_hub(tmp_path, size, name):
    (found,) = weights_of("whisper", {"model": size}, {"HF_HOME": str(tmp_path)})
    assert found.name == name


def test_a_piper_voice_wants_its_settings_beside_it(tmp_path):
    options = {"voice": "en_US-x-low", "data_dir": str(tmp_path)}
    (tmp_path / "en_US-x-low.onnx").write_bytes(b"12345")
    (tmp_path / "other.onnx").write_bytes(b"123")
    (found,) = weights_of("piper", options, {})
    assert found.folder is None
    (tmp_path / "en_US-x-low.onnx.json").write_text("{}")
    (found,) = weights_of("piper", options, {})
    assert found.bytes() == 5


@pytest.mark.parametrize(
    ("dtype", "quantization", "size"),
    [("auto", None, 1000), ("float32", None, 2000), ("bfloat16", "fp8", 500)],
)
def test_what_a_checkpoint_takes_depends_on_the_type_it_is_loaded_in(tmp_path, dtype, quantization, size):
    weights = Weights("model", "m", checkpoint(tmp_path), tmp_path, "")
    assert loaded_bytes(weights, dtype, quantization) == size


def test_a_quantized_checkpoint_takes_what_it_has(tmp_path):
    folder = checkpoint(tmp_path, quantization_config={"quant_method": "awq"})
    assert loaded_bytes(Weights("model", "m", folder, folder, ""), "float32", None) == 1000


def test_a_licence_is_what_the_folder_states(tmp_path):
    weights = Weights("model", "m", checkpoint(tmp_path), tmp_path, "")
    assert weights.licence() == "not stated there by README.md, MODEL_CARD or LICENSE"
    (tmp_path / "LICENSE").write_text("...")
    assert weights.licence() == "see LICENSE"
    (tmp_path / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    assert weights.licence() == "apache-2.0"


def test_downloaded_weights_have_the_licence_of_the_table(tmp_path):
    known = known_weights()["qwen2.5-coder-0.5b-instruct"]
    (folder := tmp_path / known.name).mkdir()
    file = folder / known.files[0].name
    with file.open("wb") as sparse:
        sparse.truncate(known.files[0].bytes)
    (weights,) = weights_of("llamacpp", {"model": str(file)}, {})
    assert (weights.licence(), weights.bytes()) == ("Apache-2.0", known.bytes)


def piper_voice(folder: Path, name: str) -> Weights:
    for path in (folder / f"{name}.onnx", folder / f"{name}.onnx.json"):
        path.touch()
    (weights,) = weights_of("piper", {"voice": str(folder / f"{name}.onnx")}, {})
    return weights


def test_the_licence_of_a_piper_voice_is_what_its_card_states(tmp_path):
    joe, amy = piper_voice(tmp_path, "en_US-joe-medium"), piper_voice(tmp_path, "en_US-amy-low")
    assert "the MODEL_CARD of this voice in rhasspy/piper-voices" in joe.licence()
    (tmp_path / "MODEL_CARD").write_text(
        "# Model card for joe (medium)\n\n* Speakers: 1\n\n## Dataset\n\n* URL: https://x\n* License: CC0\n"
    )
    assert joe.licence() == "CC0, as MODEL_CARD says of its recordings"
    assert amy.licence().startswith("not stated there")  # the card is another voice's


def test_all_weights_that_come_with_the_server_state_a_licence():
    folders = [path for path in (Path(demo.__file__).parent / "weights").iterdir() if path.is_dir()]
    assert len(folders) >= 4
    for folder in folders:
        assert Weights("model", "m", folder, folder, "").licence() == "apache-2.0", folder


def test_the_cache_is_where_hugging_face_has_it(tmp_path):
    assert hub_cache({"HF_HUB_CACHE": "/c", "HF_HOME": "/h"}) == Path("/c")
    assert hub_cache({"HF_HOME": "/h"}) == Path("/h/hub")
    assert hub_cache({"XDG_CACHE_HOME": "/x"}) == Path("/x/huggingface/hub")
