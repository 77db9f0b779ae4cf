"""Background sounds in one call: mixed under the frames of speech, and sent alone between them.

The sound of typing is one of them: it plays while a tool runs.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Protocol

import structlog

from audio.clips import Clip, read_clip
from audio.mixer import Mixer
from audio.pcm import Samples
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.agent import AgentCode
from voiceagent.session.services import Speaking
from voiceagent.session.tool_running import ToolRunner

KEPT_BYTES = 128 * 2**20
"""Size of the clips that a process keeps, at all their rates. Calls hold those that they play themselves."""
AFTER_S = 0.3
"""Time after which a running tool is sounded: a shorter one would be a single click."""


class ClipCache:
    """Clips by name, of at most `max_bytes` together or a single one. Beyond that, the clip that was not used
    for longest is dropped. It is shared by threads.
    """

    def __init__(self, max_bytes: int = KEPT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._clips: dict[str, Clip] = {}
        self._lock = Lock()

    def find(self, name: str) -> Clip:
        """Return the clip of a name that `check_sound` returned. A file is read once, unless it was dropped.

        Raises OSError if it cannot be read, ValueError if it is no audio or too long.
        """
        found = self._clips.get(name) or read_clip(name)  # without the lock, as reading takes long
        with self._lock:
            found = self._clips.pop(name, found)
            self._clips[name] = found
            size = sum(clip.size_bytes for clip in self._clips.values())
            for oldest in list(self._clips)[:-1]:
                if size <= self._max_bytes:
                    break
                size -= self._clips.pop(oldest).size_bytes
        return found


CLIPS = ClipCache()
"""The clips of this process."""


FRAME_S = 0.02
"""Length of a frame, unless the settings of the call say otherwise."""
_TOLERANCE_S = 1e-6


class SpeechOutput(Protocol):
    """Output of the agent's speech, as `Background` sees it: a frame of speech goes before one without."""

    @property
    def has_frame(self) -> bool:
        """True if a frame is ready to be sent once it is due."""

    @property
    def sent_until_s(self) -> float:
        """Time at which the client should have played all speech that was sent; -inf if none is."""

    @property
    def yields(self) -> bool:
        """True if speech is ducked or held for the caller."""


@dataclass(slots=True)
class _Playing:
    """A started sound: name of its file, and volume as a factor."""

    name: str
    volume: float


