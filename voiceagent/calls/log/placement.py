"""Where the sound of a call stands in its recording: the caller's on the left, the agent's right. Pure.

The caller's sound is the clock: sample n of it stands at n. What the agent says begins where the caller's
sound had come to when its first frame was sent, and goes on without a break for as long as it does at the
caller's; what was sent and never played is taken back. A caller who sends nothing for a while was silent:
that alone is measured by the monotonic clock, and only once no burst has made up for it.
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

SILENT_S = 0.3
"""A caller who has sent nothing for longer may have been silent; less is the network's jitter."""
CATCH_UP_S = 0.5
"""Within this time sound that was only held up on its way has come."""
SURELY_SILENT_S = 2.0
"""Where nothing comes for this long it is silence, whatever comes then."""
HOLD_BACK_S = 0.3
"""How long the agent's newest sound is not given out: it may be taken back."""
_NOTHING: Samples = np.zeros(0, np.int16)

Stereo = NDArray[np.int16]
"""Frames of two samples, caller and agent, shape [n, 2]."""


Frame = tuple[float, str, Samples, int]
"""Sound that was received or sent: when, in monotonic seconds, of which response ("" for the caller's own),
samples [n] and their rate. A hundred a second.
"""
_response_of = itemgetter(1)


class _Piece(NamedTuple):
    """Sound of the agent; `start` is its first sample in the recording."""

    start: int
    samples: Samples


class Placement:
    """Places both sides of one call at `rate_hz`. began_s: monotonic seconds at the call's begin."""

    def __init__(self, rate_hz: int, began_s: float) -> None:
        self.rate_hz = rate_hz
        self._taken = 0  # samples given out
        self._caller = _CallerSound(rate_hz, began_s)
        self._agent = _AgentSound(rate_hz)

    def place(self, frames: Iterable[Frame]) -> None:
        """The next sound of both, in the order in which it was received and sent."""
        for response_id, run in groupby(frames, _response_of):
            if response_id:
                self._agent.push(response_id, run, self._caller)
            else:
                self._caller.push(run)

    def stopped(self, response_id: str, played_s: float) -> None:
        """The caller heard `played_s` seconds of the response; what was sent beyond was dropped."""
        self._agent.cut(response_id, played_s, self._taken)

    def take(self, clock_s: float) -> tuple[int, Stereo]:
        """What will not change any more, [n, 2], and where it begins."""
        self._caller.settle(clock_s)
        held_back = round(HOLD_BACK_S * self.rate_hz)
        # a caller who sends ahead of real time is further than the agent, of whom more is to come
        now = min(self._caller.now(clock_s), self._agent.goes_on(clock_s))
        return self._take(int(min(self._caller.settled, now - held_back)))

    def finish(self) -> tuple[int, Stereo]:
        """All that is left, [n, 2], and where it begins."""
        self._caller.finish()
        self._agent.finish()
        return self._take(max(round(self._caller.end), self._agent.end))

    def take_spans(self) -> list[SoundSpan]:
        """Where the agent's sound stands that is complete, each told once."""
        spans, self._agent.spans = self._agent.spans, []
        return spans

    def take_silences(self) -> list[SilentSpan]:
        """Where the caller sent nothing, each told once."""
        silences, self._caller.silences = self._caller.silences, []
        return silences

    def _take(self, until: int) -> tuple[int, Stereo]:
        since = self._taken
        if until <= since:
            return since, np.zeros((0, 2), np.int16)
        both = np.zeros((until - since, 2), np.int16)
        self._caller.take(both[:, 0])
        self._agent.take(since, both[:, 1])
        self._taken = until
        return since, both


class _CallerSound:
    """The caller's side. end: samples so far; what came since the last `take` is only stored."""

    def __init__(self, rate_hz: int, began_s: float) -> None:
        self._rate_hz = rate_hz
        self._parts: list[Samples] = []  # at `rate_hz`, not taken
        self._new: list[Samples] = []  # at `_from_hz`
        self._from_hz = rate_hz
        self._resampler = Resampler(rate_hz, rate_hz)
        self.end = 0.0
        self._until_s = began_s  # by the clock, when what was received is spoken
        self._silent_at: tuple[int, float, float] | None = None  # parts, samples, and when it was noticed
        self.silences: list[SilentSpan] = []

    @property
    def settled(self) -> float:
        """Samples before which nothing will be put in."""
        return self.end if self._silent_at is None else self._silent_at[1]

    def now(self, clock_s: float) -> int:
        """Which sample the caller speaks at that time."""
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
        """Put in the silence of a caller who sent nothing, once it is sure."""
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
        if silent_s <= SILENT_S / 2:  # it has all come, late
            return
        silence = np.zeros(round(silent_s * self._rate_hz), np.int16)
        self._parts.insert(index, silence)
        self.silences.append(SilentSpan(round(since), round(since) + len(silence)))
        self.end += len(silence)
        self._until_s = clock_s

    def take(self, out: Samples) -> None:
        """Move the first samples into `out` [n]; behind the last there is silence."""
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
        """Bring out what the filter holds back."""
        self._convert(last=True)

    def _convert(self, last: bool = False) -> None:
        if self._new or last:
            new = np.concatenate(self._new) if self._new else _NOTHING
            self._new = []
            ready = self._resampler.push(new, last)
            if len(ready):
                self._parts.append(ready)


class _AgentSound:
    """The agent's side: runs of frames without a break. end: behind the last sample."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._pieces: list[_Piece] = []
        self._new: list[Samples] = []  # of the run, at `_from_hz`
        self.end = 0
        self.spans: list[SoundSpan] = []
        self._response_id = ""
        self._sent_s = 0.0  # of the response
        self._run = 0  # where it began
        self._until_s = -math.inf  # by the clock, when the caller has played it
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
        """Where its next sample will stand, without a break; infinity where it has made one."""
        if clock_s > self._until_s:
            return math.inf
        self._convert()
        return self.end

    def cut(self, response_id: str, played_s: float, taken: int) -> None:
        """Take back what was not played, as far as it has not been given out."""
        if response_id != self._response_id:
            return
        self.finish()
        unplayed = round((self._sent_s - played_s) * self._rate_hz)
        end = max(taken, self._run, self.end - max(0, unplayed))
        self._pieces = [_Piece(p.start, p.samples[: end - p.start]) for p in self._pieces if p.start < end]
        self.end = end
        self.spans = [
            span if span.until <= end else SoundSpan(span.response_id, min(span.since, end), end)
            for span in self.spans
        ]
        self._response_id, self._until_s = "", -math.inf

    def take(self, since: int, out: Samples) -> None:
        """Copy what stands in the window `out` [n], which begins at `since`."""
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
        """The run is over."""
        if self._resampler is not None:
            self._convert(last=True)
            self._resampler = None
            if self.end > self._run:
                self.spans.append(SoundSpan(self._response_id, self._run, self.end))

    def _convert(self, last: bool = False) -> None:
        if self._resampler is not None and (self._new or last):
            new = np.concatenate(self._new) if self._new else _NOTHING
            self._new = []
            ready = self._resampler.push(new, last)
            if len(ready):
                self._pieces.append(_Piece(self.end, ready))
                self.end += len(ready)
