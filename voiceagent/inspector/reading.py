"""Blocking reads of kept calls for the inspector. They run in their own threads and release the GIL every few
lines for the event loop.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from voiceagent.calls.archiver import GilYield
from voiceagent.calls.kept_call import LOG_NAME
from voiceagent.calls.log.event_log import LogError, read_log
from voiceagent.calls.log.timeline import Timeline
from voiceagent.calls.places import PlaceError, read_log_at
from voiceagent.calls.replaying.replay import CannotReplay, replay
from voiceagent.calls.rows import CallRow
from voiceagent.calls.store import CallStore
from voiceagent.upstream.replaying import replay_handler

THREADS = 4
CHUNK_BYTES = 1 << 19
"""Bytes that a follower reads from a log at a time."""
MAX_REPLAY_BYTES = 1 << 20
"""Largest log that the server replays, some minutes of a call. Replaying the log of an hour created so many
objects that garbage collection held the event loop for 0.4 s.
"""
T = TypeVar("T")


class Readers:
    """Thread pool for blocking reads."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "inspector")

    async def run(self, read: Callable[..., T], *what: Any) -> T:
        """Run `read(*what)` in the thread pool and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, read, *what)

    async def pieces(self, made: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the values of a blocking iterator, each computed when requested."""
        while (piece := await self.run(next, made, None)) is not None:
            yield piece


def shown(call: CallRow) -> dict[str, Any]:
    """Return the fields of a call for lists, without the location of its files."""
    fields = asdict(call)
    del fields["place"]
    longest_s = fields.pop("longest_wait_s")
    fields["longest_wait_ms"] = None if longest_s is None else round(1000 * longest_s, 1)
    return fields


def document(call: CallRow) -> bytes:
    """Return the timeline of a call as JSON. Raises LogError, PlaceError."""
    timeline = Timeline()
    try:
        data = read_log_at(call.place)
    except (LogError, PlaceError):
        if call.state != "running":
            raise
        data = b""  # it has only just begun
    _feed(timeline, _lines(data), GilYield())
    return _changes_json(call, timeline)


def replayed(call: CallRow, max_bytes: int = MAX_REPLAY_BYTES) -> dict[str, Any]:
    """Replay a call and return the result. Raises LogError, PlaceError, CannotReplay."""
    began_s, yield_gil, data = time.monotonic(), GilYield(), read_log_at(call.place)
    if len(data) > max_bytes:
        long = f"its log has {len(data)} bytes; allowed here: {max_bytes}"
        raise CannotReplay(f"{long}; voiceagent replay {call.call_id} runs any")
    log = read_log(data, call.call_id, yield_gil)
    departure = replay(log, yield_gil, replay_handler)
    changed = {"events": len(log.records), "seconds": round(time.monotonic() - began_s, 3)}
    if departure is None:
        return {"same": True, **changed}
    return {"same": False, **changed, "event": departure.number, "diff": departure.diff()}


class Follower:
    """Incremental reader of the log of a running call."""

    def __init__(self, store: CallStore, call: CallRow) -> None:
        self._store = store
        self._call = call
        self._timeline = Timeline()
        self._read = 0
        self._half = b""  # incomplete last line
        self.has_ended = False
        """True once the log is complete or deleted."""

    def more(self) -> bytes:
        """Return the changes since the last call as JSON, or b"". Raises LogError, PlaceError, StoreError."""
        data = self._more()
        if not data:
            return b""
        self._read += len(data)
        *lines, self._half = (self._half + data).split(b"\n")
        _feed(self._timeline, iter(lines), GilYield())
        self.has_ended = self._timeline.has_ended
        return _changes_json(self._call, self._timeline)

    def _more(self) -> bytes:
        try:
            with (Path(self._call.place) / LOG_NAME).open("rb") as log:
                log.seek(self._read)
                if data := log.read(CHUNK_BYTES):
                    return data
        except FileNotFoundError:
            pass
        call = self._store.get(self._call.call_id)
        if call is None:  # deleted
            self.has_ended = True
        elif call.state != "running":
            self._call, self.has_ended = call, True
            return read_log_at(call.place)[self._read :]
        return b""


def _feed(timeline: Timeline, lines: Iterator[bytes], yield_gil: Callable[[], None]) -> None:
    for line in lines:
        timeline.add_line(line)
        yield_gil()


def _changes_json(call: CallRow, timeline: Timeline) -> bytes:
    """Return the timeline's changes as JSON. Item by item: an hour at once would hold the GIL too long."""
    changes, yield_gil = timeline.changes(), GilYield()
    changed = {"call": {**shown(call), **(changes.pop("call") or {})}}
    pieces = [_json(changed).removesuffix("}")]
    for kind, items in changes.items():
        made = []
        for item in items:
            made.append(_json(item))
            yield_gil()
        pieces.append(f'"{kind}":[{",".join(made)}]')
    return (",".join(pieces) + "}").encode("utf-8", "replace")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _lines(data: bytes) -> Iterator[bytes]:
    """Yield the complete lines, each found on demand."""
    begin = 0
    while (end := data.find(b"\n", begin)) >= 0:
        yield data[begin:end]
        begin = end + 1
