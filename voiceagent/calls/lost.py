"""Logs of calls whose process was lost, ended by the supervisor."""

from __future__ import annotations

import glob
import os
import time
from pathlib import Path

from voiceagent.calls.files import lock_existing
from voiceagent.calls.kept_call import LOG_NAME
from voiceagent.calls.log.codec import Inline, dumps, encode
from voiceagent.calls.log.entries import CallLost

PATIENCE_S = 5.0
"""Time to wait for the lock of a killed process's log."""
_LOOK_S = 0.02


def end_lost_log(folder: Path, call_id: str, reason: str, clock_s: float) -> bytes:
    """Append `CallLost` to the log of a call after its last complete line. Return the log before that, b"" if
    there is none, or it was archived meanwhile. Waits for `PATIENCE_S` at most. Raises OSError.

    folder: of all kept calls. clock_s: monotonic seconds of the loss.
    """
    found = b""
    for log in folder.glob(f"*-*-*/{glob.escape(call_id)}/{LOG_NAME}"):
        file = _locked(log)
        if file is None:
            continue
        try:
            lines, torn, _ = os.pread(file, os.fstat(file).st_size, 0).rpartition(b"\n")
            if lines:  # otherwise there is no header either
                found = lines + torn
                os.ftruncate(file, len(found))
                line = dumps(encode(CallLost(reason, clock_s), Inline())).encode() + b"\n"
                os.pwrite(file, line, len(found))
        finally:
            os.close(file)
    return found


def _locked(log: Path) -> int | None:
    """Return the log's descriptor once its process has released it; None without a log. Raises OSError."""
    give_up_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return lock_existing(log)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            if time.monotonic() >= give_up_s:
                raise
            time.sleep(_LOOK_S)
