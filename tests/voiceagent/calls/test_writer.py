"""The files of kept calls: complete, and readable up to the last second whatever happens to the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import wave
from pathlib import Path

import av
import numpy as np
import pytest
import zstandard
from call_settings import call_settings
from call_world import POLICY, RATE_HZ, CallWorld

from voiceagent.calls.files import open_locked
from voiceagent.calls.kept_call import MAX_FACT, MAX_WAITING, KeptCall, Losses, compress
from voiceagent.calls.log.entries import Fact
from voiceagent.calls.log.event_log import CallLog, read_log
from voiceagent.calls.replaying.replay import replay
from voiceagent.calls.summary import summarise
from voiceagent.calls.writer import MAX_OVER, CallWriter
from voiceagent.conversation import call_events
from voiceagent.conversation import events as ev

FRAME = np.arange(1, 481, dtype=np.int16)
"""20 ms at 24 kHz."""


class Written:
    """A writer whose calls' files can be waited for."""

    def __init__(self, folder: Path, record: str = "wav") -> None:
        self.folders: list[Path] = []
        self._finished = threading.Semaphore(0)
        self.writer = CallWriter(folder, record, "keep", Losses(), finished=self._finish)
        self.writer.start()

    def _finish(self, folder: Path) -> None:
        self.folders.append(folder)
        self._finished.release()

    def keep(self, call_id: str = "call_1", policy=POLICY) -> KeptCall:
        return self.writer.keep(call_id, call_settings(), policy, RATE_HZ)

    def wait(self) -> Path:
        assert self._finished.acquire(timeout=20)
        return self.folders[-1]


@pytest.fixture
def written(tmp_path: Path):
    made = Written(tmp_path)
    yield made
    made.writer.close()


def conversed(kept: KeptCall) -> None:
    world = CallWorld()
    world.feed(ev.CallStarted("Hello."))
    world.make("Hello.")
    world.say("is there a pool")
    world.make("Yes, there is.")
    for step in world.steps:
        kept.on_event(call_events.EventHandled(step.event, 1.0, step.ids, step.commands))


def log_in(folder: Path) -> CallLog:
    return read_log(zstandard.decompress((folder / "log.jsonl.zst").read_bytes()))


def test_a_call_that_is_over_has_a_log_that_replays(written: Written):
    kept = written.keep()
    conversed(kept)
    kept.on_event(call_events.CallEnded("the caller hung up", ()))
    folder = written.wait()
    assert folder.name == "call_1"
    assert [path.name for path in folder.iterdir()] == ["log.jsonl.zst"]
    log = log_in(folder)
    assert log.ended is not None
    assert log.ended.reason == "the caller hung up"
    assert log.records
    assert replay(log) is None


def test_both_sides_of_a_call_are_in_its_wav(written: Written):
    kept = written.keep()
    for index in range(50):
        kept.on_input_audio(FRAME, 24_000)
        if index == 9:
            for _ in range(3):
                kept.on_output_audio("resp_1", -FRAME, 24_000)
    kept.on_event(call_events.CallEnded("done", ()))
    with wave.open(str(written.wait() / "sound.wav")) as recording:
        assert (recording.getnchannels(), recording.getframerate()) == (2, 24_000)
        both = np.frombuffer(recording.readframes(recording.getnframes()), "<i2").reshape(-1, 2)
    assert np.array_equal(both[:, 0], np.tile(FRAME, 50))
    agent = both[:, 1].reshape(-1, 480)
    assert np.array_equal(agent[10:13], np.tile(-FRAME, (3, 1)))
    assert not np.delete(agent, slice(10, 13), axis=0).any()


def test_an_opus_recording_keeps_the_places(tmp_path: Path):
    written = Written(tmp_path, "opus")
    kept = written.keep()
    tone = (8_000 * np.sin(2 * np.pi * 440 * np.arange(480) / 24_000)).astype(np.int16)
    for index in range(150):
        kept.on_input_audio(tone if 50 <= index < 100 else np.zeros(480, np.int16), 24_000)
    kept.on_event(call_events.CallEnded("done", ()))
    folder = written.wait()
    written.writer.close()
    with av.open(str(folder / "sound.ogg")) as container:
        rate_hz = container.streams.audio[0].rate
        sound = np.concatenate([frame.to_ndarray() for frame in container.decode(audio=0)], axis=1)
    left = np.abs(sound[0])
    loud = np.flatnonzero(left > left.max() / 4)
    assert loud[0] / rate_hz == pytest.approx(1.0, abs=0.02)
    assert loud[-1] / rate_hz == pytest.approx(2.0, abs=0.02)
    assert len(left) / rate_hz == pytest.approx(3.0, abs=0.02)


def test_what_a_failing_disk_did_not_take_is_written_later(tmp_path: Path):
    in_the_way = tmp_path / "kept"
    in_the_way.write_text("not a folder")
    written = Written(in_the_way)
    kept = written.keep()
    conversed(kept)
    while not written.writer.losses.problem():
        pass
    assert str(in_the_way) in written.writer.losses.last
    in_the_way.unlink()
    kept.on_event(call_events.CallEnded("done", ()))
    assert replay(log_in(written.wait())) is None
    written.writer.close()


