"""A local caller: speaks recorded audio to a session in real time, in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from audio.pcm import AudioFormat, Samples
from audio.resample import resample
from audio.synthesizers import Synthesizer
from audio.wav import READABLE, read_wav
from voiceagent.agents.running import RunningAgent
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.events import CallerIdle
from voiceagent.conversation.history import ToolCallItem, ToolOutputItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.session.services import Services
from voiceagent.session.session import Session
from voiceagent.validation.errors import CommandFailed, reason_of

FORMAT = AudioFormat.PCM_24K
FRAME_S = 0.02
SETTLE_S = 0.5
"""Silence after which no response is expected, in addition to the endpointing delay."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A caller's speech: `sound` [n] at the rate it was read at, 24 kHz for a call."""

    name: str
    sound: Samples


def read_recordings(paths: Sequence[Path], rate_hz: int = FORMAT.rate_hz) -> list[Recording]:
    """Read WAV files, resampled to `rate_hz`. Raise CommandFailed if one cannot be read."""
    recordings = []
    for path in paths:
        try:
            samples, recorded_hz = read_wav(path)
        except OSError as error:
            raise CommandFailed(f"{path}: {reason_of(error)}; allowed: {READABLE}") from error
        except ValueError as error:
            raise CommandFailed(str(error)) from error
        recordings.append(Recording(path.name, resample(samples, recorded_hz, rate_hz)))
    return recordings


async def speak(synthesizer: Synthesizer, text: str) -> Samples:
    """Return the synthesized text [n], at the rate of a call. Raise SynthesizerError."""
    async with aclosing(synthesizer.speak(text)) as speeches:
        sound = np.concatenate([np.zeros(0, np.int16), *[speech.samples async for speech in speeches]])
    return resample(sound, synthesizer.rate_hz, FORMAT.rate_hz)


@dataclass(slots=True)
class PlayedResponse:
    """One response as the caller received it: its start, its duration, its end."""

    first_frame_s: float | None = None
    sound_s: float = 0.0
    cut: bool = False
    false_end: bool = False


@dataclass(slots=True)
class Exchange:
    """Result of one piece of the caller's audio; several turns if it contains long pauses.

    understood, answered: texts of the turns and of the responses. tools: tool calls and their outputs, in
    order. failures: reasons of failures. notices: server messages after which the call continues.

    spoken_from_s: start of the audio, on the call's clock. decided_s: end of each turn. backchannels_s: when
    each frame of a backchannel was sent.
    """

    understood: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list, init=False)
    failures: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list, init=False)
    reports: list[TurnReport] = field(default_factory=list)
    frames: list[Samples] = field(default_factory=list)
    responses: list[PlayedResponse] = field(default_factory=list)
    decided_s: list[float] = field(default_factory=list)
    backchannels_s: list[float] = field(default_factory=list, init=False)
    spoken_from_s: float = 0.0

    @property
    def first_frame_s(self) -> float | None:
        """Arrival of the last response's first frame, on the call's clock."""
        return self.responses[-1].first_frame_s if self.responses else None

    @property
    def interrupted(self) -> int:
        """Number of cancelled responses."""
        return sum(response.cut for response in self.responses)

    @property
    def sound(self) -> Samples:
        """Audio of the agent [n] at 24 kHz, without the pauses between responses."""
        return np.concatenate([np.zeros(0, np.int16), *self.frames])


class CallListener:
    """Receives what both sides say while a call runs; this one ignores it."""

    def on_caller(self, words: str, final: bool) -> None:
        """Handle new words of the caller; final: the whole transcript of a turn."""

    def on_agent(self, words: str) -> None:
        """Handle new words of the agent."""

    def on_response_ended(self) -> None:
        """Handle the end of a response."""

    def on_audio(self, sound: Samples) -> None:
        """Handle audio of the agent [n] at 24 kHz."""


IGNORED = CallListener()


class LocalCaller:
    """Client of a session in this process: records notifications and audio."""

    def __init__(self, clock: Callable[[], float], listener: CallListener = IGNORED) -> None:
        self._clock = clock
        self._listener = listener
        self._open_turns: set[str] = set()
        self._understood: dict[str, tuple[list[str], int]] = {}  # list and place of each item's text
        self._response_id: str | None = None
        self.exchange = Exchange()

    @property
    def quiet(self) -> bool:
        """True if no turn waits for its transcript and no response is in progress."""
        return not self._open_turns and self._response_id is None

    def _on_transcript(self, notification: notify.NotifyTranscript | notify.NotifyTranscriptRevised) -> None:
        match notification:
            case notify.NotifyTranscript(item_id, text, final=True):
                self._open_turns.discard(item_id)
                understood = self.exchange.understood
                self._understood[item_id] = understood, len(understood)
                understood.append(text)
                self._listener.on_caller(text, final=True)
            case notify.NotifyTranscript(text=text):
                self._listener.on_caller(text, final=False)
            case notify.NotifyTranscriptRevised(item_id, text) if item_id in self._understood:
                texts, place = self._understood[item_id]
                texts[place] = text

    def notify(self, notification: notify.Notification) -> None:
        exchange = self.exchange
        match notification:
            case notify.NotifySpeechStarted(item_id):
                self._open_turns.add(item_id)
            case notify.NotifySpeechStopped():
                exchange.decided_s.append(self._clock())
            case notify.NotifyTranscript() | notify.NotifyTranscriptRevised():
                self._on_transcript(notification)
            case notify.NotifyTranscriptFailed(item_id, reason):
                self._open_turns.discard(item_id)
                exchange.failures.append(reason)
            case notify.NotifyResponseStarted(response_id):
                self._response_id = response_id
                exchange.answered.append("")
                exchange.responses.append(PlayedResponse())
            case notify.NotifyResponseText(text=text):
                exchange.answered[-1] += text
                self._listener.on_agent(text)
            case notify.NotifyItemDone(ToolCallItem(call=call)):
                exchange.tools.append(f"{call.name}({call.arguments})")
            case notify.NotifyItemDone(ToolOutputItem(output=output)):
                exchange.tools.append(f"-> {output}")
            case notify.NotifyResponseEnded(status=status, reason=reason, false_end=false_end):
                self._listener.on_response_ended()
                self._response_id = None
                if exchange.responses:
                    exchange.responses[-1].cut = status == "cancelled"
                    exchange.responses[-1].false_end = false_end
                if status == "failed":
                    exchange.failures.append(reason)
            case notify.NotifyError(message=message):
                exchange.failures.append(message)
            case _:
                pass

    def play(self, response_id: str, frame: Samples) -> None:
        """Record 20 ms of the agent's audio."""
        self._listener.on_audio(frame)
        self.exchange.frames.append(frame)
        if not response_id:
            self.exchange.backchannels_s.append(self._clock())
            return
        if not self.exchange.responses:
            return
        response = self.exchange.responses[-1]
        if response.first_frame_s is None:
            response.first_frame_s = self._clock()
        response.sound_s += len(frame) / FORMAT.rate_hz

    def clear(self) -> None:
        """Do nothing: audio counts as played when it is sent."""

    def report(self, turn: TurnReport) -> None:
        """Record the stages of a turn."""
        self.exchange.reports.append(turn)


