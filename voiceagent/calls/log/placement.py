"""Placement of a call's audio in its recording: the caller on the left, the agent on the right.

The caller's audio is the clock: its sample n stands at n. The agent's audio begins at the position that the
caller's audio had when its first frame was sent, and continues without gaps as long as it does at the
caller's end; audio that was sent but not played is removed. A caller who sends nothing for a while was
silent: only that is measured by the monotonic clock, and only after no burst of late audio has arrived.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audio.pcm import Samples
from audio.resample import Resampler
from voiceagent.calls.log.entries import SilentSpan, SoundSpan
from voiceagent.conversation.call_events import BACKGROUND

SILENT_S = 0.3
"""Gap in the caller's audio that may be silence; shorter ones are network jitter."""
CATCH_UP_S = 0.5
"""Time within which delayed audio arrives."""
SURELY_SILENT_S = 2.0
"""Gap that is silence even if audio arrives in a burst afterwards."""
HOLD_BACK_S = 0.3
"""Time for which the agent's newest audio is held back, as it may be removed."""
_NOTHING: Samples = np.zeros(0, np.int16)

Stereo = NDArray[np.int16]
"""Frames of two samples, caller and agent, shape [n, 2]."""


Frame = tuple[float, str, Samples, int]
"""Received or sent audio: monotonic seconds, response ("" for the caller's), samples [n] and their rate. A
tuple, as there are a hundred a second.
"""
_response_of = itemgetter(1)


class _Piece(NamedTuple):
    """Audio of the agent; `start` is the position of its first sample in the recording."""

    start: int
    samples: Samples


class Placement:
    """Places both sides of one call at `rate_hz`. began_s: monotonic seconds at the start of the call."""

    def __init__(self, rate_hz: int, began_s: float) -> None:
        self.rate_hz = rate_hz
        self._taken = 0  # samples returned so far
        self._caller = _CallerSound(rate_hz, began_s)
        self._agent = _AgentSound(rate_hz)

    def place(self, frames: Iterable[Frame]) -> None:
        """Add the next audio of both sides, in the order of receiving and sending."""
        for response_id, run in groupby(frames, _response_of):
            if response_id:
                self._agent.push(response_id, run, self._caller)
            else:
                self._caller.push(run)

    def stopped(self, response_id: str, played_s: float, dropped_s: float | None = None) -> None:
        """Remove the audio of the response after `played_s` seconds, which was dropped; or the last
        `dropped_s`, if background sounds were sent.
        """
        self._agent.cut(response_id, played_s, self._taken, dropped_s)

    def pop_settled(self, clock_s: float) -> tuple[int, Stereo]:
        """Return the audio that will not change, [n, 2], and its first position."""
        self._caller.settle(clock_s)
        held_back = round(HOLD_BACK_S * self.rate_hz)
        # a caller may send faster than real time; more audio of the agent may follow
        now = min(self._caller.now(clock_s), self._agent.goes_on(clock_s))
        return self._pop(int(min(self._caller.settled, now - held_back)))

    def finish(self) -> tuple[int, Stereo]:
        """Return the remaining audio, [n, 2], and its first position."""
        self._caller.finish()
        self._agent.finish()
        return self._pop(max(round(self._caller.end), self._agent.end))

    def take_spans(self) -> list[SoundSpan]:
        """Return and clear the completed spans of the agent's audio."""
        spans, self._agent.spans = self._agent.spans, []
        return spans

    def take_silences(self) -> list[SilentSpan]:
        """Return and clear the spans in which the caller sent nothing."""
        silences, self._caller.silences = self._caller.silences, []
        return silences

    def _pop(self, until: int) -> tuple[int, Stereo]:
        since = self._taken
        if until <= since:
            return since, np.zeros((0, 2), np.int16)
        both = np.zeros((until - since, 2), np.int16)
        self._caller.move_into(both[:, 0])
        self._agent.copy_into(since, both[:, 1])
        self._taken = until
        return since, both


