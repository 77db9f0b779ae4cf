"""Export of a kept call as a zip, generated while it is read, as a recording may be of any length."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from io import RawIOBase
from typing import Any

from voiceagent.calls.kept_call import LOG_NAME, RECORDING_NAME
from voiceagent.calls.places import PIECE_BYTES, names_at, pieces_at, read_log_at
from voiceagent.calls.rows import CallRow
from voiceagent.calls.store import CallStore


def export(store: CallStore, call: CallRow) -> Iterator[bytes]:
    """Yield the zip in pieces: store's data, log, recording. Raises StoreError, PlaceError, LogError."""
    shown = {**asdict(call), "responses": [asdict(turn) for turn in store.turns_of(call.call_id)]}
    shown["tools"] = [asdict(tool) for tool in store.tools_of(call.call_id)]
    log = read_log_at(call.place)
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("call.json", json.dumps(shown, indent=2))
        with archive.open(LOG_NAME, "w", force_zip64=True) as file:
            for at in range(0, len(log), PIECE_BYTES):
                file.write(log[at : at + PIECE_BYTES])
                yield sink.pop_written()
        for name in names_at(call.place):
            if name.startswith(RECORDING_NAME):
                stored = zipfile.ZipInfo(name)  # audio hardly compresses
                with archive.open(stored, "w", force_zip64=True) as file:
                    for piece in pieces_at(call.place, name):
                        file.write(piece)
                        yield sink.pop_written()
    yield sink.pop_written()


class _Sink(RawIOBase):
    """Write-only, unseekable target of the zip."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        """Return True; reading and seeking are not supported."""
        return True

    def write(self, data: Any, /) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def pop_written(self) -> bytes:
        """Return and clear the data written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
