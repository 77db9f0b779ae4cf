"""One call: carries the conversation's commands out. The only place that starts a call's tasks."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import structlog

from audio.pcm import Samples
from llmcore.engine import Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.fragments import Fragmenter
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation.settings import CallSettings
from voiceagent.llm.load_shedding import SheddingLevel
from voiceagent.llm.prompt_monitor import PromptMonitor
from voiceagent.session.call import Client, InputOverflow, new_id
from voiceagent.session.listening import Listener
from voiceagent.session.prefilling import Prefilling
from voiceagent.session.responding import ResponseWork
from voiceagent.session.services import Services, SetPhrase
from voiceagent.session.speaking import Speaker
from voiceagent.session.summarising import Summarising
from voiceagent.session.turn_stamps import TurnStamps

log = structlog.get_logger()

PRESSED_FIRST_CHARS = 24
"""Longest first fragment while there is too much to do: two or three words."""
PRESSED_FILLER_S = 0.2
"""After how long the filler is heard then, at the fourth level of load shedding."""


class Session:
    """One call over any transport. Everything runs on the event loop that made it; nothing here waits for
    an engine.
    """

    def __init__(self, call_id: str, services: Services, settings: CallSettings, client: Client) -> None:
        self.call_id = call_id
        self._services = services
        self._client = client
        self._log = log.bind(call=call_id)
        self._conversation = Conversation(
            settings, services.answering.policy, services.speaking.synthesizer.rate_hz, new_id
        )
        self._stamps = TurnStamps(services.measuring.clock)
        self._listener = Listener(services.hearing, settings, self.post)
        self._speaker = Speaker(
            self._play,
            client.clear,
            services.speaking.synthesizer.rate_hz,
            services.speaking.lead_s,
            services.measuring.clock,
            services.pacer,
            self.post,
            self._stamps.first_frame,
        )
        self._speaker.configure(settings)
        self._prefilling = Prefilling(services.answering.llm)
        self._summarising = Summarising(
            call_id,
            services.answering.llm,
            services.answering.history,
            services.speaking.language,
            services.measuring.metrics.llm,
            self.post,
        )
        self._prompts = PromptMonitor(call_id, services.measuring.metrics.llm)
        self._responses: dict[str, ResponseWork] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._events: deque[ev.Event] = deque()
        self._handling = False
        self._idle_timer = EventTimer(self.post)
        self._late_timer = EventTimer(self.post)
        self._began_s: float | None = None
        self._taken_s = 0.0
        self._ended = asyncio.Event()
        self._closed = False

    @property
    def settings(self) -> CallSettings:
        """The settings now in force."""
        return self._conversation.settings

    def begin(self) -> None:
        """The client is there: tell it the settings, and greet the caller if there is a greeting."""
        self.post(ev.CallStarted(self._services.speaking.greeting))

    def hear(self, samples: Samples) -> None:
        """Take the caller's next sound, int16 mono at the rate of the input format. Raises InputOverflow."""
        if self._closed:
            return
        now_s = self._services.measuring.clock()
        seconds = len(samples) / self.settings.input_format.rate_hz
        if self._began_s is None or self._taken_s < now_s - self._began_s:
            # A caller who fell behind real time, or was silent by not sending, is not owed the time.
            self._began_s = now_s - self._taken_s
        ahead_s = self._taken_s + seconds - (now_s - self._began_s)
        limit_s = self._services.hearing.input_buffer_s
        if ahead_s > limit_s:
            raise InputOverflow(ahead_s, limit_s)
        self._taken_s += seconds
        self._listener.hear(samples)
        self._stamps.heard(self._listener.received_s, now_s)

    def handle(self, request: ev.ClientRequest) -> None:
        """Take a request of the client."""
        if isinstance(request, ev.InputCommitted):
            request = replace(request, buffered_s=self._listener.buffered_s)
        self.post(request)

    def played(self, response_id: str, played_s: float) -> None:
        """The client has played so much of the response's sound."""
        if not self._closed:
            self._stamps.played(response_id, played_s)
            self._speaker.played(response_id, played_s)

    def post(self, event: ev.Event) -> None:
        """Take an event in and carry out what comes of it, in order, before anything else happens."""
        if self._closed:
            return
        self._events.append(event)
        if self._handling:
            return
        self._handling = True
        try:
            while self._events:
                self._take(self._events.popleft())
        except Exception:
            # A fault of ours must not leave a call that neither speaks nor ends.
            self._log.exception("call_failed", happening=type(event).__name__)
            self._ended.set()
        finally:
            self._handling = False
        self._watch_idleness()

    async def ended(self) -> None:
        """Wait until the call has ended by itself."""
        await self._ended.wait()

    async def close(self, reason: str) -> None:
        """Hang up: all work of the call stops. Returns when it has stopped; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._ended.set()
        self._log.info("call_ended", reason=reason)
        self._idle_timer.disarm()
        self._late_timer.disarm()
        self._speaker.close()
        self._prefilling.stop()
        for work in self._responses.values():
            self._stop(work)
        self._responses.clear()
        await self._listener.close()
        await self._summarising.close()
        await asyncio.gather(*self._stopping, return_exceptions=True)

    def _take(self, event: ev.Event) -> None:
        self._stamps.event(event)
        if isinstance(event, ev.ResponseFailed):
            self._services.measuring.metrics.engine_errors.labels(event.stage).inc()
        elif isinstance(event, ev.RecognitionFailed):
            self._services.measuring.metrics.engine_errors.labels("recognizer").inc()
        if isinstance(event, ev.SpeechStarted):
            allowed = self._services.shedder.level < SheddingLevel.NO_PREEMPTIVE
            self._conversation.handle(ev.PreemptiveAllowed(allowed))
        for command in self._conversation.handle(event):
            self._carry_out(command)

    def _carry_out(self, command: do.Command) -> None:
        self._stamps.command(command)
        match command:
            case do.Play(response_id, speech):
                self._speaker.play(response_id, speech.samples)
            case do.Prefill(messages, tools):
                self._prefilling.prefill(messages, tools)
            case do.Summarise():
                self._summarising.summarise(command)
            case do.StartResponse():
                self._start_response(command)
            case do.ReleaseResponse(response_id):
                if work := self._responses.get(response_id):
                    work.release()
            case do.CancelResponse(response_id):
                if work := self._responses.pop(response_id, None):
                    self._stamps.cancelled(response_id, work.pieces)
                    self._stop(work)
            case do.FinishPlayout(response_id):
                self._speaker.finish(response_id)
            case do.StopPlayout(response_id):
                self.post(ev.PlayoutStopped(response_id, self._speaker.stop(response_id)))
                self._listener.agent_stops()
            case do.DuckPlayout():
                self._speaker.duck()
            case do.HoldPlayout():
                self._speaker.hold()
            case do.RestorePlayout():
                self._speaker.restore()
            case do.ConfigureSpeaking(settings):
                self._speaker.configure(settings)
            case do.Apologise(response_id):
                self._apologise(response_id)
            case do.Fill(response_id):
                if self._services.speaking.filler is not None:
                    self._say(response_id, self._services.speaking.filler)
            case do.HangUp(reason):
                self._log.info("hanging_up", reason=reason)
                self._ended.set()
            case _ if isinstance(command, do.ListenerCommand):
                self._listen(command)
            case _:
                self._notify(command)

    def _listen(self, command: do.ListenerCommand) -> None:
        match command:
            case do.StartRecognition(item_id, at_s):
                self._listener.start_recognition(item_id, at_s)
            case do.FlushRecognition(item_id):
                self._listener.flush_recognition(item_id)
            case do.RequireSilence(seconds):
                self._listener.require_silence(seconds)
            case do.JudgeTurn(item_id):
                self._listener.judge_turn(item_id)
            case do.JudgePitch(item_id, paused_at_s):
                self._listener.judge_pitch(item_id, paused_at_s)
            case do.StopRecognition(item_id):
                self._listener.stop_recognition(item_id)
            case do.ClearInput():
                self._listener.clear()
            case do.ConfigureListening(settings):
                self._listener.configure(settings)

    def _notify(self, notification: notify.Notification) -> None:
        self._client.notify(notification)
        if isinstance(notification, notify.NotifyResponseStarted):
            pressed = self._services.shedder.level >= SheddingLevel.FILLER_AT_ONCE
            after_s = PRESSED_FILLER_S if pressed else self._services.speaking.filler_after_s
            self._late_timer.arm(after_s, ev.ResponseLate(notification.response_id))
        elif isinstance(notification, notify.NotifyResponseEnded):
            self._late_timer.disarm()
            self._report(notification)

    def _start_response(self, start: do.StartResponse) -> None:
        self._prefilling.stop()
        self._summarising.stop()
        self._prompts.check(start)
        speaking, answering = self._services.speaking, self._services.answering
        due_s = self._stamps.first_token_due_s(start.response_id, self._services.measuring.budget)
        work = self._responses[start.response_id] = ResponseWork(
            replace(start, request=replace(start.request, due_s=due_s)),
            answering.llm,
            speaking.synthesizer,
            Fragmenter(speaking.language, first_max_chars=self._first_max_chars()),
            self.post,
            self._stamps.milestone,
            self._speaker.room,
            answering.preemptive_tokens if start.preemptive else None,
        )
        work.task.add_done_callback(lambda task: self._responses.pop(start.response_id, None))
        work.task.add_done_callback(self._check)

    def _first_max_chars(self) -> int | None:
        pressed = self._services.shedder.level >= SheddingLevel.SHORT_FRAGMENTS
        return PRESSED_FIRST_CHARS if pressed else None

    def _stop(self, work: ResponseWork) -> None:
        work.task.cancel()
        self._stopping.add(work.task)
        work.task.add_done_callback(self._stopping.discard)

    def _check(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("call_failed", happening=task.get_name(), exc_info=error)
            self._ended.set()

    def _play(self, response_id: str, frame: Samples) -> None:
        self._listener.agent_plays(frame)
        self._client.play(response_id, frame)

    def _apologise(self, response_id: str) -> None:
        self._say(response_id, self._services.speaking.apology)
        self.post(ev.ResponseGenerated(response_id, "stop", Usage()))

    def _say(self, response_id: str, phrase: SetPhrase) -> None:
        self.post(ev.FragmentReady(response_id, phrase.fragment))
        for speech in phrase.sound:
            self.post(ev.SpeechReady(response_id, speech))
        self.post(ev.FragmentSpoken(response_id))

    def _report(self, ended: notify.NotifyResponseEnded) -> None:
        report = self._stamps.report(ended, self._services.measuring.budget)
        if report is None:
            return
        self._services.measuring.metrics.observe(report)
        if self.settings.latency_events:
            self._client.report(report)

    def _watch_idleness(self) -> None:
        detection = self.settings.turn_detection
        timeout_s = detection.idle_timeout_s if detection else None
        if timeout_s is not None and self._conversation.idle and not self._closed:
            self._idle_timer.arm(timeout_s, ev.CallerIdle(self._listener.received_s + timeout_s))
        else:
            self._idle_timer.disarm()


class EventTimer:
    """Posts one event after a time, unless it is armed anew or disarmed before."""

    def __init__(self, post: Callable[[ev.Event], None]) -> None:
        self._post = post
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, after_s: float, event: ev.Event) -> None:
        """Post `event` in `after_s` seconds."""
        self.disarm()
        self._handle = asyncio.get_running_loop().call_later(after_s, self._post, event)

    def disarm(self) -> None:
        """Post nothing."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