class _CallerSound:
    """The caller's side. end: samples so far. Audio added since the last `take` is not converted yet."""

    def __init__(self, rate_hz: int, began_s: float) -> None:
        self._rate_hz = rate_hz
        self._parts: list[Samples] = []  # at `rate_hz`, not taken
        self._new: list[Samples] = []  # at `_from_hz`
        self._from_hz = rate_hz
        self._resampler = Resampler(rate_hz, rate_hz)
        self.end = 0.0
        self._until_s = began_s  # clock time at which the received audio ends
        self._silent_at: tuple[int, float, float] | None = None  # parts, samples, and the time it was noticed
        self.silences: list[SilentSpan] = []

    @property
    def settled(self) -> float:
        """Position before which nothing will be inserted."""
        return self.end if self._silent_at is None else self._silent_at[1]

    def now(self, clock_s: float) -> int:
        """Return the position of the sample that the caller speaks at that time."""
        silent_s = clock_s - self._until_s
        return round(self.end + (silent_s * self._rate_hz if silent_s > SILENT_S else 0.0))

    def push(self, frames: Iterable[Frame]) -> None:
        for clock_s, _, samples, rate_hz in frames:
            if rate_hz != self._from_hz:
                self._convert(last=True)
                self._resampler, self._from_hz = Resampler(rate_hz, self._rate_hz), rate_hz
            if self._silent_at is not None:
                self.settle(clock_s)
            elif clock_s > self._until_s:
                if clock_s - self._until_s > SILENT_S:
                    self._convert()
                    self._silent_at = len(self._parts), self.end, clock_s
                else:
                    self._until_s = clock_s
            self._until_s += len(samples) / rate_hz
            self.end += len(samples) * self._rate_hz / rate_hz
            self._new.append(samples)

    def settle(self, clock_s: float) -> None:
        """Insert the silence of a caller who sent nothing, once it is certain."""
        silent_s = clock_s - self._until_s
        if self._silent_at is None:
            if silent_s < SURELY_SILENT_S:
                return
            self._convert()
            self._silent_at = len(self._parts), self.end, -math.inf
        index, since, noticed_s = self._silent_at
        if clock_s - noticed_s < CATCH_UP_S:
            return
        self._silent_at = None
        if silent_s <= SILENT_S / 2:  # all of it has arrived, late
            return
        silence = np.zeros(round(silent_s * self._rate_hz), np.int16)
        self._parts.insert(index, silence)
        self.silences.append(SilentSpan(round(since), round(since) + len(silence)))
        self.end += len(silence)
        self._until_s = clock_s

    def move_into(self, out: Samples) -> None:
        """Move the first samples into `out` [n], padded with silence."""
        self._convert()
        filled = 0
        while filled < len(out) and self._parts:
            part = self._parts[0][: len(out) - filled]
            out[filled : filled + len(part)] = part
            filled += len(part)
            if len(part) == len(self._parts[0]):
                del self._parts[0]
                if self._silent_at is not None:
                    self._silent_at = (max(0, self._silent_at[0] - 1), *self._silent_at[1:])
            else:
                self._parts[0] = self._parts[0][len(part) :]

    def finish(self) -> None:
        """Flush the resampler."""
        self._convert(last=True)

    def _convert(self, last: bool = False) -> None:
        if self._new or last:
            new = np.concatenate(self._new) if self._new else _NOTHING
            self._new = []
            ready = self._resampler.push(new, last)
            if len(ready):
                self._parts.append(ready)


class _AgentSound:
    """The agent's side, in runs of contiguous frames. end: position after the last sample."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._pieces: list[_Piece] = []
        self._new: list[Samples] = []  # of the run, at `_from_hz`
        self.end = 0
        self.spans: list[SoundSpan] = []
        self._response_id = ""
        self._sent_s = 0.0  # of the response
        self._run = 0  # its start
        self._until_s = -math.inf  # clock time at which the caller has played it
        self._resampler: Resampler | None = None
        self._from_hz = 0

    def push(self, response_id: str, frames: Iterable[Frame], caller: _CallerSound) -> None:
        for clock_s, _, samples, rate_hz in frames:
            if response_id != self._response_id or clock_s > self._until_s or rate_hz != self._from_hz:
                self.finish()
                if response_id != self._response_id:
                    self._response_id, self._sent_s = response_id, 0.0
                if clock_s > self._until_s:  # the caller has run dry
                    self.end = max(self.end, caller.now(clock_s))
                    self._until_s = clock_s
                self._run = self.end
                self._resampler, self._from_hz = Resampler(rate_hz, self._rate_hz), rate_hz
            seconds = len(samples) / rate_hz
            self._until_s += seconds
            self._sent_s += seconds
            self._new.append(samples)

    def goes_on(self, clock_s: float) -> float:
        """Return the position of its next sample in a contiguous run; infinity if there is a gap."""
        if clock_s > self._until_s:
            return math.inf
        self._convert()
        return self.end

    def cut(self, response_id: str, played_s: float, taken: int, dropped_s: float | None) -> None:
        """Remove unplayed audio that was not returned yet."""
        if response_id != self._response_id and dropped_s is None:
            return
        self.finish()
        # frames without speech may follow those of the response, or precede them
        not_before = taken if dropped_s is not None else max(taken, self._run)
        unplayed_s = self._sent_s - played_s if dropped_s is None else dropped_s
        end = max(not_before, self.end - max(0, round(unplayed_s * self._rate_hz)))
        self._pieces = [_Piece(p.start, p.samples[: end - p.start]) for p in self._pieces if p.start < end]
        self.end = end
        self.spans = [
            span if span.until <= end else SoundSpan(span.response_id, min(span.since, end), end)
            for span in self.spans
        ]
        self._response_id, self._until_s = "", -math.inf

    def copy_into(self, since: int, out: Samples) -> None:
        """Copy the audio in the window `out` [n], which begins at `since`."""
        self._convert()
        until, left = since + len(out), []
        for piece in self._pieces:
            end = piece.start + len(piece.samples)
            first, last = max(piece.start, since), min(end, until)
            if first < last:
                out[first - since : last - since] = piece.samples[first - piece.start : last - piece.start]
            if end > until:
                left.append(piece)
        self._pieces = left

    def finish(self) -> None:
        if self._resampler is not None:
            self._convert(last=True)
            self._resampler = None
            if self.end > self._run and self._response_id != BACKGROUND:
                self.spans.append(SoundSpan(self._response_id, self._run, self.end))

    def _convert(self, last: bool = False) -> None:
        if self._resampler is not None and (self._new or last):
            new = np.concatenate(self._new) if self._new else _NOTHING
            self._new = []
            ready = self._resampler.push(new, last)
            if len(ready):
                self._pieces.append(_Piece(self.end, ready))
                self.end += len(ready)
