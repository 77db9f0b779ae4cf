"""One call that is kept: what its session tells waits here for the writer, and is written by it."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
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
from voiceagent.conversation.commands import Command
from voiceagent.conversation.events import Event, SettingsChanged
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.keeping import KeepsNothing

MAX_WAITING = 1_000
"""Pieces of sound and events of one call that wait for the writer: five seconds; what comes then is lost."""
MAX_FACTS, MAX_FACT = 32, 256
"""How many parameters of a phone line are kept, and how many characters of each: anybody may send them."""
RECENT_S = 3.0
"""An error that is older than this is over."""
LOG_NAME, RECORDING_NAME, PEAKS_NAME = "log.jsonl", "sound", "peaks"


@dataclass(slots=True)
class Losses:
    """What could not be written since the process began, of all calls. last: the newest error, and when."""

    records: int = 0
    sound_s: float = 0.0
    failures: int = 0
    last: str = ""
    last_at_s: float = -math.inf

    def failed(self, error: Exception) -> None:
        """A file, or the store, took nothing."""
        self.failures += 1
        self.last, self.last_at_s = f"{type(error).__name__}: {error}", time.monotonic()

    def trouble(self) -> str:
        """The error of an attempt that failed just now; what fails is tried again all the time."""
        return self.last if time.monotonic() - self.last_at_s < RECENT_S else ""


@dataclass(frozen=True, slots=True)
class _Stopped:
    response_id: str
    played_s: float


_Told = Frame | _Stopped | Entry


class KeptCall(KeepsNothing):
    """What a session tells of a call that is kept, except what only traces want. clock: monotonic seconds.
    waiting: for the writer."""

    def __init__(self, clock: Callable[[], float], losses: Losses) -> None:
        self.waiting: deque[_Told] = deque()
        self._clock = clock
        self._losses = losses
        self._number = 0
        self._missed: dict[str, int] = {}  # samples for which there was no room, by response

    def identified(self, line_call: str, parameters: Mapping[str, str]) -> None:
        """See `Keeping`. At most `MAX_FACTS` are kept, of `MAX_FACT` characters each."""
        known = islice(parameters.items(), MAX_FACTS)
        facts = tuple(Fact(name[:MAX_FACT], value[:MAX_FACT]) for name, value in known)
        self._tell(CallIdentified(line_call[:MAX_FACT], facts))

    def took(
        self,
        event: Event,
        received_s: float,
        ids: Sequence[str],
        commands: Sequence[Command],
        fault: Exception | None = None,
    ) -> None:
        """See `Keeping`. A number is given to every event, so that the log shows where some are missing."""
        self._number += 1
        named = "" if fault is None else fault_name(fault)
        self._tell(Record(self._number, self._clock(), received_s, event, ids, commands, named))

    def heard(self, samples: Samples, rate_hz: int, begins_ago_s: float = 0.0) -> None:
        """See `Keeping`. Sound for which there is no room is lost as silence, so that the rest keeps time."""
        if self._missed or len(self.waiting) >= MAX_WAITING:
            self._tell_short_of_room("", samples, rate_hz)
        else:
            self.waiting.append((self._clock() - begins_ago_s, "", samples, rate_hz))

    def sent(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        """See `Keeping`."""
        if self._missed or len(self.waiting) >= MAX_WAITING:
            self._tell_short_of_room(response_id, frame, rate_hz)
        else:
            self.waiting.append((self._clock(), response_id, frame, rate_hz))

    def stopped(self, response_id: str, played_s: float) -> None:
        """See `Keeping`."""
        self.waiting.append(_Stopped(response_id, played_s))

    def answered(self, report: TurnReport) -> None:
        """See `Keeping`."""
        self._tell(report)

    def played(self, message: MessageItem) -> None:
        """See `Keeping`."""
        self._tell(HeardText(message.item_id, message.text))

    def stalled(self, clock_s: float, lag_s: float) -> None:
        """The event loop woke `lag_s` too late."""
        self._tell(LoopStalled(clock_s, lag_s))

    def ended(self, reason: str, history: Sequence[Item]) -> None:
        """See `Keeping`."""
        self.waiting.append(CallEnded(reason, self._clock(), heard_texts(history)))

    def _tell_short_of_room(self, response_id: str, samples: Samples, rate_hz: int) -> None:
        if len(self.waiting) >= MAX_WAITING:
            self._losses.sound_s += len(samples) / rate_hz
            self._missed[response_id] = self._missed.get(response_id, 0) + len(samples)
            return
        clock_s = self._clock()
        if missed := self._missed.pop(response_id, 0):
            self.waiting.append((clock_s, response_id, np.zeros(missed, np.int16), rate_hz))
        self.waiting.append((clock_s, response_id, samples, rate_hz))

    def _tell(self, entry: Entry) -> None:
        if len(self.waiting) < MAX_WAITING:
            self.waiting.append(entry)
        else:
            self._losses.records += 1


@dataclass(slots=True)
class CallFiles:
    """Writes what one call has waiting; all on the writer's thread. folder: of the call.

    recording: how its sound is kept. over: the call is. finished: it is, and its files are closed.
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
        """Write what waits now. Files of a call that is over are open until the disk has taken its log."""
        waiting = self.call.waiting
        frames: list[Frame] = []  # in a row
        for _ in range(len(waiting)):
            told = waiting.popleft()
            if isinstance(told, tuple):  # nearly all is sound
                frames.append(told)
                continue
            self._place(frames)
            frames.clear()
            self._take(told)
        self._place(frames)
        if self._sound is not None and not self.over:
            self._record(*self._sound.take(clock_s))
        if self._log.flush() and self.over:
            self.close()

    def close(self) -> None:
        """Close the files; lines that the disk does not take now are lost."""
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
        """The recording has the higher rate of both sides, as they are when there is sound first."""
        if not frames or self.recording is None:
            return
        if self._sound is None:
            formats = self._settings.input_format, self._settings.output_format
            highest_hz = max(frames[0][3], *(audio_format.rate_hz for audio_format in formats))
            self._sound = Placement(highest_hz, self.header.clock_s)
            self._append(RecordingBegan(highest_hz))
        self._sound.place(frames)

    def _take(self, told: _Stopped | Entry) -> None:
        match told:
            case _Stopped(response_id, played_s):
                if self._sound is not None:
                    self._sound.stopped(response_id, played_s)
            case CallEnded():
                self.over = True
                if self._sound is not None:
                    self._record(*self._sound.finish())
                self._append(told)
            case Record(event=SettingsChanged(settings)):
                self._settings = settings
                self._append(told)
            case _:
                self._append(told)

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
    """Put a log that is complete into a file of a tenth of its size beside it, in its place."""
    packed, unfinished = log.with_name(LOG_NAME + ".zst"), log.with_name(LOG_NAME + ".part")
    try:
        unfinished.write_bytes(zstandard.compress(log.read_bytes()))
        unfinished.rename(packed)
        log.unlink()
    except OSError as error:
        failed(error)
        with suppress(OSError):  # a folder that cannot be written to keeps what is in it
            unfinished.unlink(missing_ok=True)


def call_folder(folder: Path, call_id: str, started_at: float) -> Path:
    """Where a call's files are: by the day on which it began, UTC."""
    return folder / time.strftime("%Y-%m-%d", time.gmtime(started_at)) / call_id
