"""Shell of a call whose core is a realtime backend: a `Call` for transports around `UpstreamConversation`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from audio.pcm import Samples
from audio.resample import Resampler, resample
from voiceagent.conversation import call_events
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.settings import CallSettings
from voiceagent.engines.silent import SilentSynthesizer
from voiceagent.session.agent import AgentCode
from voiceagent.session.background import Background, TypingSound
from voiceagent.session.base_call import BaseCall
from voiceagent.session.call import Client, Ids, InputOverflow, plays_sounds
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.publishing import NO_SUBSCRIPTIONS, CallPublisher, Subscriptions
from voiceagent.session.references import weak_callback
from voiceagent.session.services import Services
from voiceagent.session.speaking import Speaker
from voiceagent.session.tool_running import ToolRunner
from voiceagent.upstream import messages
from voiceagent.upstream.apis import WAITED, api_mark, new_api
from voiceagent.upstream.connection import Upstream, UpstreamConnection
from voiceagent.upstream.conversation import UpstreamConversation
from voiceagent.upstream.messages import UPSTREAM_HZ, Action, Event, Send, Wait
from voiceagent.upstream.times import UpstreamTimes

UPSTREAM_SILENCE_S = 10.0
"""Silence sent to a backend after the audio of a client that stops sending. It is the maximum of
`silence_duration_ms`, and more than OpenAI's `semantic_vad` waits for (8 s with low eagerness).
"""
MAX_INVALID_EVENTS = 1_000
"""Invalid events of a call's backend, skipped and logged, after which the caller hears the apology."""
Step = tuple[Callable[[], ev.Event], Callable[[], list[Action]]]
"""An event for the log, and the conversation's reaction to it."""


