"""Files of a Moonshine model: those of a folder, or of the installed wheel."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from audio.recognizers import RecognizerError

_FILES = ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin")


def model_files(folder: Path | None) -> list[Path]:
    """Return the encoder, decoder and vocabulary files in a folder; None for those of the installed wheel.

    Raises:
        RecognizerError: a file is missing.
    """
    folder = folder or _installed_model()
    if missing := [name for name in _FILES if not (folder / name).is_file()]:
        raise RecognizerError(f"moonshine: model {str(folder)!r} has no {' and no '.join(missing)}")
    return [folder / name for name in _FILES]


def _installed_model() -> Path:
    package = find_spec("moonshine_voice")
    if package is None or not package.submodule_search_locations:
        raise RecognizerError(
            "moonshine: no model is installed: pip install --no-deps moonshine-voice==0.0.73, "
            "or give a folder as model"
        )
    return Path(package.submodule_search_locations[0]) / "assets" / "tiny-en"
