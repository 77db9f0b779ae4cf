"""One call with a turn machine: passes events to the conversation and executes its commands."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from audio.pcm import Samples
from llmcore.policies.load_shedding import SheddingLevel
from voiceagent.conversation import call_events
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.privacy import withheld_commands, withheld_event
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.agent import AgentCode
from voiceagent.session.base_call import BaseCall
from voiceagent.session.call import Client, Ids
from voiceagent.session.executor import CommandExecutor
from voiceagent.session.overlap_scores import OverlapScores
from voiceagent.session.publishing import NO_SUBSCRIPTIONS, Subscriptions
from voiceagent.session.references import weak_callback
from voiceagent.session.services import Measuring, Services
from voiceagent.session.timers import EventTimer
from voiceagent.session.tool_running import ToolRunner

MAX_PENDING_TOOLS = 32
"""Maximum pending calls of one conversation; older ones are not measured."""


class ToolTimes:
    """Measures from the model's call to the output, whether the server or the client runs the tool."""

    def __init__(self, measuring: Measuring) -> None:
        self._clock = measuring.clock
        self._seconds = measuring.metrics.tool_seconds
        self._asked_s: OrderedDict[str, float] = OrderedDict()

    def on_event(self, event: ev.Event) -> None:
        """Handle an event of the call."""
        if isinstance(event, ev.ToolCallsReady):
            for call in event.calls:
                self._asked_s[call.call_id] = self._clock()
                if len(self._asked_s) > MAX_PENDING_TOOLS:
                    self._asked_s.popitem(last=False)
        elif isinstance(event, ev.ItemCreated) and isinstance(event.item, ToolOutputItem):
            self._answered(event.item.call_id)
        elif isinstance(event, ev.ToolFinished):
            self._answered(event.call_id)

    def _answered(self, call_id: str) -> None:
        asked_s = self._asked_s.pop(call_id, None)
        if asked_s is not None:
            self._seconds.observe(self._clock() - asked_s)


SOON_JUDGED_S = 0.1
"""Audio of this length at most waits for voice detection while it keeps up: a window and the next frames."""
MAX_UNJUDGED_S = 15.0
"""Concealment of lost packets is dropped while more audio than this waits for voice detection. It is exempt
from the rate limit, and a client that sends much too fast loses many packets. The front end holds 60 s, of
which a client's own audio takes up to 40 s (10 s ahead of real time, 30 s late): there must be room for it.
"""


