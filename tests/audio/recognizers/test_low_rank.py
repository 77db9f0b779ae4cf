from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from audio.recognizers.low_rank import Correction, read_corrections, write_corrections


def test_corrections_are_read_as_they_were_written_to_16_bits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    written = {
        place: Correction(*(rng.normal(size=shape).astype(np.float32) for shape in ((6, 2), (2, 4))))
        for place in ("layers.0.mlp.fc1", "layers.10.mlp.fc1")
    }
    write_corrections(tmp_path / "adapter.npz", written)
    read = read_corrections(tmp_path / "adapter.npz")
    assert set(read) == set(written)
    for place, correction in read.items():
        assert correction.product.shape == (6, 4)
        assert correction.product == pytest.approx(written[place].product, rel=0.01, abs=0.01)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x93NUMPY"])
def test_a_file_of_something_else_is_no_file_of_corrections(tmp_path: Path, content: bytes) -> None:
    (path := tmp_path / "adapter.npz").write_bytes(content)
    with pytest.raises(ValueError, match="no file of corrections"):
        read_corrections(path)


def test_half_a_correction_is_refused(tmp_path: Path) -> None:
    np.savez(path := tmp_path / "adapter.npz", **{"layers.0.mlp.fc1.down": np.zeros((3, 1))})
    with pytest.raises(ValueError, match="no file of corrections"):
        read_corrections(path)
