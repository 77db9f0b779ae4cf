"""The agent's audio, paced to the client frame by frame. The I/O of `Playout`."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from audio.pcm import Samples
from audio.playout import Playout, Reports
from audio.resample import Resampler
from voiceagent.conversation import call_events
from voiceagent.conversation.events import Event, PlayoutPlayed, PlayoutSent
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.background import FRAME_S, Background
from voiceagent.session.call import Client
from voiceagent.session.listening import Listener
from voiceagent.session.publishing import CallPublisher
from voiceagent.session.services import Speaking


class FrameOutput:
    """Sends frames to the client, after the listener, which finds their echo in the caller's audio, and
    before the call's subscribers, which record them.

    It holds no reference to the players that call it, so that a call leaves no reference cycle behind.
    """

    def __init__(self, listener: Listener, client: Client, publisher: CallPublisher) -> None:
        self._listener = listener
        self._client = client
        self._publisher = publisher

    def play(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        self._listener.on_output_frame(frame, response_id)
        self._client.play(response_id, frame)
        self._publisher.on_output_audio(response_id, frame, rate_hz)

    def play_backchannel(self, name: str, frame: Samples, rate_hz: int) -> None:
        """Send a frame of a backchannel, which belongs to no response."""
        self._listener.on_output_frame(frame)
        self._client.play("", frame)
        self._publisher.on_output_audio(name, frame, rate_hz)

    def play_background(self, frame: Samples, rate_hz: int) -> None:
        """Send a frame of background sounds without speech. No voice is over such a frame."""
        self._listener.on_background_frame(frame)
        self._client.play("", frame)
        self._publisher.on_output_audio(call_events.BACKGROUND, frame, rate_hz)


AHEAD_S = 4.0
"""Maximum seconds of audio that wait to be sent; beyond it synthesis pauses."""
_NOTHING: Samples = np.zeros(0, np.int16)

PlayFrame = Callable[[str, Samples, int], None]
"""Takes the id of a response, a frame of it, and the frame's rate in Hz."""


