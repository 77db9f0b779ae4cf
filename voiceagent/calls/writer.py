"""Writing of a process's kept calls in one thread, so that no call waits for a disk."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from voiceagent import __version__
from voiceagent.calls.files import OpusRecording, WavRecording
from voiceagent.calls.kept_call import CallFiles, KeptCall, Losses, call_folder
from voiceagent.calls.log.entries import Header
from voiceagent.calls.log.texts import Words
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy

ROUND_S = 0.5
"""Interval at which all calls are written; at most this much is lost when the process dies."""
BURST_S, PAUSE_S = 0.001, 0.0002
"""Alternating work and rest of the thread, which leaves the GIL to the event loop."""
MAX_OVER = 64
"""Maximum ended calls with unwritten data, a megabyte each at most; beyond, the oldest data is dropped."""
END_S = 10.0
"""Time for the last writes at shutdown."""

RECORDINGS = {"wav": WavRecording, "opus": OpusRecording, "none": None}

log = structlog.get_logger()


class CallWriter:
    """Records the calls of one process in a folder.

    record: "wav", "opus" or "none". words: policy for texts. losses: counts data that could not be written.
    began: called for every call with its folder, on the caller's thread; finished: when its files are
    complete, on the writer's.
    """

    def __init__(
        self,
        folder: Path,
        record: str,
        words: Words,
        losses: Losses,
        began: Callable[[Header, Path], None] = lambda header, folder: None,
        finished: Callable[[Path], None] = lambda folder: None,
    ) -> None:
        self._folder = folder
        self._recording = RECORDINGS[record]
        self._words = words
        self._began = began
        self._finished = finished
        self.losses = losses
        self._calls: list[CallFiles] = []
        self._ending = threading.Event()
        self._round_at_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="keep calls", daemon=True)

    def start(self) -> None:
        self._round_at_s = time.monotonic()
        self._thread.start()

    def keep(self, call_id: str, settings: CallSettings, policy: TurnPolicy, rate_hz: int) -> KeptCall:
        """Record a call that begins now; the arguments are those of its conversation."""
        header = Header(
            call_id, time.time(), time.monotonic(), settings, policy, rate_hz, VERSIONS, self._words
        )
        call = KeptCall(time.monotonic, self.losses)
        folder = call_folder(self._folder, call_id, header.started_at)
        self._calls.append(CallFiles(call, header, folder, self._recording, self.losses))
        self._began(header, folder)
        return call

    def stalled(self, clock_s: float, lag_s: float) -> None:
        """Record a stall of the event loop in all running calls."""
        for files in list(self._calls):
            files.call.stalled(clock_s, lag_s)

    def close(self) -> None:
        """Write queued data, and stop; running calls are left as they are."""
        self._ending.set()
        self._thread.join(END_S)

    @property
    def behind_s(self) -> float:
        """Delay of the last complete round of writes."""
        return max(0.0, time.monotonic() - self._round_at_s - 2 * ROUND_S)

    def _run(self) -> None:
        while not self._ending.wait(ROUND_S):
            self._write_all()
        self._write_all()

    def _write_all(self) -> None:
        now_s = worked_since_s = time.monotonic()
        surplus = sum(call.over for call in self._calls) - MAX_OVER
        for call in list(self._calls):
            try:
                call.write(now_s)
                if call.over and not call.finished and surplus > 0:
                    surplus -= 1
                    call.close()
            except Exception as error:  # a bug must not end the writing of other calls
                self.losses.failed(error)
                log.error("call_not_kept", call=call.header.call_id, exc_info=error)
                call.finished = True
            if call.finished:
                self._calls.remove(call)
                self._finished(call.folder)
            if time.monotonic() - worked_since_s > BURST_S:
                time.sleep(PAUSE_S)
                worked_since_s = time.monotonic()
        self._round_at_s = now_s


VERSIONS = {"voiceagent": __version__, "python": platform.python_version()}
