"""A simulated call by sound: the caller's side, frame by frame, on the event loop's clock.

It runs in virtual time (`VirtualTimeLoop`): nothing waits but for the engines' work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from audio.pcm import Samples
from voiceagent.agents.running import RunningAgent
from voiceagent.bench.caller import AUDIBLE
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import Item, MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.settings import CallSettings
from voiceagent.evals.caller import Caller
from voiceagent.evals.delivery import RATE_HZ, Delivery, Microphone, words_in
from voiceagent.evals.hearing import Hearing, PlayedSound
from voiceagent.evals.record import CallRecord, Limit, Manner, Role, Said, ToolUse
from voiceagent.session.agent import Line
from voiceagent.session.publishing import NO_SUBSCRIPTIONS, Subscriptions
from voiceagent.session.services import Services
from voiceagent.session.session import Session
from voiceagent.testing.call import arguments_of
from voiceagent.transports.local_call import FORMAT, FRAME_S

SETTLE_S = 0.5
"""Silence of the agent after which its answer is over, in addition to the endpointing delay."""
PATIENCE_S = 12.0
"""Time without any sound of the agent after which the caller speaks again."""
MAX_ANSWER_S = 60.0
"""Time after which the caller speaks though the agent goes on: one that hears itself through a speakerphone
may answer itself for ever.
"""
MAX_CALL_S = 600.0
"""Time after which the caller hangs up."""
_REACTS_S = (0.0, 0.5)
"""Range of the time between an answer and the next line, in addition to `SETTLE_S`."""
_BACKCHANNELS = ("Mm-hmm.", "Uh huh.", "Okay.", "Right.")
_BACKCHANNEL_AFTER_S = (1.0, 2.5)
_FRAME = round(FRAME_S * RATE_HZ)
_SILENCE: Samples = np.zeros(_FRAME, np.int16)


@dataclass(slots=True)
class _Response:
    """A response as it is heard; times are the event loop's."""

    text: str = ""
    item_id: str = ""
    begin_s: float | None = None
    end_s: float = 0.0
    cut: bool = False


