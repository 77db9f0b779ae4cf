"""Kept calls of an eval: the inspector has them, with the seconds of the run's record."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from kept_eval import kept_call

from voiceagent.calls.log.event_log import read_log
from voiceagent.calls.places import names_at, read_log_at
from voiceagent.calls.replaying.replay import replay
from voiceagent.calls.rows import CallFilter
from voiceagent.evals.kept_runs import KeptRuns, delete_oldest
from voiceagent.inspector.reading import document

pytestmark = pytest.mark.skipif(find_spec("espeakng_loader") is None, reason="make install")


def test_a_run_is_kept_with_recording_turns_and_its_times(tmp_path: Path) -> None:
    record = kept_call(tmp_path, tmp_path / "calls")
    kept = KeptRuns(tmp_path / "calls")
    (call,) = kept.store.newest()
    kept.close()
    (turn,) = json.loads(document(call))["turns"]
    assert call.call_id == record.call_id
    assert call.call_id.startswith("two-tunas-1-")
    assert call.state == "ended"
    assert call.seconds == pytest.approx(record.seconds, abs=0.1)
    assert {"sound.ogg", "peaks"} <= set(names_at(call.place))
    assert turn["began_s"] == pytest.approx(record.said[0].begin_s, abs=0.3)


def test_a_kept_run_replays_to_the_same_decisions(tmp_path: Path) -> None:
    record = kept_call(tmp_path, tmp_path / "calls")
    kept = KeptRuns(tmp_path / "calls")
    call = kept.store.get(record.call_id)
    kept.close()
    assert call is not None
    assert replay(read_log(read_log_at(call.place), call.call_id)) is None


def test_the_oldest_calls_are_deleted_above_a_size(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    first, second = kept_call(tmp_path, calls, 1), kept_call(tmp_path, calls, 2)
    kept = KeptRuns(calls)
    newest, oldest = kept.store.newest()
    assert (newest.call_id, oldest.call_id) == (second.call_id, first.call_id)
    delete_oldest(calls, newest.size_bytes)
    assert [call.call_id for call in kept.store.newest()] == [second.call_id]
    kept.close()
    assert not Path(oldest.place).exists()
    assert Path(newest.place).exists()


def test_calls_of_a_folder_that_was_moved_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record = kept_call(tmp_path, Path("calls"))
    moved = Path("calls").rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    kept = KeptRuns(moved)
    found = [kept.store.get(record.call_id), *kept.store.newest(), *kept.store.found(CallFilter(), 10)]
    kept.close()
    assert len(found) == 3
    for call in found:
        assert call is not None
        assert "sound.ogg" in names_at(call.place)
    delete_oldest(moved, 1)
    assert list(moved.glob("*-*-*")) == []
