"""Simulated calls, kept as a server keeps its calls: the inspector shows, plays and replays them.

A server's recorder works in real time, in a thread. Here a call is written by its own event loop, in virtual
time: a minute of it passes in seconds, which would fill the recorder's buffer.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import structlog

from voiceagent.calls.archiver import delete_call
from voiceagent.calls.files import OpusRecording
from voiceagent.calls.kept_call import CallFiles, KeptCall, Losses, call_folder
from voiceagent.calls.log.entries import Header
from voiceagent.calls.log.event_log import LogError
from voiceagent.calls.places import PlaceError, read_log_at, size_at
from voiceagent.calls.retention import Retention, expired
from voiceagent.calls.rows import CallFilter, CallRow, Cursor
from voiceagent.calls.store import CallStore, StoreError, sqlite_url
from voiceagent.calls.summary import summarise
from voiceagent.calls.writer import VERSIONS
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.publishing import Subscriptions
from voiceagent.session.services import Services

WRITE_S = 0.5
"""Interval of the writes, in seconds of the call."""
MAX_BYTES = 2 << 30
"""Size above which the oldest calls are deleted: an estimated twenty evals of the hotel."""
_NAME_CHARACTERS = 40
log = structlog.get_logger()


class RunStore(CallStore):
    """Calls of a folder. Their places are within it as it is found now: it may have been moved, or made by a
    command that ran in another directory.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(sqlite_url(folder))
        self._folder = folder

    def newest(self, limit: int | None = None) -> list[CallRow]:
        return [self._placed(call) for call in super().newest(limit)]

    def found(self, wanted: CallFilter, limit: int, behind: Cursor | None = None) -> list[CallRow]:
        return [self._placed(call) for call in super().found(wanted, limit, behind)]

    def get(self, call_id: str) -> CallRow | None:
        call = super().get(call_id)
        return None if call is None else self._placed(call)

    def _placed(self, call: CallRow) -> CallRow:
        return replace(call, place=str(call_folder(self._folder, call.call_id, call.started_at)))


class KeptRuns:
    """Keeps calls in a folder; several processes may share it. Raises StoreError, OSError."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.store = RunStore(folder)
        self.store.upgrade()

    def close(self) -> None:
        self.store.close()

    @asynccontextmanager
    async def keep(self, scenario: str, seed: int, services: Services) -> AsyncIterator[RunRecording]:
        """Yield the recording of a call, which is complete after the block.

        Failures are logged: they must not fail a run.
        """
        recording = RunRecording(self._folder, _new_call_id(scenario, seed), services)
        writing = asyncio.create_task(recording.write_often())
        try:
            yield recording
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            try:
                self._add(recording)
            except (StoreError, LogError, PlaceError, OSError) as error:
                log.error("call_not_kept", call=recording.call_id, error=str(error))

    def _add(self, recording: RunRecording) -> None:
        if (place := recording.finish()) is not None:
            summary = summarise(read_log_at(place), place)
            self.store.ended(summary, "broken" if summary.lost else "ended", place, size_at(place))


class RunRecording:
    """Recording of one call, on the clock of the running event loop."""

    def __init__(self, folder: Path, call_id: str, services: Services) -> None:
        self._folder = folder
        self.call_id = call_id
        self._services = services
        self._clock = asyncio.get_running_loop().time
        self._files: CallFiles | None = None

    def subscribe(self, settings: CallSettings) -> Subscriptions:
        """Return the recorder of a call that begins now."""
        policy, rate_hz = self._services.answering.policy, self._services.speaking.synthesizer.rate_hz
        now = time.time()
        header = Header(self.call_id, now, self._clock(), settings, policy, rate_hz, VERSIONS, "keep")
        losses = Losses()
        call = KeptCall(self._clock, losses)
        place = call_folder(self._folder, self.call_id, now)
        self._files = CallFiles(call, header, place, OpusRecording, losses)
        return Subscriptions((call,), call)

    async def write_often(self) -> None:
        """Write until cancelled."""
        while True:
            await asyncio.sleep(WRITE_S)
            if self._files is not None:
                self._files.write(self._clock())

    def finish(self) -> str | None:
        """Write the rest. Return the place of the files, None if the call has not begun."""
        if self._files is None:
            return None
        self._files.write(self._clock())
        if not self._files.finished:
            self._files.close()
        return str(self._files.folder)


def _new_call_id(scenario: str, seed: int) -> str:
    """Return an id for the call of a run that names its scenario."""
    name = re.sub(r"[^A-Za-z0-9_]+", "-", scenario)[:_NAME_CHARACTERS]
    return f"{name}-{seed}-{uuid4().hex[:8]}"


def delete_oldest(folder: Path, max_bytes: int = MAX_BYTES) -> None:
    """Delete the oldest calls of a folder above a total size. A failure is logged."""
    store = RunStore(folder)
    try:
        for call in expired(store.newest(), Retention(0, max_bytes), time.time()):
            delete_call(store, call.call_id, call.place)
    except (StoreError, PlaceError) as error:
        log.error("kept_calls_not_deleted", folder=str(folder), error=str(error))
    finally:
        store.close()
    for day in folder.glob("*-*-*"):
        with suppress(OSError):  # it has calls
            day.rmdir()
