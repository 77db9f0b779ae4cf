"""Whisper through faster-whisper: many sizes and languages, CPU or GPU."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from audio.recognizers.redecoding import RedecodingRecognizer
from audio.recognizers.whisper_model import LoadedModel

_MAX_S = 10.0
"""Pieces of 5 to 9 s are final."""


@dataclass(eq=False)
class WhisperRecognizer(RedecodingRecognizer):
    """Whisper on a growing window of each utterance.

    model: a size ("base.en"), a name on the hub ("owner/name"), or the directory of a converted model.
    device: "auto", "cpu" or "cuda". compute_type: of CTranslate2, such as "int8" or "float16".
    language: a code such as "en"; None lets each decoding find out.
    download_root, local_files_only: the hub's cache, and whether only that is used.
    threads: of the processor a decoding uses; 0 takes four, or a core each.
    step_s: new sound that makes a new decoding worthwhile. workers: decodings at once.
    Raises ValueError for a model of English that is to hear another language.
    """

    model: str
    _: KW_ONLY
    device: str = "auto"
    compute_type: str = "default"
    language: str | None = "en"
    download_root: Path | None = None
    local_files_only: bool = False
    threads: int = 0
    step_s: float = 0.5
    workers: int = 1

    def __post_init__(self) -> None:
        if self.model.endswith(".en") and self.language not in ("en", None):
            told = f"model {self.model!r} knows English alone, and language is {self.language!r}"
            raise ValueError(f"{told}; allowed: a model without .en in its name")

        def load() -> LoadedModel:
            return LoadedModel(
                self.model,
                self.device,
                self.compute_type,
                self.language,
                self.download_root,
                self.local_files_only,
                self.threads,
                self.workers,
            )

        super().__init__("whisper", load, self.step_s, _MAX_S, self.workers)
