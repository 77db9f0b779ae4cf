from __future__ import annotations

from pathlib import Path

from audio.recognizers.completeness import completeness_of
from audio.recognizers.moonshine_files import model_files


def test_of_an_encoder_that_it_was_not_taught_with_it_says_nothing(tmp_path: Path) -> None:
    encoder, *_ = model_files(None)
    (other := tmp_path / encoder.name).write_bytes(encoder.read_bytes()[:-1] + b"?")
    assert completeness_of(encoder) is not None
    assert completeness_of(other) is None