class Speaker:
    """Plays one response after the other: `play_frame` sends frames, `clear` drops sent ones.

    Frames of 20 ms are sent `lead_s` ahead of real time; longer ones earlier by the difference, so that
    the event loop may be as late for them.

    first_frame: called with the response's id and the time when its first frame is sent. background: the
    call's background sounds, shared by all its speakers.
    """

    def __init__(
        self,
        play_frame: PlayFrame,
        clear: Callable[[], None],
        speaking: Speaking,
        post: Callable[[Event], None],
        first_frame: Callable[[str, float], None],
        background: Background,
    ) -> None:
        self._play_frame = play_frame
        self._clear = clear
        self._from_hz = speaking.synthesizer.rate_hz
        self._lead_s = speaking.lead_s
        self._pacer = speaking.pacer
        self._clock = speaking.pacer.clock
        self._post = post
        self._first_frame = first_frame
        self._background = background
        background.add_speaker(self)
        self._tick: int | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._response_id = ""
        self._reports = Reports()
        self._playout: Playout | None = None
        self._resampler: Resampler | None = None
        self._sent = False
        self._ducked = False
        self._held_for: set[Literal["caller", "connection"]] = set()
        self._rate_hz = 24_000
        # rate of the current response, and from there to the client's, if that has changed since
        self._on_the_way = self._rate_hz, Resampler(self._rate_hz, self._rate_hz)
        self._frame_s = FRAME_S

    def configure(self, settings: CallSettings) -> None:
        """Apply rate and frame length of these settings: the length from the next response on, the rate at
        once, as the client's other frames change it at once too.
        """
        if settings.output_format.rate_hz != self._rate_hz:
            playing_hz, self._rate_hz = self._on_the_way[0], settings.output_format.rate_hz
            self._on_the_way = playing_hz, Resampler(playing_hz, self._rate_hz)
        self._frame_s = settings.output_frame_s

    async def room(self) -> None:
        """Wait until more audio may be synthesised."""
        await self._room.wait()

    def play(self, response_id: str, samples: Samples, rate_hz: int | None = None) -> None:
        """Queue audio of a response, [n] at this rate, or the synthesizer's. The previous response must be
        over, and all audio of a response has the same rate.
        """
        playout, resampler = self._open(response_id, rate_hz)
        playout.queue(resampler.push(samples))
        self._pump()

    def finish(self, response_id: str) -> None:
        """Mark the audio of this response as complete; `PlayoutSent` and `PlayoutPlayed` follow."""
        playout, resampler = self._open(response_id)
        playout.queue(resampler.push(_NOTHING, last=True))
        playout.finish()
        self._pump()

    def stop(self, response_id: str) -> float:
        """Drop the response's unplayed audio, here and at the client. Return the seconds that were played."""
        if response_id != self._response_id or self._playout is None:
            return 0.0
        now_s = self._clock()
        if self._background.active:
            self._playout.follow(self._background.until_s)
            self._background.on_cleared(self._playout.dropped_s(now_s))
        played_s = self._playout.stop(now_s)
        # at the client too, which is some tens of milliseconds ahead
        self._clear()
        self._forget_caller()
        self.close()
        return played_s

    def played(self, response_id: str, played_s: float, all_along: bool = False) -> None:
        """Record the client's position in the response, unless that is over. all_along: see `Call.played`."""
        if self._playout is not None and response_id == self._response_id:
            if all_along:
                self._reports.add(played_s, self._clock())
            self._playout.reported(played_s, self._clock())
            self._pump()

    @property
    def has_frame(self) -> bool:
        """True if a frame is ready to be sent once it is due."""
        return self._playout is not None and self._playout.has_frame

    @property
    def sent_until_s(self) -> float:
        """Time at which the client should have played all speech that was sent; -inf if none is."""
        return -math.inf if self._playout is None else self._playout.sent_until_s

    @property
    def yields(self) -> bool:
        """True if speech is ducked or held for the caller."""
        return self._ducked or "caller" in self._held_for

    @property
    def position(self) -> tuple[str, float]:
        """The response that is playing, "" for none, and the seconds of it that were played by now."""
        played_s = 0.0 if self._playout is None else self._playout.played_s(self._clock())
        return self._response_id, played_s

    def duck(self) -> None:
        """Lower the volume."""
        self._ducked = True
        if self._playout is not None:
            self._playout.duck()

    def hold(self) -> None:
        """Pause at the current position; `restore` continues from there."""
        self._held_for.add("caller")
        if self._playout is not None:
            self._playout.hold()
            self._pump()

    def restore(self) -> None:
        """Resume at full volume."""
        self._forget_caller()
        if self._playout is not None and not self._held_for:
            self._playout.restore()
            self._pump()

    def pause(self, paused: bool) -> None:
        """Send no audio while the client is not connected, or go on. Independent of `hold`."""
        if paused:
            self._held_for.add("connection")
        else:
            self._held_for.discard("connection")
        if self._playout is None:
            return
        if paused:
            self._playout.hold()
        elif not self._held_for:
            self._playout.restore()
            if self._ducked:
                self._playout.duck()
        self._pump()

    def reset_hold(self) -> None:
        """Reset ducking and holding at the end of a response without audio, to spare the next one."""
        if self._playout is None:
            self._forget_caller()

    def close(self) -> None:
        """Forget the response that is playing; nothing more is sent or posted for it."""
        self._forget_wake()
        self._playout = self._resampler = None
        self._response_id = ""
        self._room.set()

    def _open(self, response_id: str, from_hz: int | None = None) -> tuple[Playout, Resampler]:
        if self._playout is None or self._resampler is None or response_id != self._response_id:
            self.close()
            self._response_id = response_id
            self._on_the_way = self._rate_hz, Resampler(self._rate_hz, self._rate_hz)
            self._reports.begin(self._clock())
            lead_s = self._lead_s + self._frame_s - FRAME_S
            self._playout = Playout(self._rate_hz, self._frame_s, lead_s, self._reports)
            self._resampler = Resampler(from_hz or self._from_hz, self._rate_hz)
            self._sent = False
            # the caller spoke before this response had audio
            if self._ducked:
                self._playout.duck()
            if self._held_for:
                self._playout.hold()
        return self._playout, self._resampler

    def _pump(self) -> None:
        playout, response_id = self._playout, self._response_id
        if playout is None:
            return
        now_s = self._clock()
        nothing_sent = playout.sent_s == 0  # before `due`, which counts its frames as sent
        background = self._background
        if background.active:
            playout.follow(background.until_s)
        frames = playout.due(now_s)
        if frames and background.active:
            background.until_s = playout.sent_until_s
        if frames and nothing_sent:
            self._first_frame(response_id, now_s)
        for frame in frames:
            sound = self._on_the_way[1].push(frame)
            if background.active:
                sound = background.under(sound)
            self._play_frame(response_id, sound, self._rate_hz)
        if playout.unsent_s > AHEAD_S:
            self._room.clear()
        else:
            self._room.set()
        if playout.all_sent and not self._sent:
            self._sent = True
            self._post(PlayoutSent(response_id))
        if playout is self._playout:  # handlers of the event may have stopped it, or started another
            self._schedule(playout, now_s)

    def _schedule(self, playout: Playout, now_s: float) -> None:
        if playout.all_played(now_s):
            response_id = self._response_id
            self.close()
            # a voice after all audio was sent is a turn: nothing would restore the next response
            self._forget_caller()
            self._post(PlayoutPlayed(response_id))
            return
        next_s = playout.next_due_s(now_s)
        self._forget_wake()
        if next_s is not None:
            self._tick = self._pacer.wake(next_s, self._pump)

    def _forget_caller(self) -> None:
        self._ducked = False
        self._held_for.discard("caller")

    def _forget_wake(self) -> None:
        if self._tick is not None:
            self._pacer.forget(self._tick, self._pump)
            self._tick = None