def test_a_call_that_ends_while_its_disk_fails_is_written_later(tmp_path: Path):
    in_the_way = tmp_path / "kept"
    in_the_way.write_text("not a folder")
    written = Written(in_the_way)
    kept = written.keep()
    conversed(kept)
    kept.on_event(call_events.CallEnded("done", ()))
    failures = written.writer.losses.failures
    while written.writer.losses.failures < failures + 4:  # rounds after its end
        pass
    assert not written.folders
    in_the_way.unlink()
    assert log_in(written.wait()).ended is not None
    assert written.writer.losses.records == 0
    written.writer.close()


def test_of_many_calls_that_wait_for_a_disk_the_oldest_are_lost(tmp_path: Path):
    in_the_way = tmp_path / "kept"
    in_the_way.write_text("not a folder")
    written = Written(in_the_way, "none")
    for number in range(MAX_OVER + 1):
        written.keep(f"call_{number}").on_event(call_events.CallEnded("done", ()))
    assert written.wait().name == "call_0"
    assert written.writer.losses.records == 2  # its header, and its end
    written.writer.close()
    assert len(written.folders) == 1


def test_events_for_which_there_is_no_room_are_counted_and_missing(tmp_path: Path):
    writer = CallWriter(tmp_path, "wav", "keep", Losses())  # not started yet: as if its disk hung
    kept = writer.keep("call_1", call_settings(), POLICY, RATE_HZ)
    for _ in range(MAX_WAITING + 10):
        kept.on_event(call_events.EventHandled(ev.CallerIdle(1.0), 1.0, (), ()))
    kept.on_input_audio(FRAME, 24_000)
    kept.on_event(call_events.CallEnded("done", ()))
    assert (writer.losses.records, writer.losses.sound_s) == (10, 0.02)
    writer.start()
    writer.close()
    (log,) = tmp_path.rglob("log.jsonl.zst")
    assert [record.number for record in log_in(log.parent).records] == list(range(1, MAX_WAITING + 1))


def test_recorder_that_raises_ends_its_files(written: Written):
    kept = written.keep()
    conversed(kept)
    with pytest.raises(AttributeError):
        kept.on_event(call_events.CallIdentified("CA12", None))  # type: ignore[arg-type]  # a fault
    summary = summarise(zstandard.decompress((written.wait() / "log.jsonl.zst").read_bytes()))
    assert (summary.reason, summary.lost) == ("the recorder failed; the log says why", False)


def test_of_what_a_line_tells_only_so_much_is_kept(written: Written):
    kept = written.keep()
    kept.on_event(
        call_events.CallIdentified("CA12", {f"{number}" * 1_000: "x" * 1_000 for number in range(10, 90)})
    )
    kept.on_event(call_events.CallEnded("done", ()))
    facts = summarise(zstandard.decompress((written.wait() / "log.jsonl.zst").read_bytes())).facts
    assert facts[0] == Fact("line_call", "CA12")
    assert facts[1:] == tuple(
        Fact((f"{number}" * 1_000)[:MAX_FACT], "x" * MAX_FACT) for number in range(10, 42)
    )


CALLING = """
import sys, time
import numpy as np
from pathlib import Path
from call_settings import call_settings
from call_world import POLICY, RATE_HZ
from voiceagent.calls.kept_call import Losses
from voiceagent.calls.writer import CallWriter
from voiceagent.conversation import events as ev
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation import call_events
writer = CallWriter(Path(sys.argv[1]), "wav", "keep", Losses())
writer.start()
kept = writer.keep("call_1", call_settings(), POLICY, RATE_HZ)
ids = []
conversation = Conversation(call_settings(), POLICY, RATE_HZ, lambda prefix: prefix + "_1")
for number in range(10**6):
    kept.on_input_audio(np.full(480, 1000, np.int16), 24_000)
    if number % 10 == 0:
        event = ev.VoiceNoticed(number / 50)
        kept.on_event(call_events.EventHandled(event, number / 50, [], conversation.handle(event)))
        print(number, flush=True)
    time.sleep(0.02)
"""


def test_a_process_that_is_killed_leaves_all_but_the_last_second(tmp_path: Path):
    support = Path(__file__).parents[2] / "support"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(support), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, "-c", CALLING, str(tmp_path)], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert process.stdout is not None
    last = 0
    while last < 100:
        last = int(process.stdout.readline())
    (log,) = tmp_path.rglob("log.jsonl")
    with pytest.raises(BlockingIOError):
        open_locked(log)  # the call goes on
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    last = int(rest.split()[-1]) if rest.split() else last
    os.close(open_locked(log))
    read = read_log(log.read_bytes())
    assert read.ended is None
    assert len(read.records) >= (last - 50) / 10
    assert replay(read) is None
    with wave.open(str(log.with_name("sound.wav"))) as recording:
        assert recording.getnframes() / 24_000 >= (last - 50) / 50
        sound = np.frombuffer(recording.readframes(recording.getnframes()), "<i2").reshape(-1, 2)
    assert (sound[:, 0] == 1000).all()


def test_a_log_that_cannot_be_put_away_in_its_folder_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("{}\n")
    (tmp_path / "log.jsonl.part").mkdir()  # neither written nor removed, as all in a folder that is read-only
    failed: list[OSError] = []
    compress(tmp_path / "log.jsonl", failed.append)
    assert len(failed) == 1
    assert (tmp_path / "log.jsonl").read_text() == "{}\n"