class Background:
    """Background sounds. Without any, frames pass unchanged and no timer runs.

    send: sends a frame without speech, with its rate in Hz. log: of the call. can_play: False for clients
    that play speech only; nothing is sounded there.
    """

    def __init__(
        self,
        send: Callable[[Samples, int], None],
        speaking: Speaking,
        log: structlog.stdlib.BoundLogger,
        can_play: bool = True,
    ) -> None:
        self._send = send
        self._can_play = can_play
        self._log = log
        self._pacer = speaking.pacer
        self._clock = speaking.pacer.clock
        self._lead_s = speaking.lead_s
        self._mixer = Mixer(24_000)
        self._frame_s = FRAME_S
        self._numbers = count(1)
        self._sounds: dict[int, _Playing] = {}
        self._speakers: list[SpeechOutput] = []
        self._preparing: set[asyncio.Task[None]] = set()
        self._tick: int | None = None
        self._dropped_s: float | None = None
        self.active = False
        """True while a sound is played, its fade included."""
        self.until_s = -math.inf
        """Time at which the client should have played all audio that was sent, while `active`."""

    @property
    def sounds(self) -> tuple[str, ...]:
        """Names of the sounds that were started and not stopped."""
        return tuple(sound.name for sound in self._sounds.values())

    def add_speaker(self, speaker: SpeechOutput) -> None:
        """Let this speaker's frames come first."""
        self._speakers.append(speaker)

    def configure(self, settings: CallSettings) -> None:
        """Apply rate and frame length of these settings, at once."""
        self._frame_s = settings.output_frame_s
        rate_hz = settings.output_format.rate_hz
        if rate_hz != self._mixer.rate_hz:
            self._mixer = Mixer(rate_hz)
            for number in self._sounds:
                self._prepare(number)

    def start(self, name: str, volume: float) -> int:
        """Play a sound again and again, at this volume, 0 to 1. Return its number, for `stop`. name: see
        `audio.clips.check_sound`.
        """
        number = next(self._numbers)
        self._sounds[number] = _Playing(name, volume)
        self._prepare(number)
        return number

    def stop(self, number: int) -> None:
        """Stop a sound. A second call does nothing."""
        if self._sounds.pop(number, None) is not None:
            self._mixer.stop(number)

    def under(self, speech: Samples) -> Samples:
        """Return a frame of speech [n] with the sounds, if there are any."""
        return self._mixer.under(speech) if self.active else speech

    def on_cleared(self, dropped_s: float) -> None:
        """Record that the client dropped all audio that it has not played, so many seconds."""
        self.until_s, self._dropped_s = -math.inf, dropped_s

    def pop_dropped_s(self) -> float | None:
        """Return the seconds of audio that the client has just dropped; None if no sound was played then."""
        dropped_s, self._dropped_s = self._dropped_s, None
        return dropped_s

    def close(self) -> None:
        """Stop all sounds at once."""
        self._forget_wake()
        self.active = self._can_play = False
        self._sounds.clear()
        self._speakers.clear()
        for task in self._preparing:
            task.cancel()

    def _prepare(self, number: int) -> None:
        """Read, or generate, and convert a sound in a thread, as that may take a second."""
        if self._can_play:
            task = asyncio.create_task(self._load(number, self._mixer), name="background sound")
            self._preparing.add(task)
            task.add_done_callback(self._preparing.discard)

    async def _load(self, number: int, mixer: Mixer) -> None:
        sound = self._sounds.get(number)
        if sound is None:
            return
        try:
            samples = await asyncio.to_thread(lambda: CLIPS.find(sound.name).at(mixer.rate_hz))
        except (OSError, ValueError) as error:
            self._log.error("background_failed", sound=sound.name, reason=str(error))
            self._sounds.pop(number, None)
            return
        if number in self._sounds and mixer is self._mixer:
            mixer.start(number, samples, sound.volume)
            self._begin()

    def _begin(self) -> None:
        if not self.active:
            self.active = True
            self.until_s = max((speaker.sent_until_s for speaker in self._speakers), default=-math.inf)
            self._pump()

    def _pump(self) -> None:
        """Send the frames that are due, unless there is speech to send."""
        self._tick = None
        if self._mixer.silent and not self._sounds:
            self.active = False
            return
        now_s = self._clock()
        while not self._speaks and self._due_s(now_s) <= now_s + _TOLERANCE_S:
            length = round(self._frame_s * self._mixer.rate_hz)
            frame = self._mixer.alone(length, any(speaker.yields for speaker in self._speakers))
            self.until_s = max(self.until_s, now_s) + self._frame_s
            self._send(frame, self._mixer.rate_hz)
        if self.active:
            after_s = self._frame_s if self._speaks else 0.0
            self._tick = self._pacer.wake(max(self._due_s(now_s), now_s + after_s), self._pump)

    @property
    def _speaks(self) -> bool:
        """True if a speaker has a frame, which comes first."""
        return any(speaker.has_frame for speaker in self._speakers)

    def _due_s(self, now_s: float) -> float:
        # as `Playout`: a longer frame is sent earlier by the difference
        return max(now_s, self.until_s - (self._lead_s - FRAME_S))

    def _forget_wake(self) -> None:
        if self._tick is not None:
            self._pacer.forget(self._tick, self._pump)
            self._tick = None


class TypingSound:
    """Plays the sound of the agent while tools run. agent: None for a call without one, which has none."""

    def __init__(self, background: Background, agent: AgentCode | None, tools: ToolRunner) -> None:
        self._background = background
        self._agent = agent
        self._tools = tools
        self._timer: asyncio.TimerHandle | None = None
        self._playing: int | None = None

    @property
    def _sound(self) -> str:
        """The name of the sound, "" for none: a hand-over changes it."""
        return "" if self._agent is None else self._agent.typing_sound

    def on_tool_began(self) -> None:
        """Play the sound in a moment, if a tool runs then."""
        if self._sound and self._timer is None and self._playing is None:
            self._timer = asyncio.get_running_loop().call_later(AFTER_S, self._play)

    def on_tool_ended(self) -> None:
        """Stop the sound after the last tool."""
        if not self._tools.busy:
            self.close()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._playing is not None:
            self._background.stop(self._playing)
            self._playing = None

    def _play(self) -> None:
        self._timer = None
        if self._tools.busy and self._sound:
            self._playing = self._background.start(self._sound, 1.0)
