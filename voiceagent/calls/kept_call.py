"""Recording of one call: a buffer for its session's notifications, and its files."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import zstandard

from audio.pcm import Samples
from voiceagent.calls.files import AppendedFile, OpusRecording, PeaksFile, WavRecording
from voiceagent.calls.log.entries import (
    CallEnded,
    CallIdentified,
    Entry,
    Fact,
    Header,
    HeardText,
    LoopStalled,
    Record,
    RecordingBegan,
    fault_name,
    heard_texts,
)
from voiceagent.calls.log.event_log import LogWriter
from voiceagent.calls.log.placement import Frame, Placement
from voiceagent.conversation import call_events
from voiceagent.conversation.call_events import (
    CallEvent,
    EventHandled,
    MessagePlayed,
    ResponseDone,
    ResponseStopped,
)
from voiceagent.conversation.events import SettingsChanged
from voiceagent.conversation.settings import CallSettings

MAX_WAITING = 1_000
"""Maximum queued audio frames and events of one call, five seconds; more are dropped."""
MAX_STOPS = 100
"""Further cuts of playout that are queued, as a recording without them has audio that was not played."""
MAX_FACTS, MAX_FACT = 32, 256
"""Maximum parameters of a phone call that are kept, and characters of each: anybody may send them."""
RECENT_S = 3.0
"""Time for which an error counts as current."""
LOG_NAME, RECORDING_NAME, PEAKS_NAME = "log.jsonl", "sound", "peaks"


@dataclass(slots=True)
class Losses:
    """Data of all calls not written since the process began. last: the newest error, and its time."""

    records: int = 0
    sound_s: float = 0.0
    failures: int = 0
    last: str = ""
    last_at_s: float = -math.inf

    def failed(self, error: Exception) -> None:
        """Count an error of a file or of the store."""
        self.failures += 1
        self.last, self.last_at_s = f"{type(error).__name__}: {error}", time.monotonic()

    def problem(self) -> str:
        """Return the error of a recent attempt to write, "" if there is none."""
        return self.last if time.monotonic() - self.last_at_s < RECENT_S else ""


_Queued = Frame | ResponseStopped | Entry


class KeptCall:
    """Recorder of one call: buffers its events and audio for the writer. clock: monotonic seconds.

    waiting: the buffer, of at most `MAX_WAITING` entries, `MAX_STOPS` more cuts of playout, and the end.
    """

    def __init__(self, clock: Callable[[], float], losses: Losses) -> None:
        self.waiting: deque[_Queued] = deque()
        self._clock = clock
        self._losses = losses
        self._number = 0
        self._dropped: dict[str, int] = {}  # samples dropped for lack of room, by response

    def on_event(self, event: CallEvent) -> None:
        try:
            if isinstance(event, EventHandled):  # nearly all; `match` would cost more than the rest
                self._record(event)
            else:
                self._queue_event(event)
        except Exception:
            # no further event arrives: without an end the writer would keep the call's files open
            self.waiting.append(
                CallEnded("the recorder failed; the log says why", self._clock(), end_code="server_error")
            )
            raise

    def _queue_event(self, event: CallEvent) -> None:
        match event:
            case ResponseDone(report):
                self._queue(report)
            case MessagePlayed(message):
                self._queue(HeardText(message.item_id, message.text))
            case ResponseStopped():
                self._queue(event, MAX_WAITING + MAX_STOPS)
            case call_events.CallIdentified(line_call, parameters):
                known = islice(parameters.items(), MAX_FACTS)
                facts = tuple(Fact(name[:MAX_FACT], value[:MAX_FACT]) for name, value in known)
                self._queue(CallIdentified(line_call[:MAX_FACT], facts))
            case call_events.CallEnded(reason, history, code):
                self.waiting.append(CallEnded(reason, self._clock(), heard_texts(history), code))
            case call_events.CallBegan() | call_events.AudioStarted():
                pass  # the log has them as events

    def on_input_audio(self, samples: Samples, rate_hz: int, begins_ago_s: float = 0.0) -> None:
        """See `AudioRecorder`. Dropped audio is recorded as silence, so that the timing is kept."""
        if self._dropped or len(self.waiting) >= MAX_WAITING:
            self._queue_audio_after_loss("", samples, rate_hz)
        else:
            self.waiting.append((self._clock() - begins_ago_s, "", samples, rate_hz))

    def on_output_audio(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        if self._dropped or len(self.waiting) >= MAX_WAITING:
            self._queue_audio_after_loss(response_id, frame, rate_hz)
        else:
            self.waiting.append((self._clock(), response_id, frame, rate_hz))

    def stalled(self, clock_s: float, lag_s: float) -> None:
        """Record that the event loop woke `lag_s` too late."""
        self._queue(LoopStalled(clock_s, lag_s))

    def _record(self, handled: EventHandled) -> None:
        """Queue an event. Every event has a number, so that the log shows gaps."""
        self._number += 1
        fault = "" if handled.fault is None else fault_name(handled.fault)
        event, received_s = handled.event, handled.received_s
        record = Record(self._number, self._clock(), received_s, event, handled.ids, handled.commands, fault)
        self._queue(record)

    def _queue_audio_after_loss(self, response_id: str, samples: Samples, rate_hz: int) -> None:
        if len(self.waiting) >= MAX_WAITING:
            self._losses.sound_s += len(samples) / rate_hz
            self._dropped[response_id] = self._dropped.get(response_id, 0) + len(samples)
            return
        clock_s = self._clock()
        if dropped := self._dropped.pop(response_id, 0):
            self.waiting.append((clock_s, response_id, np.zeros(dropped, np.int16), rate_hz))
        self.waiting.append((clock_s, response_id, samples, rate_hz))

    def _queue(self, entry: ResponseStopped | Entry, limit: int | None = None) -> None:
        if len(self.waiting) < (MAX_WAITING if limit is None else limit):
            self.waiting.append(entry)
        else:
            self._losses.records += 1


@dataclass(slots=True)
class CallFiles:
    """Files of one call, used only on the writer's thread. folder: of the call.

    recording: format of the audio. over: the call has ended. finished: it has ended and its files are closed.
    """

    call: KeptCall
    header: Header
    folder: Path
    recording: type[WavRecording] | type[OpusRecording] | None
    losses: Losses
    over: bool = field(default=False, init=False)
    finished: bool = field(default=False, init=False)
    _settings: CallSettings = field(init=False)
    _lines: LogWriter = field(init=False)
    _log: AppendedFile = field(init=False)
    _sound: Placement | None = field(default=None, init=False)
    _recording: WavRecording | OpusRecording | None = field(default=None, init=False)
    _peaks: PeaksFile | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._settings = self.header.settings
        self._lines = LogWriter(self.header.words)
        self._log = AppendedFile(self.folder / LOG_NAME, self.losses.failed)
        self._log.append(self._lines.header(self.header))

    def write(self, clock_s: float) -> None:
        """Write the queued data. Files of a call that is over stay open until its log is written."""
        waiting = self.call.waiting
        frames: list[Frame] = []  # consecutive
        for _ in range(len(waiting)):
            queued = waiting.popleft()
            if isinstance(queued, tuple):  # nearly all are audio
                frames.append(queued)
                continue
            self._place(frames)
            frames.clear()
            self._write_entry(queued)
        self._place(frames)
        if self._sound is not None and not self.over:
            self._record(*self._sound.pop_settled(clock_s))
        if self._log.flush() and self.over:
            self.close()

    def close(self) -> None:
        """Close the files; lines that the disk does not accept now are lost."""
        self.finished = True
        if self._recording is not None:
            self._recording.close()
        if self._peaks is not None:
            self._peaks.close()
        if self._log.close():
            compress(self._log.path, self.losses.failed)
        else:
            self.losses.records += self._log.waiting_lines

    def _place(self, frames: list[Frame]) -> None:
        """Place frames in the recording, at the higher sample rate of both sides at the first frame."""
        if not frames or self.recording is None:
            return
        if self._sound is None:
            formats = self._settings.input_format, self._settings.output_format
            highest_hz = max(frames[0][3], *(audio_format.rate_hz for audio_format in formats))
            self._sound = Placement(highest_hz, self.header.clock_s)
            self._append(RecordingBegan(highest_hz))
        self._sound.place(frames)

    def _write_entry(self, queued: ResponseStopped | Entry) -> None:
        match queued:
            case ResponseStopped(response_id, played_s, dropped_s):
                if self._sound is not None:
                    self._sound.stopped(response_id, played_s, dropped_s)
            case CallEnded():
                self.over = True
                if self._sound is not None:
                    self._record(*self._sound.finish())
                self._append(queued)
            case Record(event=SettingsChanged(settings)):
                self._settings = settings
                self._append(queued)
            case _:
                self._append(queued)

    def _record(self, since: int, sound: np.ndarray[tuple[int, int], np.dtype[np.int16]]) -> None:
        if self.recording is None or self._sound is None or not len(sound):
            return
        if self._recording is None:
            path = self.folder / (RECORDING_NAME + self.recording.suffix)
            self._recording = self.recording(path, self._sound.rate_hz, self.losses.failed)
            self._peaks = PeaksFile(self.folder / PEAKS_NAME, self._sound.rate_hz, self.losses.failed)
        if not self._recording.write(since, sound):
            self.losses.sound_s += len(sound) / self._sound.rate_hz
        if self._peaks is not None:
            self._peaks.write(since, sound)
        for silence in self._sound.take_silences():
            self._append(silence)
        for span in self._sound.take_spans():
            self._append(span)

    def _append(self, entry: Entry) -> None:
        if self._log.has_room:
            self._log.append(self._lines.entry(entry))
        else:
            self.losses.records += 1
            self._lines.forget()


def compress(log: Path, failed: Callable[[OSError], None]) -> None:
    """Replace a complete log by a compressed one, a tenth of its size."""
    packed, unfinished = log.with_name(LOG_NAME + ".zst"), log.with_name(LOG_NAME + ".part")
    try:
        unfinished.write_bytes(zstandard.compress(log.read_bytes()))
        unfinished.rename(packed)
        log.unlink()
    except OSError as error:
        failed(error)
        with suppress(OSError):  # a read-only folder keeps it
            unfinished.unlink(missing_ok=True)


def call_folder(folder: Path, call_id: str, started_at: float) -> Path:
    """Return the folder of a call's files, grouped by the UTC day of its start."""
    return folder / time.strftime("%Y-%m-%d", time.gmtime(started_at)) / call_id