class Session(BaseCall):
    """One call over any transport. Runs on the event loop that made it; never waits for an engine."""

    _conversation: Conversation

    def __init__(
        self,
        call_id: str,
        services: Services,
        settings: CallSettings,
        client: Client,
        subscriptions: Subscriptions = NO_SUBSCRIPTIONS,
        agent: AgentCode | None = None,
    ) -> None:
        super().__init__(call_id, services, subscriptions, agent)
        self._shedder = services.shedder
        self._text_languages = services.text_languages
        self._resume_s = services.answering.policy.resume_s
        self._resumable_until_s = 0.0  # position until which a voice resumes the previous turn
        self._ids = Ids()
        self._conversation = Conversation(
            settings, services.answering.policy, services.speaking.synthesizer.rate_hz, self._ids.new
        )
        post = weak_callback(self.post)
        self._executor = CommandExecutor(
            self._log_ids, services, settings, client, post, weak_callback(self._end), self._publisher, agent
        )
        self._monitor, self.background = self._executor.monitor, self._executor.background
        self._speaker = self._executor.speaker
        self._listener, self._stamps = self._executor.listener, self._executor.stamps
        self._tool_times = ToolTimes(services.measuring)
        listener = self._listener
        self._overlaps = OverlapScores(services.measuring.metrics, lambda: listener.received_s)
        self._idle_timer = EventTimer(post)
        self._pause_timer = EventTimer(post)
        self._join_agent_and_tools(services)

    @property
    def idle(self) -> bool:
        """True if neither side speaks, and no response, input or tool is pending."""
        heard = self._listener.unjudged_s < SOON_JUDGED_S
        return heard and self._conversation.idle and not self._executor.tools.busy

    @property
    def private(self) -> bool:
        """True while the caller's input is for the agent's code alone."""
        return self._conversation.private

    def mcp_refusal(self, server: McpServer) -> str | None:
        """Return the reason why the client may not name this MCP server; None if it may."""
        return self._executor.mcp.refusal(server)

    def _push_audio(self, samples: Samples, rate_hz: int, filler: bool, begins_ago_s: float = 0.0) -> None:
        if filler and self._listener.unjudged_s > MAX_UNJUDGED_S:
            return
        self._listener.hear(samples, filler)
        if self._publisher.records_audio:
            recorded = np.zeros_like(samples) if self.private else samples
            self._publisher.on_input_audio(recorded, rate_hz, begins_ago_s)

    @property
    def _awaits_silence(self) -> bool:
        """True also while a voice would resume the previous turn: without silence in that time, a caller who
        was muted would resume a turn of long ago.
        """
        listener = self._listener
        return listener.awaits_silence or listener.received_s < self._resumable_until_s

    def handle(self, request: ev.ClientRequest) -> None:
        """Handle a client's request. Raises InputOverflow for an item with too much audio."""
        if isinstance(request, ev.InputCommitted):
            request = replace(request, buffered_s=self._listener.buffered_s)
        if isinstance(request, ev.ItemCreated):
            if isinstance(request.item, ToolOutputItem) and not self._has_call(request.item.call_id):
                self._refuse_output(request.item.call_id, request.client_event_id)
                return
            if len(request.sound):
                self._listener.admit_item(request.sound)
        self.post(request)

    def _has_call(self, call_id: str) -> bool:
        return any(isinstance(item, ToolCallItem) and item.call.call_id == call_id for item in self.items)

    def _refuse_output(self, call_id: str, client_event_id: str | None) -> None:
        """Refuse an output, which would reach the model as the result of nothing. The conversation is not
        asked: it took such outputs once, and must in a replay.
        """
        if not self._closed:
            message = f"there is no function call {call_id!r} in the conversation"
            error = notify.NotifyError(notify.UNKNOWN_CALL, message, "item.call_id", client_event_id)
            self._executor.execute(error)

    def played(self, response_id: str, played_s: float, all_along: bool = False) -> None:
        """Record how many seconds of the response the client has played."""
        if not self._closed:
            self._executor.played(response_id, played_s, all_along)

    def post(self, event: ev.Event) -> None:
        """Handle an event and execute its commands, in order, before the next event."""
        if not self._closed and self._handle_in_order(event, self._handle, type(event).__name__):
            self._monitor_idleness()

    @property
    def _runner(self) -> ToolRunner:
        return self._executor.tools

    async def _stop(self) -> None:
        self._idle_timer.disarm()
        self._pause_timer.disarm()
        await self._executor.close()

    def _handle(self, event: ev.Event) -> None:
        if self._text_languages is not None:
            event = self._text_languages.completed(event)
        self._stamps.on_event(event)
        self._tool_times.on_event(event)
        if isinstance(event, ev.VoiceNoticed | ev.SpeechStarted):
            self._silence.watch()
        elif isinstance(event, ev.TurnEnded):
            self._resumable_until_s = event.at_s + self._resume_s
        # queried once a turn, and as an event: a replay must take the same decision
        if isinstance(event, ev.SpeechStarted):
            allowed = self._shedder.level < SheddingLevel.NO_PREEMPTIVE
            self._decide(ev.PreemptiveAllowed(allowed))
        for command in self._decide(event):
            self._executor.execute(command)
        if isinstance(event, ev.McpListed):
            self._executor.log_renamed(self.settings)

    def _decide(self, event: ev.Event) -> list[Command]:
        """Return the conversation's commands for an event, and record both."""
        # ids are random: a replay uses the recorded ones
        self._ids.created = []
        private = self._conversation.private  # before a turn that ends, and with it the privacy
        try:
            commands = self._conversation.handle(event)
        except Exception as fault:
            # recorded because this is the event that matters in the log
            self._publish(event, (), private, fault)
            raise
        self._overlaps.on_event(event, commands)
        self._publish(event, commands, private or self._conversation.private)
        if isinstance(event, ev.PlayoutPlayed | ev.PlayoutStopped | ev.ItemTruncated):
            self._publish_played(event)
        return commands

    @property
    def _playing(self) -> tuple[str, float]:
        return self._executor.playing

    def _handle_gone(self, gone: ev.CallerGone) -> list[TurnReport]:
        self._decide(gone)
        return self._stamps.hung_up()

    def _publish(
        self, event: ev.Event, commands: Sequence[Command], private: bool, fault: Exception | None = None
    ) -> None:
        if self._publisher.has_subscribers:
            if private:
                event, commands = withheld_event(event), withheld_commands(commands)
            received_s = self._listener.received_s
            handled = call_events.EventHandled(event, received_s, self._ids.created, commands, fault)
            self._publisher.publish(handled)

    def _publish_played(self, event: ev.PlayoutPlayed | ev.PlayoutStopped | ev.ItemTruncated) -> None:
        wanted = event.item_id if isinstance(event, ev.ItemTruncated) else None
        for item in reversed(self.items):
            if isinstance(item, MessageItem) and item.role == "assistant" and wanted in (None, item.item_id):
                self._publisher.publish(call_events.MessagePlayed(item))
                return

    def _monitor_idleness(self) -> None:
        detection, pause = self.settings.turn_detection, self.settings.pause
        timeout_s = detection.idle_timeout_s if detection else None
        if timeout_s is None and pause is None:  # nearly all calls: finding out if one is idle takes longer
            self._idle_timer.disarm()
            self._pause_timer.disarm()
            return
        idle = self._conversation.idle and not self._conversation.paused and not self._closed
        now_s = self._listener.received_s
        if timeout_s is not None and idle:
            self._idle_timer.arm(timeout_s, ev.CallerIdle(now_s + timeout_s))
        else:
            self._idle_timer.disarm()
        if pause is not None and idle:
            self._pause_timer.arm(pause.idle_s, ev.InferenceIdle(now_s + pause.idle_s))
        else:
            self._pause_timer.disarm()
