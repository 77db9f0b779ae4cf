"""Locations of the engines' weights. Loads nothing and contacts no hub."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voiceagent.weights.store import is_stored
from voiceagent.weights.table import known_weights

WEIGHT_FILES = ("*.safetensors", "*.bin", "*.onnx", "*.gguf", "*.pt")
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes per weight, by the type names of checkpoints."""
VOICE_CARD = "MODEL_CARD"
"""The file with the description of a Piper voice, as published; Piper's download saves it."""
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_WHISPER_SIZES = {
    "large-v3-turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
    "turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
    "large": "Systran/faster-whisper-large-v3",
}
"""Sizes whose models are not named `Systran/faster-whisper-SIZE`."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A configured model of an engine.

    key: of its table. folder: of its files, None if they are missing. looked_in: the searched folder.
    way_out: how to get them. pattern: names of its own files there. published: other place of its licence, if
    the folder does not state it.
    """

    key: str
    name: str
    folder: Path | None
    looked_in: Path
    way_out: str
    pattern: str = "*"
    published: str = ""

    def bytes(self) -> int:
        """Return the size of its weight files on disk; 0 if they are missing."""
        if self.folder is None:
            return 0
        found = {path for kind in WEIGHT_FILES for path in self.folder.glob(kind)}
        return sum(path.stat().st_size for path in found if path.match(self.pattern))

    def licence(self) -> str:
        """Return the licence stated in the folder: in the head of its README or in a Piper voice's card; that
        of downloaded weights; the folder's licence file; otherwise the places that were searched.
        """
        if self.folder is None:
            return ""
        readme = self.folder / "README.md"
        if readme.is_file():
            stated = re.search(r"^license(?:_name)?:\s*(\S+)", readme.read_text(errors="replace"), re.M)
            if stated:
                return stated[1]
        if of_voice := _licence_of_voice(self.folder / VOICE_CARD, self.pattern):
            return of_voice
        known = known_weights().get(self.folder.name)
        if known is not None and is_stored(known, self.folder.parent):
            return known.licence
        there = next((f"see {path.name}" for path in sorted(self.folder.glob("LICEN[SC]E*"))), "")
        elsewhere = f"; {self.published} states it" if self.published else ""
        return there or f"not stated there by README.md, {VOICE_CARD} or LICENSE{elsewhere}"


def _licence_of_voice(card: Path, voice: str) -> str:
    """Return the licence of a Piper voice's recordings from the card in its folder; "" if there is none, or
    it describes another voice. voice: the name of the voice's file.
    """
    text = card.read_text(errors="replace") if card.is_file() else ""
    named = re.search(r"^# Model card for (\S+) \((\w+)\)", text, re.M)
    stated = re.search(r"^\s*\* License:\s*(\S.*?)\s*$", text, re.M)
    if named is None or stated is None or not voice.endswith(f"-{named[1]}-{named[2]}.onnx"):
        return ""
    return f"{stated[1]}, as {card.name} says of its recordings"


def weights_of(engine: str, options: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[Weights]:
    """Yield the models of an engine. engine: short name. options: its arguments, with absolute paths."""
    if engine == "vllm":
        yield _of_hub("model", str(options.get("model", "")), hub_cache(environ))
        draft = (options.get("speculative") or {}).get("model")
        if draft:
            yield _of_hub("speculative.model", str(draft), hub_cache(environ))
    elif engine == "whisper":
        name = str(options.get("model", ""))
        if not Path(name).is_dir() and "/" not in name:
            name = _WHISPER_SIZES.get(name, f"Systran/faster-whisper-{name}")
        yield _of_hub("model", name, Path(options.get("download_root") or hub_cache(environ)))
    elif engine == "piper":
        yield _piper_voice(options, environ)
    else:
        for key in ("model", "voice"):
            value = options.get(key)
            if isinstance(value, str) and (path := Path(value)).exists():
                yield _of_path(key, value, path)


def hub_cache(environ: Mapping[str, str]) -> Path:
    """Return the folder of Hugging Face's cache, found as its own library does."""
    home = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    return Path(environ.get("HF_HUB_CACHE") or Path(environ.get("HF_HOME") or home) / "hub")


def loaded_bytes(weights: Weights, dtype: str, quantization: str | None) -> int:
    """Return a checkpoint's bytes loaded in `dtype` ("auto": its own), with 8 bits if quantized to "fp8"."""
    stored = weights.bytes()
    config = weights.folder / "config.json" if weights.folder is not None else None
    if config is None or not config.is_file():
        return stored
    document = json.loads(config.read_text(encoding="utf-8"))
    own = str(document.get("torch_dtype") or document.get("dtype") or "")
    wanted = own if dtype == "auto" else {"half": "float16", "float": "float32"}.get(dtype, dtype)
    if own not in BYTES or wanted not in BYTES or "quantization_config" in document:
        return stored
    width = 1 if quantization == "fp8" else BYTES[wanted]
    return stored * width // BYTES[own]


def _of_path(key: str, name: str, path: Path) -> Weights:
    """Return the weights in a folder, or those in one file."""
    if path.is_dir():
        return Weights(key, name, path, path, "")
    return Weights(key, name, path.parent, path.parent, "", path.name)


def _of_hub(key: str, name: str, cache: Path) -> Weights:
    """Find a model by folder, or by hub name in the hub's cache."""
    if Path(name).is_dir():
        return Weights(key, name, Path(name), Path(name), "")
    if not _HUB_NAME.fullmatch(name):
        return Weights(key, name, None, Path(name), "give a folder, or a name on the model hub")
    snapshots = cache / f"models--{name.replace('/', '--')}" / "snapshots"
    found = sorted(snapshots.glob("*"), key=lambda folder: folder.stat().st_mtime)
    whole = [folder for folder in found if any(list(folder.glob(kind)) for kind in WEIGHT_FILES)]
    way_out = f"`hf download {name}` where the hub can be reached; or give the folder of a copy"
    return Weights(key, name, whole[-1] if whole else None, cache, way_out)


def _piper_voice(options: Mapping[str, Any], environ: Mapping[str, str]) -> Weights:
    voice = str(options.get("voice", ""))
    data_home = Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    folder = Path(options.get("data_dir") or data_home / "piper-voices")
    path = Path(voice) if voice.endswith(".onnx") else folder / f"{voice}.onnx"
    there = path.is_file() and Path(f"{path}.json").is_file()
    download = f"`python -m piper.download_voices {voice} --download-dir {folder}`"
    way_out = f"{download}; or give the path of an .onnx file"
    published = f"the {VOICE_CARD} of this voice in rhasspy/piper-voices, on the model hub,"
    return Weights("voice", voice, path.parent if there else None, path.parent, way_out, path.name, published)


def offline(environ: Mapping[str, str]) -> bool:
    """Return True if the hub must not be contacted, so that missing models cannot be downloaded."""
    return environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