class PacedSound:
    """Real-time sender: pushes each frame to a call at the moment its last sample would be spoken."""

    def __init__(self, hear: Callable[[Samples], None], clock: Callable[[], float]) -> None:
        self._hear = hear
        self._clock = clock
        self.at_s = clock()
        """Time of the next sample, on the clock."""

    async def send(self, sound: Samples) -> None:
        """Send `sound` [n] at 24 kHz; the last frame may be short."""
        frame_samples = round(FRAME_S * FORMAT.rate_hz)
        for start in range(0, len(sound), frame_samples):
            frame = sound[start : start + frame_samples]
            self.at_s += len(frame) / FORMAT.rate_hz
            await asyncio.sleep(max(0.0, self.at_s - self._clock()))
            self._hear(frame)

    def skip_gap(self) -> None:
        """Go on at the present time where nothing was sent for a while. What is sent late comes in a burst,
        as from no microphone.
        """
        self.at_s = max(self.at_s, self._clock())


class LocalCall:
    """One call with recorded audio, as an asynchronous context manager; the caller is silent between pieces.

    agent: its code, if any. Methods raise CommandFailed after the call has ended.
    """

    def __init__(
        self, services: Services, agent: RunningAgent | None = None, listener: CallListener = IGNORED
    ) -> None:
        self._caller = LocalCaller(services.measuring.clock, listener)
        settings = replace(services.settings, input_format=FORMAT, output_format=FORMAT, latency_events=True)
        self._agent = agent
        self.session = Session("local", services, settings, self._caller, agent=agent)
        detection = settings.turn_detection
        self._settle_s = SETTLE_S + (detection.silence_s if detection is not None else 0.0)
        self._line = PacedSound(self.session.hear, services.measuring.clock)
        self._ended: asyncio.Task[str] | None = None
        self.greeting = self._caller.exchange
        """Audio and texts before the caller's first words."""

    async def __aenter__(self) -> LocalCall:
        """Start the call and listen to the agent's greeting, if any."""
        self._ended = asyncio.create_task(self.session.ended())
        self.session.begin()
        await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close("the caller hung up", "caller_hung_up")
        if self._ended is not None:
            await self._ended

    @property
    def over(self) -> bool:
        """True if the call has ended without a hang-up of this caller."""
        return self._ended is not None and self._ended.done()

    async def say(self, sound: Samples) -> Exchange:
        """Speak `sound` [n] at 24 kHz, then be silent until the agent has answered. Return the result."""
        exchange = self._begin()
        await self._line.send(sound)
        await self._listen()
        return exchange

    async def listen(self, past_questions: bool = False) -> Exchange:
        """Be silent until the agent is done. past_questions: also while the agent's code waits for digits."""
        exchange = self._begin()
        await self._listen(past_questions)
        return exchange

    async def stay_silent(self) -> Exchange:
        """Simulate the idle timeout without waiting for it, then be silent until the agent is done."""
        exchange = self._begin()
        self.session.post(CallerIdle(0.0))
        await self._listen()
        return exchange

    def _begin(self) -> Exchange:
        if self.over:
            raise CommandFailed("the call is over; where the agent did not hang up, the log says why")
        self._line.skip_gap()
        exchange = self._caller.exchange = Exchange(spoken_from_s=self._line.at_s)
        return exchange

    async def _listen(self, past_questions: bool = False) -> None:
        silence = np.zeros(round(FRAME_S * FORMAT.rate_hz), np.int16)
        silent_s = 0.0
        while not self.over and silent_s < self._settle_s:
            await self._line.send(silence)
            silent_s = silent_s + FRAME_S if await self._quiet(past_questions) else 0.0
        if self.over and self._agent is None:  # agent code may have hung up
            raise CommandFailed("the call broke off; the log says why")

    async def _quiet(self, past_questions: bool) -> bool:
        if self._agent is not None and not past_questions:
            await self._agent.caller.settled()
            if self._agent.caller.wanted and self.session.quiet:
                return True
        return self._caller.quiet and self.session.idle