class UpstreamCall(BaseCall):
    """A call whose core is a realtime backend. Runs on the event loop that made it, and never waits."""

    _conversation: UpstreamConversation
    takes_turns = False

    def __init__(
        self,
        call_id: str,
        services: Services,
        settings: CallSettings,
        client: Client,
        upstream: Upstream,
        subscriptions: Subscriptions = NO_SUBSCRIPTIONS,
        agent: AgentCode | None = None,
    ) -> None:
        super().__init__(call_id, services, subscriptions, agent)
        self._services, self._client = services, client
        self._ids = Ids()
        config = upstream.config
        api = new_api(config.api, self._ids.new, config.model_name, config.backend_model)
        limits = services.answering.policy.limits
        self._conversation = UpstreamConversation(settings, config.transcription, limits, self._ids.new, api)
        self._waits: dict[str, asyncio.TimerHandle] = {}
        clock, max_waiting_s = services.measuring.clock, services.hearing.input_buffer_s
        self._connection = UpstreamConnection(call_id, upstream, clock, max_waiting_s)
        self._connecting: asyncio.Task[None] | None = None
        post, end = weak_callback(self.post), weak_callback(self._end)
        self._monitor = CallMonitor(
            call_id, services.measuring, services.limits, lambda awaited, reason: None, end
        )
        play = partial(_play_frame, client, self._publisher)
        speaking = replace(services.speaking, synthesizer=SilentSynthesizer())  # at the backend's rate
        self._times = UpstreamTimes(services.measuring.clock, self._connection.spoken_at_s)
        fill = partial(_fill, client, self._publisher)
        self.background = Background(fill, speaking, self._log, plays_sounds(client))
        self._speaker = Speaker(play, client.clear, speaking, post, self._times.first_frame, self.background)
        self._configure_speaking(settings)
        self._tools = self._tool_runner(services)
        self._typing = TypingSound(self.background, agent, self._tools)
        self._resampler = Resampler(settings.input_format.rate_hz, UPSTREAM_HZ)
        self._heard_s = self._silent_from_s = 0.0
        self._invalid_events = 0
        # Marks the log as a call with a backend, even if the caller hangs up before that connects.
        self._handle_step(partial(ev.UpstreamEvent, "called", api_mark(config.api)), lambda: [])
        self._join_agent_and_tools(services)

    def _tool_runner(self, services: Services) -> ToolRunner:
        measuring, filler_after_s = services.measuring, services.speaking.filler_after_s
        ended, began = weak_callback(self._tool_ended), self._publisher.enter_tool
        post = weak_callback(self.post)
        return ToolRunner(self.call_id, measuring, post, self._monitor, filler_after_s, ended, began)

    @property
    def private(self) -> bool:
        """False: the backend hears everything, so that private input is refused."""
        return False

    def begin(self, greet: bool = True) -> None:
        """Connect the backend and greet the caller."""
        super().begin(greet)
        self._connecting = asyncio.create_task(self._connection.run(self), name="upstream")

    def mcp_refusal(self, server: McpServer) -> str | None:
        """Return the refusal of a client's MCP server: backends have none."""
        return f"{server.label}: calls that go to an upstream have no MCP servers of clients"

    def _push_audio(self, samples: Samples, rate_hz: int, filler: bool, begins_ago_s: float = 0.0) -> None:
        limit_s = self._services.hearing.input_buffer_s
        if self._connection.waiting_s > limit_s:
            if filler:  # not connected yet: drop silence
                return
            raise InputOverflow(self._connection.waiting_s, limit_s)
        self._connection.push_audio(self._resampler.push(samples))
        self._heard_s += len(samples) / rate_hz
        self._publisher.on_input_audio(samples, rate_hz, begins_ago_s)
        if not filler:
            self._silent_from_s = self._heard_s

    @property
    def _awaits_silence(self) -> bool:
        """True while the backend, which detects turns, may be waiting for silence to end one."""
        silent_s = self._heard_s - self._silent_from_s
        return self._conversation.caller_speaks and silent_s < UPSTREAM_SILENCE_S

    def handle(self, request: ev.ClientRequest) -> None:
        before_hz = self.settings.input_format.rate_hz
        self.post(request)
        if (rate_hz := self.settings.input_format.rate_hz) != before_hz:
            self._resampler = Resampler(rate_hz, UPSTREAM_HZ)

    def played(self, response_id: str, played_s: float, all_along: bool = False) -> None:
        """Record how much of a response's audio the client has played."""
        if not self._closed:
            self._speaker.played(response_id, played_s, all_along)

    def post(self, event: ev.Event) -> None:
        """Handle an event and execute its commands before any later event."""
        self._handle_step(lambda: event, partial(self._conversation.handle, event))

    # ---- the upstream

    def upstream_connected(self) -> None:
        self._handle_step(partial(ev.UpstreamEvent, "connected"), self._conversation.connected)

    def upstream_sent(self, event: Event) -> None:
        """See `UpstreamListener`. Invalid events are logged and skipped. A backend that is too far ahead with
        its audio is given up: the caller would hear it long after its connection has ended.
        """
        if self._conversation.ignores(event):
            return
        try:
            self._conversation.check_ahead(self._playing[1])
        except ValueError as error:
            self._handle_step(partial(ev.UpstreamEvent, "too far ahead"), self._conversation.drop_audio)
            self._connection.abandon(str(error))
            return
        self._handle_step(partial(messages.to_logged, event), partial(self._read, event))

    def upstream_lost(self) -> None:
        self._handle_step(partial(ev.UpstreamEvent, "lost"), self._conversation.lost)

    def upstream_given_up(self, reason: str) -> None:
        """See `UpstreamListener`: the caller hears the apology, and the call ends."""
        self._log.error("upstream_abandoned", reason=reason)
        self._end_code = "upstream_lost"  # the call ends after the apology
        speaking = self._services.speaking
        made = np.concatenate([speech.samples for speech in speaking.apology.sound])
        sound = resample(made, speaking.synthesizer.rate_hz, UPSTREAM_HZ)
        text = speaking.apology.fragment.text.strip()
        give_up = partial(self._conversation.give_up, text, sound)
        self._handle_step(partial(ev.UpstreamEvent, "given up", text, sound), give_up)

    def _read(self, event: Event) -> list[Action]:
        try:
            return self._conversation.on_upstream_event(event)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = repr(error)[:200]
            self._log.warning("upstream_event_invalid", type=str(event.get("type"))[:80], reason=reason)
            self._invalid_events += 1
            if self._invalid_events >= MAX_INVALID_EVENTS:
                self._connection.abandon(f"it sent {MAX_INVALID_EVENTS} invalid events; the last: {reason}")
            return []

    # ---- commands

    def _handle_step(self, event: Callable[[], ev.Event], decide: Callable[[], list[Action]]) -> None:
        if not self._closed:
            self._handle_in_order((event, decide), self._carry_out, "upstream")

    def _carry_out(self, step: Step) -> None:
        event, decide = step
        self._ids.created = []
        wanted = decide()
        self._publish(event, wanted)
        for command in wanted:
            self._execute(command)

    def _publish(self, event: Callable[[], ev.Event], wanted: list[Action]) -> None:
        """Publish an event. Tool calls are published as the same event as in other calls."""
        if not self._publisher.has_subscribers:
            return
        calls = tuple(one.call for one in wanted if isinstance(one, do.RunTool | notify.NotifyToolCall))
        if calls:
            ready = call_events.EventHandled(ev.ToolCallsReady("", calls), self._heard_s, (), ())
            self._publisher.publish(ready)
        commands = messages.for_log(wanted)
        handled = call_events.EventHandled(event(), self._heard_s, tuple(self._ids.created), commands)
        self._publisher.publish(handled)

    def _execute(self, command: Action) -> None:
        self._times.command(command)
        match command:
            case Send(event):
                self._connection.send(event)
            case Wait():
                self._wait(command)
            case do.Play(response_id, speech):
                self._speaker.play(response_id, speech.samples)
                self._publisher.publish(call_events.AudioStarted(response_id))
            case do.FinishPlayout(response_id):
                self._speaker.finish(response_id)
            case do.StopPlayout(response_id, interrupted_by):
                self._log.info("response_interrupted", response=response_id, interrupted_by=interrupted_by)
                played_s = self._speaker.stop(response_id)
                dropped_s = self.background.pop_dropped_s()
                self._publisher.publish(call_events.ResponseStopped(response_id, played_s, dropped_s))
                self.post(ev.PlayoutStopped(response_id, played_s))
            case do.ConfigureSpeaking(settings):
                self._configure_speaking(settings)
            case do.RunTool(call):
                self._tools.run(call)
                self._typing.on_tool_began()
            case do.TurnConcluded() | do.ResponseConcluded():
                self._concluded(command)
            case do.HangUp(reason, end_code):
                self._log.info("hanging_up", reason=reason)
                self._end(reason, end_code)
            case _:
                self._notify(command)

    def _configure_speaking(self, settings: CallSettings) -> None:
        self.background.configure(settings)
        self._speaker.configure(settings)

    def _wait(self, wait: Wait) -> None:
        if (earlier := self._waits.get(wait.name)) is not None:
            earlier.cancel()
        report = weak_callback(self._waited)
        self._waits[wait.name] = asyncio.get_running_loop().call_later(wait.seconds, report, wait.name)

    def _waited(self, name: str) -> None:
        self._handle_step(partial(ev.UpstreamEvent, WAITED, name), partial(self._conversation.waited, name))

    def _concluded(self, command: do.TurnConcluded | do.ResponseConcluded) -> None:
        if self._agent is not None:
            self._agent.on_concluded(command)
        if isinstance(command, do.ResponseConcluded):
            self._publisher.publish(call_events.MessagePlayed(self._conversation.heard.popleft()))

    def _notify(self, notification: do.Command) -> None:
        match notification:
            case notify.NotifyResponseEnded(response_id, "failed", reason):
                self._log.warning("response_failed", response=response_id, reason=reason)
            case notify.NotifyError(code, message):
                self._log.warning("upstream_error", code=code, reason=message)
        self._client.notify(notification)  # type: ignore[arg-type]  # commands were executed before
        if isinstance(notification, notify.NotifySpeechStarted):
            self._silence.watch()
        if isinstance(notification, notify.NotifyResponseEnded):
            report = self._times.report(notification)
            if report is not None:
                self._services.measuring.metrics.observe(report, self.call_id)
                self._publisher.publish(call_events.ResponseDone(report))
                if self.settings.latency_events:
                    self._client.report(report)

    def _tool_ended(self, name: str, failure: str) -> None:
        self._typing.on_tool_ended()
        if self._agent is not None:
            self._agent.tool_ended(name, failure)

    # ---- the end

    @property
    def _runner(self) -> ToolRunner:
        return self._tools

    @property
    def _playing(self) -> tuple[str, float]:
        return self._speaker.position

    def _handle_gone(self, gone: ev.CallerGone) -> list[TurnReport]:
        self._ids.created = []
        reports = self._times.hung_up(self._conversation.usages)
        self._publish(lambda: gone, self._conversation.handle(gone))
        for said in self._conversation.heard:  # not reported by commands
            self._publisher.publish(call_events.MessagePlayed(said))
        for report in reports:
            self._services.measuring.metrics.observe(report, self.call_id)
        return reports

    async def _stop(self) -> None:
        self._monitor.close()
        self._speaker.close()
        self._typing.close()
        self.background.close()
        for timer in self._waits.values():
            timer.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        await self._tools.close()


def _play_frame(
    client: Client, publisher: CallPublisher, response_id: str, frame: Samples, rate_hz: int
) -> None:
    client.play(response_id, frame)
    publisher.on_output_audio(response_id, frame, rate_hz)


def _fill(client: Client, publisher: CallPublisher, frame: Samples, rate_hz: int) -> None:
    """Send a frame of sounds without speech."""
    client.play("", frame)
    publisher.on_output_audio(call_events.BACKGROUND, frame, rate_hz)
