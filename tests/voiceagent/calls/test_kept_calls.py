"""Kept calls: after any crash or failure each has its true state."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pytest
from kept_folder import begin, keep_calls, keep_one, store_of, until
from postgres_server import postgres_server
from structlog.testing import capture_logs

from voiceagent.calls import archiver
from voiceagent.calls.archiver import WRITTEN_S, delete_call
from voiceagent.calls.log.event_log import read_log
from voiceagent.calls.places import read_log_at
from voiceagent.calls.replaying.replay import replay
from voiceagent.calls.store import CallStore, StoreError, sqlite_url
from voiceagent.conversation import call_events


def test_a_call_that_is_over_is_on_record(tmp_path: Path):
    keep_one(tmp_path)
    (call,) = store_of(tmp_path).newest()
    assert (call.call_id, call.state, call.reason) == ("call_1", "ended", "the caller hung up")
    assert replay(read_log(read_log_at(call.place))) is None
    assert call.size_bytes > 0


def test_a_call_that_goes_on_is_on_record_as_running(tmp_path: Path):
    kept = keep_calls(tmp_path)
    begin(kept)
    until(lambda: (tmp_path / "calls.db").exists() and store_of(tmp_path).get("call_1"))
    assert store_of(tmp_path).newest()[0].state == "running"
    kept.close()


CALLING = """
import sys, time
from voiceagent.conversation import call_events
from pathlib import Path
from kept_folder import begin, keep_calls
kept = keep_calls(Path(sys.argv[1]))
begin(kept)
time.sleep(1.5)
print("written", flush=True)
time.sleep(60)
"""


def test_a_call_whose_process_was_killed_is_broken_at_the_next_start(tmp_path: Path):
    support = Path(__file__).parents[2] / "support"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(support), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, "-c", CALLING, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"written\n"
    beside = keep_calls(tmp_path)  # a server that starts beside it leaves the call alone
    beside.close()
    assert store_of(tmp_path).newest()[0].state == "running"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    keep_calls(tmp_path).close()
    (call,) = store_of(tmp_path).newest()
    assert (call.state, call.reason, call.responses) == ("broken", None, 0)
    log = read_log(read_log_at(call.place))
    assert len(log.records) > 10
    assert replay(log) is None


def test_a_call_that_left_no_file_is_broken_unless_it_has_just_begun(tmp_path: Path):
    keep_calls(tmp_path).close()
    store, now = store_of(tmp_path), time.time()
    store.began("call_1", now - 2 * WRITTEN_S, str(tmp_path / "2026-11-25" / "call_1"))
    store.began("call_2", now, str(tmp_path / "2026-11-25" / "call_2"))
    keep_calls(tmp_path).close()
    assert {call.call_id: call.state for call in store.newest()} == {"call_1": "broken", "call_2": "running"}


def test_a_log_that_has_just_been_made_is_left_to_its_writer(tmp_path: Path):
    made = tmp_path / "2026-11-25" / "call_1" / "log.jsonl"
    made.parent.mkdir(parents=True)
    made.touch()
    keep_calls(tmp_path).close()
    assert [path.name for path in made.parent.iterdir()] == ["log.jsonl"]


def test_a_database_that_comes_back_learns_of_the_calls(tmp_path: Path):
    with postgres_server(started=False) as server:
        kept = keep_calls(tmp_path, database=server.url)
        until(kept.problem)
        assert "refused" in kept.problem()
        begin(kept).on_event(call_events.CallEnded("done", ()))
        server.start()
        store = CallStore(server.url)
        until(lambda: not kept.problem())
        until(lambda: [call.state for call in store.newest()] == ["ended"])
        store.close()
        kept.close()


def test_a_database_that_does_not_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    answers = threading.Event()
    monkeypatch.setattr(archiver, "HANGS_S", 0.1)
    monkeypatch.setattr(CallStore, "began", lambda *_: answers.wait(30))
    kept = keep_calls(tmp_path)
    call = begin(kept)
    until(kept.problem)
    assert kept.problem() == "database or storage has not answered for 0 s; 1 wait"
    answers.set()
    until(lambda: not kept.problem())
    call.on_event(call_events.CallEnded("the caller hung up", ()))
    kept.close()


def test_calls_unknown_to_the_database_are_found_at_start(tmp_path: Path):
    keep_one(tmp_path)
    (tmp_path / "calls.db").unlink()
    keep_calls(tmp_path).close()
    assert [call.call_id for call in store_of(tmp_path).newest()] == ["call_1"]


def test_files_go_to_the_storage_when_the_call_is_over(tmp_path: Path):
    keep_one(tmp_path, storage="memory://calls")
    (call,) = store_of(tmp_path).newest()
    assert call.place.startswith("memory://calls/")
    assert replay(read_log(read_log_at(call.place))) is None
    assert not list(tmp_path.rglob("log*"))
    delete_call(store_of(tmp_path), call.call_id, call.place)
    assert not fsspec.filesystem("memory").find("/calls")


def test_where_files_went_is_told_to_a_database_that_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tell, failures = CallStore.ended, [StoreError("gone for a moment")]

    def ended(store: CallStore, *told: object) -> None:
        if failures:
            raise failures.pop()
        tell(store, *told)

    monkeypatch.setattr(CallStore, "ended", ended)
    kept = keep_calls(tmp_path, storage="memory://back")
    begin(kept).on_event(call_events.CallEnded("done", ()))
    until(lambda: not failures)
    until(lambda: [call.place for call in store_of(tmp_path).newest() if call.state == "ended"])
    kept.close()
    assert store_of(tmp_path).newest()[0].place.startswith("memory://back/")


def test_files_wait_in_the_folder_while_the_storage_fails(tmp_path: Path):
    storage = tmp_path / "storage"
    storage.write_text("in the way")
    kept = keep_calls(tmp_path / "kept", storage=f"file://{storage}")
    begin(kept).on_event(call_events.CallEnded("done", ()))
    until(kept.problem)
    assert list((tmp_path / "kept").rglob("log.jsonl.zst"))
    storage.unlink()
    until(lambda: list(storage.rglob("log.jsonl.zst")))
    kept.close()
    assert not list((tmp_path / "kept").rglob("log*"))


def test_calls_that_are_too_old_are_deleted_with_all_that_was_theirs(tmp_path: Path):
    keep_one(tmp_path)
    (call,) = store_of(tmp_path).newest()
    keep_calls(tmp_path, keep_days=1e-9).close()
    assert not store_of(tmp_path).newest()
    assert {path.name for path in tmp_path.iterdir()} <= {"calls.db", "calls.db-wal", "calls.db-shm"}
    traces = [path for path in tmp_path.iterdir() if call.call_id.encode() in path.read_bytes()]
    assert not traces


def test_no_call_is_deleted_as_soon_as_the_clock_is_set_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ahead_s, looks = [0.0], []

    def clock() -> float:
        looks.append(ahead_s[0])
        return time.time() + ahead_s[0]

    times = SimpleNamespace(time=clock, monotonic=time.monotonic, sleep=time.sleep)
    monkeypatch.setattr(archiver, "time", times)
    monkeypatch.setattr(archiver, "DELETE_INTERVAL_S", 0.05)
    keep_one(tmp_path)
    looks.clear()
    with capture_logs() as told:
        kept = keep_calls(tmp_path, keep_days=30)
        until(lambda: looks)
        ahead_s[0] = 40 * 86_400.0
        until(lambda: not store_of(tmp_path).newest())
        kept.close()
    assert [line["event"] for line in told] == ["clock_set_forward", "kept_call_deleted"]


def test_calls_are_on_record_again_where_the_folder_was_removed_meanwhile(tmp_path: Path):
    kept = keep_calls(tmp_path / "kept")
    begin(kept, "call_1").on_event(call_events.CallEnded("done", ()))
    until(lambda: list((tmp_path / "kept").rglob("log.jsonl.zst")))
    until(lambda: [call.state for call in store_of(tmp_path / "kept").newest()] == ["ended"])
    shutil.rmtree(tmp_path / "kept")
    begin(kept, "call_2").on_event(call_events.CallEnded("done", ()))
    until((tmp_path / "kept" / "calls.db").exists)
    kept.close()
    assert [(call.call_id, call.state) for call in store_of(tmp_path / "kept").newest()] == [
        ("call_2", "ended")
    ]


def test_the_store_of_a_folder_that_is_gone_begins_anew(tmp_path: Path):
    keep_one(tmp_path / "kept")
    shutil.rmtree(tmp_path / "kept")
    keep_one(tmp_path / "kept", "call_2")
    assert [call.call_id for call in CallStore(sqlite_url(tmp_path / "kept")).newest()] == ["call_2"]
