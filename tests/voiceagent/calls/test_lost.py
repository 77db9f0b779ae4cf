"""The log of a lost process is ended by the process that detected the loss."""

from __future__ import annotations

import shutil
from pathlib import Path

from kept_folder import begin, keep_calls, store_of

from voiceagent.calls.lost import end_lost_log

WHY = "worker 0 was lost: the worker process died (killed by SIGKILL)"


def broken_off(folder: Path) -> Path:
    """Return the log of a killed process: it breaks off in the middle of a line."""
    kept = keep_calls(folder / "of the process")  # which holds its log as long as it lives
    begin(kept)
    kept.close()
    (day,) = (folder / "of the process").glob("*-*-*")
    shutil.copytree(day, folder / day.name)
    (log,) = (folder / day.name).rglob("log.jsonl")
    log.write_bytes(log.read_bytes() + b'{"n":99,"s":1')
    return log


def test_the_call_says_why_and_when_its_process_was_lost(tmp_path: Path):
    log = broken_off(tmp_path)
    began_s = float(log.read_text().split('"clock_s":')[1].split(",")[0])
    end_lost_log(tmp_path, "call_1", WHY, began_s + 60.0)
    keep_calls(tmp_path).close()
    (call,) = store_of(tmp_path).newest()
    assert call.state == "broken"
    assert (call.reason, call.seconds) == (WHY, 60.0)


def test_a_call_that_has_no_log_is_left_alone(tmp_path: Path):
    log = broken_off(tmp_path)
    written = log.read_bytes()
    end_lost_log(tmp_path, "call_2", WHY, 1.0)
    assert log.read_bytes() == written
