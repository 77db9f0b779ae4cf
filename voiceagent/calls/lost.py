"""The logs of calls whose process was lost: whoever saw it die writes into them when, and why, and reads what
was said until then.
"""

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
"""A process that was killed holds its logs until it has gone."""
_LOOK_S = 0.02


def end_lost_log(folder: Path, call_id: str, reason: str, clock_s: float) -> bytes:
    """Write into the log of a call that it was lost, behind its last whole line. Waits, `PATIENCE_S` at most;
    gives the log, b"" where there is none, or it was put away meanwhile. Raises OSError.

    folder: where calls are kept. clock_s: monotonic seconds when it was lost.
    """
    found = b""
    for log in folder.glob(f"*-*-*/{glob.escape(call_id)}/{LOG_NAME}"):
        file = _locked(log)
        if file is None:
            continue
        try:
            lines, torn, _ = os.pread(file, os.fstat(file).st_size, 0).rpartition(b"\n")
            if lines:  # else there is no header either
                found = lines + torn
                os.ftruncate(file, len(found))
                line = dumps(encode(CallLost(reason, clock_s), Inline())).encode() + b"\n"
                os.pwrite(file, line, len(found))
        finally:
            os.close(file)
    return found


def _locked(log: Path) -> int | None:
    """The log's descriptor once its process lets go of it; None where there is no log. Raises OSError."""
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