class _Ear:
    """The session's client: records what the caller hears, with its times."""

    def __init__(self, microphone: Microphone, began_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._microphone = microphone
        self._began_s = began_s
        self._open: set[str] = set()
        self.responses: dict[str, _Response] = {}
        self.understood: list[str] = []
        self.failures: list[str] = []
        self.played_until_s = began_s
        self.sound = PlayedSound()

    @property
    def quiet(self) -> bool:
        """True if the agent neither speaks nor is about to."""
        return not self._open and self.played_until_s <= self._loop.time()

    def notify(self, notification: notify.Notification) -> None:
        match notification:
            case notify.NotifySpeechStarted(item_id):
                self._open.add(item_id)
            case notify.NotifyTranscript(item_id, text, final=True):
                self._open.discard(item_id)
                self.understood.append(text)
            case notify.NotifyTranscriptFailed(item_id, reason):
                self._open.discard(item_id)
                self.failures.append(reason)
            case notify.NotifyResponseStarted(response_id):
                self._open.add(response_id)
                self.responses[response_id] = _Response()
            case notify.NotifyResponseText(response_id, item_id, text=text):
                response = self.responses.setdefault(response_id, _Response())
                response.text, response.item_id = response.text + text, item_id
            case notify.NotifyResponseEnded(response_id, status, reason):
                self._open.discard(response_id)
                self.responses.setdefault(response_id, _Response()).cut = status == "cancelled"
                if status == "failed":
                    self.failures.append(reason)
            case notify.NotifyError(message=message):
                self.failures.append(message)
            case _:
                pass

    def play(self, response_id: str, frame: Samples) -> None:
        begin_s = max(self._loop.time(), self.played_until_s)
        self.played_until_s = begin_s + len(frame) / RATE_HZ
        self._microphone.play(frame, begin_s - self._began_s)
        self.sound.play(frame, begin_s)
        if not response_id:
            return  # a backchannel is no answer
        if np.abs(frame.astype(np.int32)).max(initial=0) >= AUDIBLE:
            response = self.responses.setdefault(response_id, _Response())
            response.begin_s = begin_s if response.begin_s is None else response.begin_s
            response.end_s = self.played_until_s

    def clear(self) -> None:
        """Drop audio that was not played yet."""
        now_s = self._loop.time()
        self.played_until_s = min(self.played_until_s, now_s)
        self._microphone.clear(now_s - self._began_s)
        self.sound.clear(now_s)
        for response in self.responses.values():
            response.end_s = min(response.end_s, now_s)

    def report(self, turn: TurnReport) -> None:
        """Ignore: a call's record has what was heard."""


def _subscribe_none(_: CallSettings) -> Subscriptions:
    return NO_SUBSCRIPTIONS


class SoundCall:
    """One call. services: in virtual time. agent: its code, if any. subscribe: returns the subscribers.

    hearing: of the caller, who reads the agent's words without it.
    """

    def __init__(
        self,
        services: Services,
        agent: RunningAgent | None,
        caller: Caller,
        delivery: Delivery,
        microphone: Microphone,
        random: Random,
        subscribe: Callable[[CallSettings], Subscriptions] = _subscribe_none,
        hearing: Hearing | None = None,
    ) -> None:
        self._caller = caller
        self._delivery = delivery
        self._microphone = microphone
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._began_s = self._loop.time()
        self._agent = agent
        self._ear = _Ear(microphone, self._began_s)
        settings = replace(services.settings, input_format=FORMAT, output_format=FORMAT)
        detection = settings.turn_detection
        self._settle_s = SETTLE_S + (detection.silence_s if detection is not None else 0.0)
        self.session = Session("eval", services, settings, self._ear, subscribe(settings), agent)
        self._language = self.session.language
        self._hearing = hearing
        self._said: list[Said] = []
        self._heard: list[str] = []
        self._frames: list[Samples] = []  # of the line being said
        self._sent = 0
        self._cut_by: Limit = ""

    async def run(self, parameters: dict[str, str], line: Line | None) -> CallRecord:
        """Make the call. Raises CallerError, RecognizerError, SynthesizerError."""
        ended = asyncio.create_task(self.session.ended())
        self.session.identify(parameters, line)
        self.session.begin()
        talking = asyncio.create_task(self._talk())
        sending = asyncio.create_task(self._send())
        try:
            await asyncio.wait({ended, talking, sending}, return_when=asyncio.FIRST_COMPLETED)
            over = ended.done() and not talking.done()
            for task in (talking, sending):
                if task.done():
                    task.result()
        finally:
            for task in (talking, sending):
                task.cancel()
            await asyncio.gather(talking, sending, return_exceptions=True)
            await self.session.close("the caller hung up", "caller_hung_up")
            await ended
        if self._agent is not None:
            await self._agent.hooks_over()
        return self._record("agent" if over else "caller")

    async def _send(self) -> None:
        """Send a frame every 20 ms, at the moment at which its last sample is spoken."""
        while True:
            due_s = self._began_s + (self._sent + 1) * FRAME_S
            await asyncio.sleep(max(0.0, due_s - self._loop.time()))
            voice = self._frames.pop(0) if self._frames else _SILENCE
            self.session.hear(self._microphone.mix(voice, self._sent * _FRAME))
            self._sent += 1

    async def _talk(self) -> None:
        speaks_over = await self._listen(self._caller.over_agent_s())
        while self._loop.time() - self._began_s < MAX_CALL_S:
            line = await self._caller.next(await self._agent_words())
            if line is None:
                self._cut_by = "max_turns" if self._caller.is_cut else ""
                return
            if line.wait_s is not None or not speaks_over:
                await asyncio.sleep(self._random.uniform(*_REACTS_S) if line.wait_s is None else line.wait_s)
            await self._say(line.text, "turn" if self._ear.quiet else "interruption")
            speaks_over = await self._listen(self._caller.over_agent_s())
        self._cut_by = "time"

    async def _say(self, text: str, manner: Manner) -> None:
        """Say a line, and return when it is said."""
        words = words_in(text)
        if not words:
            return
        spoken = await self._delivery.say(text)
        frames = [spoken.sound[at : at + _FRAME] for at in range(0, len(spoken.sound), _FRAME)]
        frames[-1] = np.pad(frames[-1], (0, _FRAME - len(frames[-1])))
        begin_s = self._sent * FRAME_S
        times = begin_s + spoken.begin_s, begin_s + spoken.end_s
        self._said.append(Said("caller", words, *times, manner))
        self._frames = frames
        await asyncio.sleep(
            max(0.0, self._began_s + (self._sent + len(frames)) * FRAME_S - self._loop.time())
        )

    async def _listen(self, over_s: float | None) -> bool:
        """Listen until the answer is over, for `PATIENCE_S` without any sound, or for `MAX_ANSWER_S`.

        Return True early once the answer has lasted `over_s`, for a caller who interrupts it.
        """
        since_s, silent_s = self._loop.time(), 0.0
        backchannel_s = self._random.uniform(*_BACKCHANNEL_AFTER_S) if self._delivery.backchannels else None
        while silent_s < self._settle_s:
            await asyncio.sleep(FRAME_S)
            spoken_s = self._spoken_s(since_s)
            if over_s is not None and spoken_s >= over_s:
                return True
            if backchannel_s is not None and spoken_s >= backchannel_s:
                backchannel_s = None
                await self._say(self._random.choice(_BACKCHANNELS), "backchannel")
            now_s = self._loop.time()
            if now_s - max(since_s, self._ear.played_until_s) > PATIENCE_S or now_s - since_s > MAX_ANSWER_S:
                return False
            silent_s = silent_s + FRAME_S if await self._is_idle() else 0.0
        return False

    def _spoken_s(self, since_s: float) -> float:
        """Return the seconds for which the agent has been answering; 0 while it is silent."""
        if self._ear.quiet:
            return 0.0
        begins = [one.begin_s for one in self._ear.responses.values() if one.begin_s is not None]
        return max((self._loop.time() - begin_s for begin_s in begins if begin_s >= since_s), default=0.0)

    async def _is_idle(self) -> bool:
        """Return True if nothing happens before the caller speaks."""
        if self._agent is not None:
            await self._agent.caller.settled()
            if self._agent.caller.wanted and self.session.quiet:
                return True
        return self._ear.quiet and self.session.idle

    async def _agent_words(self) -> str:
        """Return the agent's words since the caller's last line, as the caller understood them.

        Raises RecognizerError.
        """
        if self._hearing is not None:
            self._heard.append(await self._hearing.words(self._ear.sound.take(self._loop.time())))
            return self._heard[-1]
        last_s = max((one.begin_s for one in self._said if one.manner != "backchannel"), default=-1.0)
        return " ".join(one.text for one in self._agent_said() if one.end_s > last_s)

    def _agent_said(self) -> list[Said]:
        """Return the responses with the words that were played."""
        played = {item.item_id: item.text for item in self.session.items if isinstance(item, MessageItem)}
        return [
            Said(
                "agent",
                played.get(one.item_id, "" if one.cut else one.text).strip(),
                one.begin_s - self._began_s,
                one.end_s - self._began_s,
                cut=one.cut,
            )
            for one in self._ear.responses.values()
            if one.begin_s is not None
        ]

    def _record(self, ended_by: Role) -> CallRecord:
        said = sorted([*self._said, *self._agent_said()], key=lambda one: one.begin_s)
        return CallRecord(
            tuple(said),
            tools_of(self.session.items),
            tuple(self._ear.understood),
            self._loop.time() - self._began_s,
            ended_by,
            tuple(self._ear.failures),
            language=self._language,
            heard=tuple(self._heard),
            cut_by=self._cut_by,
        )


def tools_of(items: Sequence[Item]) -> tuple[ToolUse, ...]:
    """Return the tool calls of a conversation."""
    outputs = {item.call_id: item.output for item in items if isinstance(item, ToolOutputItem)}
    calls = [item.call for item in items if isinstance(item, ToolCallItem)]
    return tuple(
        ToolUse(one.name, arguments_of(one.arguments), outputs.get(one.call_id, "")) for one in calls
    )
