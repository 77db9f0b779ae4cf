"""The part of a call that does not depend on the source of its responses."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, ClassVar, Protocol, TypeVar
from weakref import ref

import numpy as np
import structlog

from audio.pcm import Samples
from voiceagent.conversation import call_events
from voiceagent.conversation import events as ev
from voiceagent.conversation.causes import CallEndCode
from voiceagent.conversation.history import History, Item
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.agent import AgentCode, Line, OfferedTool, Pressed
from voiceagent.session.background import Background
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.mcp import configured_tools
from voiceagent.session.publishing import CallPublisher, Subscriptions
from voiceagent.session.references import weak_callback
from voiceagent.session.services import Services
from voiceagent.session.silence_filling import SilenceFilling
from voiceagent.session.speaking import Speaker
from voiceagent.session.tool_running import ToolRunner, ToolSource
from voiceagent.telemetry.call_ids import CallIds, enter_call, leave_call

log = structlog.get_logger()

Posted = TypeVar("Posted")

STALL_LOGGED_S = 1.0
"""Stalls of a line that are longer than this are logged."""
STALL_REASON = "no audio of the caller arrived for a while, and then all of it at once"


class CallState(Protocol):
    """State of a call, whatever makes its responses."""

    history: History

    @property
    def settings(self) -> CallSettings:
        """The settings now in force."""

    @property
    def quiet(self) -> bool:
        """True if neither side speaks; tools may run."""


class BaseCall(ABC):
    """One call: its subscribers, the capabilities of its line, its tools, and its end.

    A subclass makes the responses: it sets `_conversation`, `_monitor`, `background` and `_speaker`, handles
    events in `post` and audio in `_push_audio`, and ends its work in `_handle_gone` and `_stop`.
    """

    _conversation: CallState
    _monitor: CallMonitor
    background: Background
    _speaker: Speaker
    takes_turns: ClassVar[bool] = True
    """False if another server decides about turns."""

    def __init__(
        self, call_id: str, services: Services, subscriptions: Subscriptions, agent: AgentCode | None
    ) -> None:
        self.call_id = call_id
        self._log_ids = CallIds(call_id)
        enter_call(self._log_ids)  # for the rest of the transport's task
        self._usual_language = services.speaking.language
        self.languages = tuple(rules.language for rules in services.answering.policy.languages)
        """The languages of calls, the configured one first; () for that one alone."""
        self._greeting = services.speaking.greeting
        self._agent = agent
        self._publisher = CallPublisher(call_id, subscriptions, services.measuring.metrics.call_faults)
        self._log = log.bind(call=call_id)
        self._line: Line | None = None
        self._parameters: Mapping[str, str] = {}
        self._ended = asyncio.Event()
        self._hung_up = ""
        self._end_code: CallEndCode = ""
        self._stopped = asyncio.Event()
        self._closed = False
        self._queued: deque[Any] = deque()
        self._handling = False
        call = ref(self)

        def awaits_silence() -> bool:
            alive = call()
            return alive is not None and not alive._closed and alive._awaits_silence

        fill = weak_callback(self._fill_silence)
        self._silence = SilenceFilling(services.measuring.clock, awaits_silence, fill)

    @property
    def settings(self) -> CallSettings:
        """The settings now in force."""
        return self._conversation.settings

    @property
    def language(self) -> str:
        """ISO 639 code of the spoken language."""
        return self.settings.language or self._usual_language

    @property
    def items(self) -> Sequence[Item]:
        """The conversation so far."""
        return self._conversation.history.items

    @property
    def quiet(self) -> bool:
        """True if neither side speaks; tools may run."""
        return self._conversation.quiet

    def hear(self, samples: Samples, filler: bool = False) -> None:
        """Push the caller's next audio; see `Call`. Raises InputOverflow."""
        if self._closed:
            return
        rate_hz = self.settings.input_format.rate_hz
        if filler:
            samples = self._silence.unfilled(samples, rate_hz)
            if len(samples):
                self._push_audio(samples, rate_hz, filler)
            return
        self._push_audio(samples, rate_hz, filler)
        late_s = self._silence.add_audio(len(samples) / rate_hz)
        if late_s > STALL_LOGGED_S:
            self._log.warning("connection_stalled", for_s=round(late_s, 1), reason=STALL_REASON)

    def pause_output(self, paused: bool) -> None:
        """Send none of the agent's audio, or go on with it. Background sounds go on."""
        if not self._closed:
            self._speaker.pause(paused)

    def _fill_silence(self, seconds: float) -> None:
        """Push silence for the last `seconds`, in which the line sent nothing."""
        if not self._closed:
            rate_hz = self.settings.input_format.rate_hz
            silence = np.zeros(round(seconds * rate_hz), np.int16)
            self._push_audio(silence, rate_hz, filler=True, begins_ago_s=seconds)

    def _push_audio(self, samples: Samples, rate_hz: int, filler: bool, begins_ago_s: float = 0.0) -> None:
        """Push the caller's next audio. begins_ago_s: age of its beginning by the clock, if it did not
        just arrive. Raises InputOverflow, but never for filler.
        """
        raise NotImplementedError

    @property
    def _awaits_silence(self) -> bool:
        """True if silence of the caller would change anything now."""
        return False

    def start_sound(self, name: str, volume: float) -> int:
        """Play a background sound. Return its number."""
        return self.background.start(name, volume)

    def stop_sound(self, number: int) -> None:
        self.background.stop(number)

    @property
    @abstractmethod
    def _runner(self) -> ToolRunner:
        """Runner of the call's tools."""

    @abstractmethod
    def post(self, event: ev.Event) -> None:
        """Handle an event and execute its commands, in order, before the next event."""

    def _handle_in_order(self, new: Posted, handle: Callable[[Posted], None], name: str) -> bool:
        """Handle `new`, then, in order, everything posted meanwhile. Return False if called
        during such handling: `new` is then queued. name: name of `new` in the log of a fault.
        """
        self._queued.append(new)
        if self._handling:  # commands post events themselves
            return False
        self._handling = True
        # set for each event: most come from callbacks that calls share
        entered = enter_call(self._log_ids)
        try:
            while self._queued:
                handle(self._queued.popleft())
        except Exception as error:
            # a fault of the server must not leave a call that neither speaks nor ends
            self._monitor.fatal(name, error)
        finally:
            leave_call(entered)
            self._handling = False
        return True

    @property
    @abstractmethod
    def _playing(self) -> tuple[str, float]:
        """The response that is playing, "" for none, and the seconds of it that were played by now."""

    @abstractmethod
    def _handle_gone(self, gone: ev.CallerGone) -> list[TurnReport]:
        """Handle and record the end of the call, without commands. Return the reports, already counted, of
        the responses during which it ended.
        """

    @abstractmethod
    async def _stop(self) -> None:
        """Stop all work and wait until it has stopped."""

    @property
    def line(self) -> Line | None:
        """Capabilities of the line other than audio."""
        return self._line

    def identify(self, parameters: Mapping[str, str], line: Line | None = None, line_call: str = "") -> None:
        """Set the call's metadata, its line's capabilities and the provider's call id."""
        self._parameters = parameters
        self.use_line(line)
        self._publisher.publish(call_events.CallIdentified(line_call, parameters))
        if self._agent is not None:
            self._agent.identify(parameters)

    @property
    def background_sounds(self) -> Sequence[str]:
        """Names of the background sounds that play now."""
        return self.background.sounds

    def use_line(self, line: Line | None) -> None:
        """Set the line's capabilities, of a call without metadata."""
        self._line = line

    def join_trace(self, traceparent: str) -> None:
        """Make the call part of its caller's trace. Call before `begin`."""
        if traceparent:
            self._publisher.join_trace(traceparent)

    def begin(self, greet: bool = True) -> None:
        """Start the call: notify the client of the settings, and greet the caller if there is a greeting."""
        # the end may be lost with the process: this line records whose call it was
        named = {"agent": self.settings.agent, "model": self.settings.model[:80]}  # a client's string
        self._log.info("call_began", **named)
        greeting = self._greeting if self._agent is None else self._agent.greeting
        greet = greet and not self._start_answer()
        self.post(ev.CallStarted(greeting if greet else ""))
        settings = self.settings
        self._publisher.publish(call_events.CallBegan(settings.agent, settings.model, self._parameters))
        if self._agent is not None:
            self._agent.begin()

    def _start_answer(self) -> bool:
        """Begin to decide who answered an outbound call, if its line can. Return True if the agent's code
        greets after the decision.
        """
        outbound = None if self._line is None else self._line.outbound
        if outbound is None or outbound.answer is None or self._agent is None or not self.takes_turns:
            return False
        if not self._agent.waits_for_answer:
            return False
        outbound.answer.start()
        return True

    def take_over(
        self, agent: str, tools: Sequence[OfferedTool], instructions: str, voice: str | None = None
    ) -> None:
        """Give the call to this agent, by its name, with its tools in addition to those of other sources."""
        self.post(ev.AgentChanged(agent, self._runner.offer(tools, "agent"), instructions, voice))

    def offer(self, tools: Sequence[OfferedTool], source: ToolSource = "line") -> None:
        """Offer the agent tools of the line, or of another source, in addition to its own."""
        self.post(ev.AgentChanged(self.settings.agent, self._runner.offer(tools, source)))

    def press(self, digit: str, received_at: int) -> Pressed:
        """Handle a key of the caller. Return how it was handled."""
        self.post(ev.KeyPressed(digit, received_at))
        if self._agent is None or self._closed:
            return Pressed.UNASKED
        return self._agent.pressed(digit)

    async def ended(self) -> str:
        """Wait until the call has ended. Return the reason for hanging up, "" if the connection broke off."""
        await self._ended.wait()
        return self._hung_up

    async def close(self, reason: str, end_code: CallEndCode = "") -> None:
        """Hang up: stop all work of the call and wait until it has stopped. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._silence.close()
        # on request: its connection ends normally too
        self._end(reason if end_code == "hung_up_by_id" else "", end_code)
        # logged before the first await: an engine that hangs must not suppress it
        self._log.info("call_ended", reason=reason, end_code=self._end_code)
        try:
            self._record_end()
            await self._stop()
            if self._agent is not None:
                self._agent.end()
            self._publisher.publish(call_events.CallEnded(reason, self.items, self._end_code))
        finally:  # a server that shuts down must not wait for a broken call
            self._stopped.set()

    async def stopped(self) -> None:
        """Wait until the call is closed, and all its work has stopped except `tools_at_work`."""
        await self._stopped.wait()

    @property
    def tools_at_work(self) -> Set[asyncio.Task[None]]:
        """Tasks of the agent's tools that have not ended."""
        return self._runner.at_work

    def _record_end(self) -> None:
        """Record the part of the last response that was played, and end the recording."""
        response_id, played_s = self._playing
        if response_id:
            self._publisher.publish(call_events.ResponseStopped(response_id, played_s))
        try:
            for report in self._handle_gone(ev.CallerGone(response_id, played_s)):
                if report.recorded:
                    self._publisher.publish(call_events.ResponseDone(report))
        except Exception as fault:  # a fault of the server must not keep a call from ending
            self._monitor.fault("the end of the call", fault)

    def _end(self, hung_up: str, end_code: CallEndCode) -> None:
        """Mark the call as ended. hung_up: why the agent or a request ended it. The first code counts."""
        self._hung_up = self._hung_up or hung_up
        self._end_code = self._end_code or end_code
        self._ended.set()

    def _join_agent_and_tools(self, services: Services) -> None:
        """Offer the configured tools and bind the agent's code. Last step of a subclass's constructor,
        because both post events.
        """
        transcribes = self.settings.only_transcribes
        if services.mcp is not None and not transcribes and (tools := configured_tools(services.mcp)):
            self.offer(tools, "mcp")
        if self._agent is not None:
            self._agent.join(self)
