"""Reading GGUF files: values, tensors, and files that are none."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from llmcore.engine import SetupError
from llmcore.gguf.file import GgufFile

gguf = pytest.importorskip("gguf", reason="it is missing: pip install 'voiceagent-server[gguf]'")

MATRIX = np.random.default_rng(1).standard_normal((4, 256)).astype(np.float32)


def written(path: Path) -> Path:
    writer = gguf.GGUFWriter(str(path), "qwen2")
    writer.add_uint32("a.count", 7)
    writer.add_float32("a.part", 0.5)
    writer.add_bool("a.flag", True)
    writer.add_array("a.words", ["für", "日本", ""])
    writer.add_array("a.numbers", [1, -2, 3])
    writer.add_tensor("plain", MATRIX)
    for kind in ("Q8_0", "Q5_0"):
        number = gguf.GGMLQuantizationType[kind]
        writer.add_tensor(kind, gguf.quants.quantize(MATRIX, number), raw_dtype=number)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "model.gguf")


def test_values_come_as_they_were_written(path: Path) -> None:
    with GgufFile(path) as file:
        found = {key: value for key, value in file.metadata.items() if key.startswith("a.")}
    assert found == {
        "a.count": 7,
        "a.part": 0.5,
        "a.flag": True,
        "a.words": ["für", "日本", ""],
        "a.numbers": [1, -2, 3],
    }


def test_tensors_come_as_float32_whatever_their_quantization(path: Path) -> None:
    with GgufFile(path) as file:
        assert np.array_equal(file.tensor("plain"), MATRIX)
        assert np.abs(file.tensor("Q8_0") - MATRIX).max() < 0.02
        assert np.abs(file.tensor("Q5_0") - MATRIX).max() < 0.2
        assert np.array_equal(file.rows("Q8_0", 2), file.tensor("Q8_0")[:2])


def test_a_missing_value_or_tensor_is_named(path: Path) -> None:
    with GgufFile(path) as file:
        with pytest.raises(SetupError, match=r"model\.gguf.*'a\.more'"):
            file.value("a.more")
        with pytest.raises(SetupError, match=r"model\.gguf.*'output\.weight'"):
            file.tensor("output.weight")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "cannot read"),
        (b"RIFF" + bytes(40), "not a GGUF file"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "version 9, allowed: 2, 3"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**60), "truncated"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1sI", 1, b"a", 99), "unknown type: 99"),
    ],
)
def test_a_file_of_another_kind_is_an_error_that_names_it(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(content)
    with pytest.raises(SetupError, match=rf"other\.gguf.*{told}"):
        GgufFile(path)


def test_a_file_that_was_cut_anywhere_is_an_error(path: Path, tmp_path: Path) -> None:
    whole, cut = path.read_bytes(), tmp_path / "cut.gguf"
    for length in range(1, len(whole), 97):
        cut.write_bytes(whole[:length])
        with pytest.raises(SetupError, match=r"cut\.gguf"), GgufFile(cut) as file:
            for name in file.tensors:
                file.tensor(name)
