"""One call whose core is an upstream: a `Call` for transports, around the pure `UpstreamConversation`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import structlog

from audio.pcm import Samples
from audio.resample import Resampler, resample
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.settings import CallSettings
from voiceagent.engines.silent import SilentSynthesizer
from voiceagent.session.agent import AgentCode, Line, OfferedTool
from voiceagent.session.call import Client, InputOverflow, new_id
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.keeping import CallObserver, Keeping, NotKept
from voiceagent.session.mcp import configured_tools
from voiceagent.session.references import weak_callback
from voiceagent.session.services import Services
from voiceagent.session.speaking import Speaker
from voiceagent.session.tool_running import ToolRunner, ToolSource
from voiceagent.upstream.connection import Upstream, UpstreamConnection
from voiceagent.upstream.conversation import UpstreamConversation
from voiceagent.upstream.messages import UPSTREAM_HZ, Event, Send, Wanted
from voiceagent.upstream.times import UpstreamTimes

log = structlog.get_logger()


class UpstreamCall:
    """One call. Everything runs on the event loop that made it; nothing here waits for the upstream."""

    def __init__(
        self,
        call_id: str,
        services: Services,
        settings: CallSettings,
        client: Client,
        upstream: Upstream,
        keeping: Keeping | None = None,
        agent: AgentCode | None = None,
        observer: CallObserver | None = None,
    ) -> None:
        self._call_id = call_id
        self._log = log.bind(call=call_id)
        self._services, self._client, self._agent, self._observer = services, client, agent, observer
        self._keeping = keeping or NotKept()
        self.language = services.speaking.language
        self._line: Line | None = None
        self._parameters: Mapping[str, str] = {}
        settings = replace(settings, voice=upstream.config.voice)
        self._conversation = UpstreamConversation(
            settings, upstream.config.transcription, services.answering.policy.limits, new_id
        )
        self._connection = UpstreamConnection(call_id, upstream, services.measuring.clock)
        self._connecting: asyncio.Task[None] | None = None
        post, end = weak_callback(self.post), weak_callback(self._end)
        self._monitor = CallMonitor(
            call_id, services.measuring, services.deadlines, lambda awaited, reason: None, end
        )
        play = partial(_play, client, self._keeping)
        speaking = replace(services.speaking, synthesizer=SilentSynthesizer())  # of an upstream's rate
        self._times = UpstreamTimes(services.measuring.clock, self._connection.spoken_at_s)
        self._speaker = Speaker(play, client.clear, speaking, post, self._times.first_frame)
        self._speaker.configure(settings)
        self._tools = ToolRunner(
            call_id,
            services.measuring,
            post,
            self._monitor,
            services.speaking.filler_after_s,
            weak_callback(self._tool_ended),
            self._keeping.tool_began,
        )
        self._resampler = Resampler(settings.input_format.rate_hz, UPSTREAM_HZ)
        self._heard_s = 0.0
        self._steps: deque[tuple[ev.Event, Callable[[], list[Wanted]]]] = deque()
        self._handling = self._closed = False
        self._ended = asyncio.Event()
        self._stopped = asyncio.Event()
        if services.mcp is not None and (tools := configured_tools(services.mcp)):
            self.offer(tools, "mcp")
        if agent is not None:
            agent.join(self)

    @property
    def settings(self) -> CallSettings:
        """The settings now in force."""
        return self._conversation.settings

    @property
    def items(self) -> Sequence[Item]:
        """The conversation so far."""
        return self._conversation.history.items

    @property
    def quiet(self) -> bool:
        """Nobody speaks; tools may run."""
        return self._conversation.quiet

    @property
    def line(self) -> Line | None:
        """What the line can do beside sound."""
        return self._line

    def identify(self, parameters: Mapping[str, str], line: Line | None = None) -> None:
        """What is known of the call, and what its line can do beside sound."""
        self._line, self._parameters = line, parameters
        if self._agent is not None:
            self._agent.identify(parameters)

    def join_trace(self, traceparent: str) -> None:
        """The call is part of its caller's trace; before `begin`."""
        if traceparent:
            self._keeping.joined_trace(traceparent)

    def begin(self) -> None:
        """The client is there: have the upstream called, and the caller greeted."""
        greeting = self._services.speaking.greeting if self._agent is None else self._agent.greeting
        self.post(ev.CallStarted(greeting))
        if self._observer is not None:
            self._observer.began(self.settings.agent, self.settings.model, self._parameters)
        if self._agent is not None:
            self._agent.begin()
        self._connecting = asyncio.create_task(self._connection.run(self), name="upstream")

    def take_over(
        self, agent: str, tools: Sequence[OfferedTool], instructions: str, voice: str | None = None
    ) -> None:
        """The call has this agent from now on, under its name, and with these tools beside the line's."""
        self.post(ev.AgentChanged(agent, self._tools.offer(tools, "agent"), instructions, voice))

    def offer(self, tools: Sequence[OfferedTool], source: ToolSource = "line") -> None:
        """Let the agent use what the line of this call can do, or other tools beside its own."""
        self.post(ev.AgentChanged(self.settings.agent, self._tools.offer(tools, source)))

    def mcp_refusal(self, server: McpServer) -> str | None:
        """No client may name MCP servers here."""
        return f"{server.label}: calls that go to an upstream have no MCP servers of clients"

    def hear(self, samples: Samples) -> None:
        """Take the caller's next sound, int16 mono at the rate of the input format. Raises InputOverflow."""
        if self._closed:
            return
        limit_s = self._services.hearing.input_buffer_s
        if self._connection.waiting_s > limit_s:
            raise InputOverflow(self._connection.waiting_s, limit_s)
        self._connection.hear(self._resampler.push(samples))
        rate_hz = self.settings.input_format.rate_hz
        self._heard_s += len(samples) / rate_hz
        self._keeping.heard(samples, rate_hz)

    def handle(self, request: ev.ClientRequest) -> None:
        """Take a request of the client."""
        before_hz = self.settings.input_format.rate_hz
        self.post(request)
        if (rate_hz := self.settings.input_format.rate_hz) != before_hz:
            self._resampler = Resampler(rate_hz, UPSTREAM_HZ)

    def press(self, digit: str, received_at: int) -> bool:
        """The caller pressed a key; whether the agent's code has taken it."""
        self.post(ev.KeyPressed(digit, received_at))
        return self._agent is not None and not self._closed and self._agent.pressed(digit)

    def played(self, response_id: str, played_s: float) -> None:
        """The client has played so much of the response's sound."""
        if not self._closed:
            self._speaker.played(response_id, played_s)

    def post(self, event: ev.Event) -> None:
        """Take an event in and carry out what comes of it, in order, before anything else happens."""
        self._take(event, partial(self._conversation.handle, event))

    # ---- the upstream

    def upstream_connected(self) -> None:
        """See `UpstreamListener`."""
        self._take(ev.UpstreamTold("connected"), self._conversation.connected)

    def upstream_sent(self, event: Event) -> None:
        """See `UpstreamListener`. An event that cannot be read is passed over."""
        self._take(ev.UpstreamTold(str(event.get("type"))), partial(self._read, event))

    def upstream_lost(self) -> None:
        """See `UpstreamListener`."""
        self._take(ev.UpstreamTold("lost"), self._conversation.lost)

    def upstream_given_up(self, reason: str) -> None:
        """See `UpstreamListener`: the caller hears the apology, and the call ends."""
        self._log.error("upstream_given_up", reason=reason)
        speaking = self._services.speaking
        made = np.concatenate([speech.samples for speech in speaking.apology.sound])
        sound = resample(made, speaking.synthesizer.rate_hz, UPSTREAM_HZ)
        text = speaking.apology.fragment.text.strip()
        give_up = partial(self._conversation.give_up, "the upstream was given up", text, sound)
        self._take(ev.UpstreamTold("given up"), give_up)

    def _read(self, event: Event) -> list[Wanted]:
        try:
            return self._conversation.take(event)
        except (KeyError, TypeError, ValueError) as error:
            self._log.warning("upstream_event_unread", type=str(event.get("type"))[:80], reason=repr(error))
            return []

    # ---- what is done

    def _take(self, event: ev.Event, step: Callable[[], list[Wanted]]) -> None:
        if self._closed:
            return
        self._steps.append((event, step))
        if self._handling:  # what is carried out posts events itself: they come after it
            return
        self._handling = True
        try:
            while self._steps:
                event, step = self._steps.popleft()
                wanted = step()
                self._keep(event, wanted)
                for command in wanted:
                    self._execute(command)
        except Exception as error:
            # A fault of ours must not leave a call that neither speaks nor ends.
            self._monitor.fatal("upstream", error)
        finally:
            self._handling = False

    def _keep(self, event: ev.Event, wanted: list[Wanted]) -> None:
        """The log has what was decided; sound, which comes all the time, is in the recording."""
        commands = [one for one in wanted if not isinstance(one, Send | do.Play)]
        calls = tuple(one.call for one in wanted if isinstance(one, do.RunTool | notify.NotifyToolCall))
        if calls:  # by the event that tells of them in all logs
            event = ev.ToolCallsReady("", calls)
        if commands or not isinstance(event, ev.UpstreamTold):
            self._keeping.took(event, self._heard_s, (), commands)

    def _execute(self, command: Wanted) -> None:
        self._times.command(command)
        match command:
            case Send(event):
                self._connection.send(event)
            case do.Play(response_id, speech):
                self._speaker.play(response_id, speech.samples)
            case do.FinishPlayout(response_id):
                self._speaker.finish(response_id)
            case do.StopPlayout(response_id):
                played_s = self._speaker.stop(response_id)
                self._keeping.stopped(response_id, played_s)
                self.post(ev.PlayoutStopped(response_id, played_s))
            case do.ConfigureSpeaking(settings):
                self._speaker.configure(settings)
            case do.RunTool(call):
                self._tools.run(call)
            case do.TurnConcluded() | do.ResponseConcluded():
                self._concluded(command)
            case do.HangUp(reason):
                self._log.info("hanging_up", reason=reason)
                self._end()
            case _:
                self._notify(command)

    def _concluded(self, command: do.TurnConcluded | do.ResponseConcluded) -> None:
        if self._agent is not None:
            self._agent.told(command)
        if isinstance(command, do.ResponseConcluded):
            spoken = (item for item in reversed(self.items) if isinstance(item, MessageItem))
            said = next((item for item in spoken if item.role == "assistant"), None)
            if said is not None:
                self._keeping.played(said)

    def _notify(self, notification: do.Command) -> None:
        match notification:
            case notify.NotifyResponseEnded(response_id, "failed", reason):
                self._log.warning("response_failed", response=response_id, reason=reason)
            case notify.NotifyError(code, message):
                self._log.warning("upstream_error", code=code, reason=message)
        self._client.notify(notification)  # type: ignore[arg-type]  # all others were carried out
        if isinstance(notification, notify.NotifyResponseEnded):
            report = self._times.report(notification)
            if report is not None:
                report = replace(report, response_id=notification.response_id)
                self._services.measuring.metrics.observe(report, self._call_id)
                self._keeping.answered(report)
                if self.settings.latency_events:
                    self._client.report(report)

    def _tool_ended(self, name: str, failure: str) -> None:
        if self._agent is not None:
            self._agent.tool_ended(name, failure)

    # ---- the end

    async def ended(self) -> None:
        """Wait until the call has ended by itself."""
        await self._ended.wait()

    async def close(self, reason: str) -> None:
        """Hang up: all work of the call stops. Returns when it has stopped; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._end()
        self._log.info("call_ended", reason=reason)
        response_id, played_s = self._speaker.position
        if response_id:
            self._keeping.stopped(response_id, played_s)
        self._conversation.handle(ev.CallerGone(response_id, played_s))
        self._monitor.close()
        self._speaker.close()
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        await self._tools.close()
        if self._agent is not None:
            self._agent.end()
        self._keeping.ended(reason, self.items)
        if self._observer is not None:
            self._observer.ended(reason, self.items)
        self._stopped.set()

    async def stopped(self) -> None:
        """Wait until the call is closed, and all its work has stopped."""
        await self._stopped.wait()

    def _end(self) -> None:
        self._ended.set()


def _play(client: Client, keeping: Keeping, response_id: str, frame: Samples, rate_hz: int) -> None:
    client.play(response_id, frame)
    keeping.sent(response_id, frame, rate_hz)
