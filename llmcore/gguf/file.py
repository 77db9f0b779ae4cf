"""Reader of GGUF files: metadata and the places of tensors.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The gguf package's own reader takes nine
seconds for a vocabulary of 150,000 tokens, this one takes one. That package decodes quantized tensors.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmcore.engine import SetupError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""`struct` formats by GGUF's value types."""
_STRING, _ARRAY = 8, 9
_ALIGNMENT_BYTES = 32
_MAX_DIMENSIONS = 4


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """A tensor in the file. shape: outermost dimension first. kind: GGML's number of its data type."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset_bytes: int


class GgufFile:
    """An open GGUF file; weights are mapped, not loaded. Close it with `close`, or use it in a `with` block.

    Raises SetupError if the file is missing, truncated or in another format.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            why = getattr(error, "strerror", None) or error
            raise SetupError(f"{path}: cannot read this GGUF file: {why}") from error
        try:
            self._read_header()
        except (struct.error, UnicodeDecodeError, OverflowError, MemoryError) as error:
            self.close()
            raise SetupError(f"{path}: the GGUF file is truncated or damaged: {error}") from error
        except SetupError:
            self.close()
            raise

    def __enter__(self) -> GgufFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Unmap the file; a second call does nothing."""
        self._bytes.close()

    def value(self, key: str) -> Any:
        """Return a value of the metadata. Raises SetupError if it is missing."""
        if key not in self.metadata:
            raise SetupError(f"{self.path}: the GGUF file has no {key!r}")
        return self.metadata[key]

    def place(self, name: str) -> TensorPlace:
        """Return a tensor's place. Raises SetupError if there is none of this name."""
        if name not in self.tensors:
            raise SetupError(f"{self.path}: the GGUF file has no tensor {name!r}")
        return self.tensors[name]

    def tensor(self, name: str) -> NDArray[np.float32]:
        """Return a tensor as float32, whatever its quantization. Raises SetupError."""
        return self.rows(name)

    def rows(self, name: str, most: int | None = None) -> NDArray[np.float32]:
        """Return the first rows of a tensor as float32, all by default. Raises SetupError."""
        # optional packages: only conversion needs them
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType  # noqa: PLC0415
        from gguf.quants import dequantize  # noqa: PLC0415

        place = self.place(name)
        try:
            kind = GGMLQuantizationType(place.kind)
            block, block_bytes = GGML_QUANT_SIZES[kind]
            *outer, columns = place.shape
            if most is not None and outer:
                outer[0] = min(outer[0], most)
            row_bytes = columns // block * block_bytes
            begins = self._data_start + place.offset_bytes
            data = self._bytes[begins : begins + int(np.prod(outer, dtype=np.int64)) * row_bytes]
            decoded = dequantize(np.frombuffer(data, np.uint8).reshape(*outer, row_bytes), kind)
            return np.ascontiguousarray(decoded, np.float32)
        except (ValueError, KeyError, NotImplementedError) as error:
            raise SetupError(f"{self.path}: cannot decode the tensor {name!r}: {error}") from error

    def _read_header(self) -> None:
        if self._bytes[:4] != _MAGIC:
            raise SetupError(f"{self.path}: this is not a GGUF file: it begins with {self._bytes[:4]!r}")
        self._at = 4
        version = self._scalar("I")
        if version not in _VERSIONS:
            allowed = ", ".join(map(str, _VERSIONS))
            raise SetupError(f"{self.path}: GGUF version {version}, allowed: {allowed}")
        tensors, values = self._scalar("Q"), self._scalar("Q")
        self.metadata: dict[str, Any] = {}
        for _ in range(values):
            key = self._string()
            self.metadata[key] = self._value(self._scalar("I"))
        places = [self._place() for _ in range(tensors)]
        self.tensors = {place.name: place for place in places}
        alignment = int(self.metadata.get("general.alignment", _ALIGNMENT_BYTES)) or _ALIGNMENT_BYTES
        self._data_start = -(-self._at // alignment) * alignment

    def _scalar(self, kind: str) -> Any:
        (value,) = struct.unpack_from(f"<{kind}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{kind}")
        return value

    def _string(self) -> str:
        length = self._scalar("Q")
        if length > len(self._bytes) - self._at:
            raise SetupError(
                f"{self.path}: the GGUF file is truncated: a text of {length} bytes ends after it"
            )
        text = self._bytes[self._at : self._at + length].decode("utf-8")
        self._at += length
        return text

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._scalar(self._scalar_format(kind))
        inner, count = self._scalar("I"), self._scalar("Q")
        if count > len(self._bytes) - self._at:
            raise SetupError(f"{self.path}: the GGUF file is truncated within {count} values")
        if inner in (_STRING, _ARRAY):
            return [self._value(inner) for _ in range(count)]
        values = struct.unpack_from(f"<{count}{self._scalar_format(inner)}", self._bytes, self._at)
        self._at += struct.calcsize(f"<{count}{self._scalar_format(inner)}")
        return list(values)

    def _scalar_format(self, kind: int) -> str:
        if kind not in _SCALARS:
            raise SetupError(f"{self.path}: the GGUF file has values of an unknown type: {kind}")
        return _SCALARS[kind]

    def _place(self) -> TensorPlace:
        name, dimensions = self._string(), self._scalar("I")
        if dimensions > _MAX_DIMENSIONS:
            raise SetupError(f"{self.path}: the tensor {name!r} has {dimensions} dimensions")
        # GGUF lists the innermost dimension first
        shape = tuple(reversed([int(self._scalar("Q")) for _ in range(dimensions)]))
        return TensorPlace(name, shape, self._scalar("I"), self._scalar("Q"))
