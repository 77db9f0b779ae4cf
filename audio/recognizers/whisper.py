"""Whisper through faster-whisper: many sizes and languages, CPU or GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Literal

from audio.cuda_libraries import missing_libraries
from audio.recognizers.redecoding import RedecodingRecognizer
from audio.recognizers.whisper_model import LANGUAGES, ComputeType, LoadedModel, sizes

_MAX_S = 10.0
"""Maximum window; pieces of 5 to 9 s are final."""


@dataclass(eq=False)
class WhisperRecognizer(RedecodingRecognizer):
    """Whisper on a growing window of each utterance.

    Args:
        model: a size ("base.en"), a name on the hub ("owner/name"), or the folder of a converted model.
        device: "auto", "cpu" or "cuda".
        compute_type: of CTranslate2, such as "int8" or "float16".
        language: a code such as "en"; None detects it in each decoding.
        download_root: the hub's cache.
        local_files_only: never download.
        threads: CPU threads of a decoding; 0 for the smaller of four and the number of cores.
        step_s: new audio that triggers another decoding.
        workers: concurrent decodings.
        languages: codes among which the language of each utterance is detected, in place of `language`.
    """

    model: str
    _: KW_ONLY
    device: Literal["auto", "cpu", "cuda"] = "auto"
    compute_type: ComputeType = "default"
    language: str | None = "en"
    download_root: Path | None = None
    local_files_only: bool = False
    threads: int = 0
    step_s: float = 0.5
    workers: int = 1
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        languages = self.languages or (() if self.language is None else (self.language,))

        def load() -> LoadedModel:
            return LoadedModel(
                self.model,
                self.device,
                self.compute_type,
                languages,
                self.download_root,
                self.local_files_only,
                self.threads,
                self.workers,
            )

        super().__init__("whisper", load, self.step_s, _MAX_S, self.workers)
        self.takes_expected = True  # phrases of a call, and its language


def misfits(
    model: str,
    language: str | None = "en",
    device: str = "auto",
    languages: tuple[str, ...] = (),
    **_: object,
) -> Iterator[tuple[str, str]]:
    """Yield the invalid keyword arguments, each with the allowed values. Loads no model."""
    if device == "cuda" and (missing := missing_libraries()):
        needs = f"on a GPU it needs {' and '.join(missing)}"
        yield "device", f"{needs}: pip install 'voiceagent-server[whisper-gpu]'; or take \"cpu\""
    if "/" not in model and model not in sizes() and not Path(model).is_dir():
        yield "model", f"allowed: a folder, owner/name on the model hub, or a size: {', '.join(sizes())}"
    for code in languages:
        if code not in LANGUAGES:
            yield "languages", f"Whisper does not have {code!r}; allowed: {', '.join(LANGUAGES)}"
    if languages and model.endswith(".en"):
        yield "model", "knows English alone, and calls are in several languages; allowed: a model without .en"
    if language is not None and language not in LANGUAGES:
        yield "language", f"Whisper does not have it; allowed: {', '.join(LANGUAGES)}"
    elif model.endswith(".en") and language not in ("en", None):
        yield "model", f"knows English alone, and language is {language!r}; allowed: a model without .en"
