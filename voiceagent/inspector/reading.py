"""What is read of kept calls for the inspector. All of it blocks, and runs in threads of its own, which let
the event loop in every few lines.
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

from voiceagent.calls.kept_call import LOG_NAME
from voiceagent.calls.librarian import Breath
from voiceagent.calls.log.event_log import LogError, read_log
from voiceagent.calls.log.timeline import Timeline
from voiceagent.calls.places import PlaceError, read_log_at
from voiceagent.calls.replaying.replay import CannotReplay, replay
from voiceagent.calls.rows import CallRow
from voiceagent.calls.store import CallStore
from voiceagent.upstream.replaying import replay_handler

THREADS = 4
CHUNK_BYTES = 1 << 19
"""What a follower reads of a log at once."""
MAX_REPLAY_BYTES = 1 << 20
"""Longest log that the server replays, of some minutes: the objects of an hour's held the event loop for
0.4 s while Python's garbage collector looked through them.
"""
T = TypeVar("T")


class Readers:
    """The threads."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "inspector")

    async def run(self, read: Callable[..., T], *what: Any) -> T:
        """What `read(*what)` gives."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, read, *what)

    async def pieces(self, made: Iterator[bytes]) -> AsyncIterator[bytes]:
        """What an iterator gives, each piece made when the one before is taken."""
        while (piece := await self.run(next, made, None)) is not None:
            yield piece


def shown(call: CallRow) -> dict[str, Any]:
    """A call as lists have it; where its files are is nobody's business."""
    fields = asdict(call)
    del fields["place"]
    fields["longest_wait_ms"] = round(1000 * fields.pop("longest_wait_s"), 1)
    return fields


def document(call: CallRow) -> bytes:
    """The whole of a call, as JSON. Raises LogError, PlaceError."""
    timeline = Timeline()
    try:
        data = read_log_at(call.place)
    except (LogError, PlaceError):
        if call.state != "running":
            raise
        data = b""  # it has only just begun
    _feed(timeline, _lines(data), Breath())
    return _told(call, timeline)


def replayed(call: CallRow, max_bytes: int = MAX_REPLAY_BYTES) -> dict[str, Any]:
    """What a replay of a call came to. Raises LogError, PlaceError, CannotReplay."""
    began_s, breathe, data = time.monotonic(), Breath(), read_log_at(call.place)
    if len(data) > max_bytes:
        long = f"its log has {len(data)} bytes; allowed here: {max_bytes}"
        raise CannotReplay(f"{long}; voiceagent replay {call.call_id} runs any")
    log = read_log(data, call.call_id, breathe)
    departure = replay(log, breathe, replay_handler)
    told = {"events": len(log.records), "seconds": round(time.monotonic() - began_s, 3)}
    if departure is None:
        return {"same": True, **told}
    return {"same": False, **told, "event": departure.number, "diff": departure.diff()}


class Follower:
    """Reads the log of a call that goes on, from its begin and as it grows."""

    def __init__(self, store: CallStore, call: CallRow) -> None:
        self._store = store
        self._call = call
        self._timeline = Timeline()
        self._read = 0
        self._half = b""  # of a line
        self.over = False
        """Nothing more comes."""

    def more(self) -> bytes:
        """What is new, as JSON; empty where nothing is. Raises LogError, PlaceError, StoreError."""
        data = self._more()
        if not data:
            return b""
        self._read += len(data)
        *lines, self._half = (self._half + data).split(b"\n")
        _feed(self._timeline, iter(lines), Breath())
        self.over = self._timeline.over
        return _told(self._call, self._timeline)

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
            self.over = True
        elif call.state != "running":
            self._call, self.over = call, True
            return read_log_at(call.place)[self._read :]
        return b""


def _feed(timeline: Timeline, lines: Iterator[bytes], breathe: Callable[[], None]) -> None:
    for line in lines:
        timeline.take(line)
        breathe()


def _told(call: CallRow, timeline: Timeline) -> bytes:
    """Item by item: a document of an hour made at once would hold the interpreter's lock for too long."""
    changes, breathe = timeline.changes(), Breath()
    changed = {"call": {**shown(call), **(changes.pop("call") or {})}}
    pieces = [_json(changed).removesuffix("}")]
    for kind, items in changes.items():
        made = []
        for item in items:
            made.append(_json(item))
            breathe()
        pieces.append(f'"{kind}":[{",".join(made)}]')
    return (",".join(pieces) + "}").encode("utf-8", "replace")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _lines(data: bytes) -> Iterator[bytes]:
    """The whole lines, each found when it is wanted."""
    begin = 0
    while (end := data.find(b"\n", begin)) >= 0:
        yield data[begin:end]
        begin = end + 1
