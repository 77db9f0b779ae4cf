"""Whisper through faster-whisper: many sizes and languages, CPU or GPU."""

from __future__ import annotations

from pathlib import Path

from audio.recognizers.redecoding import RedecodingRecognizer
from audio.recognizers.whisper_model import LoadedModel

_MAX_S = 20.0
"""Whisper hears 30 s at once."""


class WhisperRecognizer(RedecodingRecognizer):
    """Whisper on a growing window of each utterance.

    model: a size ("base.en"), a name on the hub ("owner/name"), or the directory of a converted model.
    device: "auto", "cpu" or "cuda". compute_type: of CTranslate2, such as "int8" or "float16".
    language: a code such as "en"; None lets each decoding find out.
    download_root, local_files_only: the hub's cache, and whether only that is used.
    threads: of the processor a decoding uses; 0 takes four, or a core each.
    step_s: new sound that makes a new decoding worthwhile. workers: decodings at once.
    """

    def __init__(  # noqa: PLR0913 - each a key of the engine's table in a config
        self,
        model: str,
        *,
        device: str = "auto",
        compute_type: str = "default",
        language: str | None = "en",
        download_root: Path | None = None,
        local_files_only: bool = False,
        threads: int = 0,
        step_s: float = 0.5,
        workers: int = 1,
    ) -> None:
        def load() -> LoadedModel:
            return LoadedModel(
                model, device, compute_type, language, download_root, local_files_only, threads, workers
            )

        super().__init__("whisper", load, step_s, _MAX_S, workers)
