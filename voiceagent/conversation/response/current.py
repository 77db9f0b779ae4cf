"""The responses of a conversation: the active one and a preemptive one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from llmcore.engine import Generation
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import InterruptedBy
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, MessageItem, PlannedWords
from voiceagent.conversation.response.called_tools import CalledTools
from voiceagent.conversation.response.messages import ResponseMessages
from voiceagent.conversation.response.phases import (
    Generating,
    OutputEvent,
    Over,
    Playing,
    Preemptive,
    Response,
    Result,
    Sent,
    Stopping,
)
from voiceagent.conversation.response.played_text import PlayedText
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.tool_calls import ToolCalls


class CurrentResponse:
    """Owner of the responses in progress. Methods return the commands that follow.

    active: the response that the client knows. preemptive: a response unknown to the client, started in a
    pause of the caller, or about tool results while the active one is played. rate_hz: of the synthesizer.
    tools: calls of the agent. Late output of a cancelled response is ignored.
    """

    def __init__(
        self, history: History, rate_hz: int, new_id: Callable[[str], str], tools: ToolCalls
    ) -> None:
        self._called_tools = CalledTools(history, new_id, tools)
        self._messages = ResponseMessages(history)
        self._rate_hz = rate_hz
        self._new_id = new_id
        self.active: Response | None = None
        self.preemptive: Response | None = None
        self._ended_responses: list[Response] = []
        self._last: Response | None = None  # that ended
        self._truncated = ""

    @property
    def played_texts(self) -> Mapping[str, PlayedText]:
        """Playback state of spoken items, by id."""
        return self._messages.played_texts

    @property
    def idle(self) -> bool:
        """True if there is no response, not even a preemptive one."""
        return self.active is None and self.preemptive is None

    @property
    def planned_words(self) -> PlannedWords | None:
        """The text of the active response as prompts will show it if playback is not cut. None if it is not
        known yet, or if the response is being cut.
        """
        response = self.active
        text = None if response is None else response.own_text
        if response is None or text is None:
            return None
        message = MessageItem(response.item_id, "assistant", text.strip(), response.spoken)
        if not response.wanted.in_conversation:
            message = replace(message, text="")
        return PlannedWords(message, response.first_call_id)

    def is_awaited(self, item_id: str, words: tuple[str, ...]) -> bool:
        """Return True if a preemptive response to this turn and words has started, without audio yet."""
        response = self.preemptive
        return response is not None and response.answers_turn(item_id, words) and not response.is_ready

    def will_act(self, item_id: str, words: tuple[str, ...], settings: CallSettings) -> bool:
        """Return True if a preemptive response to this turn with these words has called a tool whose effects
        stay if the caller goes on.
        """
        response = self.preemptive
        if response is None or not response.answers_turn(item_id, words):
            return False
        return any(self._called_tools.has_effects(call, settings) for call in response.held_calls)

    def is_started_for(self, item_id: str, words: tuple[str, ...]) -> bool:
        """Return True if there is a preemptive response to this turn with these words."""
        return self.preemptive is not None and self.preemptive.answers_turn(item_id, words)

    def pop_ended(self) -> list[Response]:
        """Return the responses that ended since the last call."""
        over, self._ended_responses = self._ended_responses, []
        return over

    def find_played(self, response_id: str) -> PlayedText | None:
        """Return the playback state of this response, if it is the active one or the last that ended."""
        found = (one for one in (self.active, self._last) if one is not None)
        return next((one.played for one in found if one.response_id == response_id), None)

    def start(
        self, start: do.StartResponse, wanted: ev.ResponseRequested, words: tuple[str, ...] = ()
    ) -> list[Command]:
        """Start a response. A preemptive one answers these words and is held until `release`."""
        if start.preemptive:
            self.preemptive = self._new(start, wanted, Preemptive(words))
            return [start]
        self.active = self._new(start, wanted, Generating())
        return [start, self.active.start_notification()]

    def apologise(self, start: do.StartResponse, failure: str) -> list[Command]:
        """Start a response that fails at once, in place of one that cannot start."""
        self.active = self._new(start, ev.ResponseRequested(), Generating())
        return [self.active.start_notification(), *self._fail(self.active, failure)]

    def play_clip(self, clip: ev.ClipRequested) -> list[Command]:
        """Start a client's clip as the active response. Its audio is complete from the start."""
        start = do.StartResponse(clip.response_id, Generation(()), "audio")
        wanted = ev.ResponseRequested(in_conversation=False, interruptible=False)
        self.active = self._new(start, wanted, Playing(Result("stop")))
        self.active.is_clip = True
        return [do.PlayClip(clip.response_id, clip.sound), do.FinishPlayout(clip.response_id)]

    def raise_priority(self, item_id: str, words: tuple[str, ...]) -> list[Command]:
        """Raise the priority of the turn's preemptive response, if it has no audio yet."""
        response = self.preemptive
        awaited = response is not None and self.is_awaited(item_id, words)
        return [do.HurryResponse(response.response_id)] if response is not None and awaited else []

    def hold_calls(self, seconds: float) -> list[Command]:
        """Hold the active response's calls with effects for this long, because the caller may go on.
        Nothing to do for a response that is offered no tools.
        """
        if self.active is None or not seconds or not self.active.start.request.tools:
            return []
        self.active.holds_calls = True
        return [do.HoldCalls(self.active.response_id, seconds)]

    def release(self, settings: CallSettings, acts_after_s: float = 0.0) -> list[Command]:
        """Make the preemptive response active: its assumption came true. acts_after_s: see `hold_calls`."""
        response = self.preemptive
        if response is None or not isinstance(response.phase, Preemptive):
            return []
        self.preemptive, self.active = None, response
        held, response.phase = response.phase.held, Generating()
        commands: list[Command] = [do.ReleaseResponse(response.response_id), response.start_notification()]
        commands += self.hold_calls(acts_after_s)
        for event in held:
            commands += self.handle(event, settings)
        return commands

    def cancel_preemptive(self) -> list[Command]:
        """Drop the preemptive response, if any, without notification: no client knows it."""
        response, self.preemptive = self.preemptive, None
        return [] if response is None else [do.CancelResponse(response.response_id)]

    def handle(self, event: ev.ResponseEvent, settings: CallSettings) -> list[Command]:
        """Handle an event of the response or of its playout."""
        found = (one for one in (self.active, self.preemptive) if one is not None)
        response = next((one for one in found if one.response_id == event.response_id), None)
        if response is None:
            return []
        match response.phase:
            case Preemptive(held=held):
                if isinstance(event, OutputEvent):
                    response.phase = replace(response.phase, held=(*held, event))
                # no apology: the turn is not over, and is answered again when it is
                return self.cancel_preemptive() if isinstance(event, ev.ResponseFailed) else []
            case Generating():
                return self._on_generating_event(response, event, settings)
            case Playing(result) if isinstance(event, ev.PlayoutSent):
                response.phase = Sent(result)
                return [response.end_notification(result)]
            case Sent(result) if isinstance(event, ev.PlayoutPlayed):
                return self._end(response, result, response.played.text)
            case Stopping() as stopping if isinstance(event, ev.PlayoutStopped):
                return self._on_stopped(response, stopping, event.played_s)
        return []

    def stop(
        self, interrupted_by: InterruptedBy, played_s: float | None = None, false_end: bool = False
    ) -> list[Command]:
        """Cut the response. interrupted_by: the cause. played_s: seconds that were played, if the client
        knows. false_end: it should not have started, and none of it counts as played.
        """
        response = self.active
        if response is None:
            return self.cancel_preemptive()
        if isinstance(response.phase, Preemptive | Stopping | Over):
            return []
        if false_end:
            response.played.mark_false_end()
        # a preemptive response about tool results assumed that this one is played to its end
        cancel = [*self.cancel_preemptive(), do.CancelResponse(response.response_id)]
        stopping = Stopping(response.phase.result, interrupted_by, played_s, response.end_notified)
        if not response.spoken:
            return [*cancel, *self._end(response, stopping.result, response.played.text, stopping)]
        response.phase = stopping
        return [*cancel, do.StopPlayout(response.response_id, interrupted_by)]

    def truncate(self, played_s: float, interrupted_by: InterruptedBy) -> list[Command]:
        """Cut the response at the position where the client stopped playing it."""
        self._truncated = "" if self.active is None else self.active.response_id
        return self.stop(interrupted_by, played_s)

    def was_truncated(self, response_id: str | None) -> bool:
        """Return True once if the client has just truncated this response (None: the last)."""
        truncated, self._truncated = self._truncated, ""
        return truncated != "" and response_id in (None, truncated)

    def on_call_ended(self, gone: ev.CallerGone) -> None:
        """Record the part of the unfinished response that was played when the call ended."""
        response = self.active
        if response is None:
            return
        played_s = gone.played_s if gone.response_id == response.response_id else 0.0
        played = response.played.played(played_s) if response.spoken else response.played.text
        self._messages.record(response, played.strip(), whole=False)
        self.active = None

    def _new(
        self, start: do.StartResponse, wanted: ev.ResponseRequested, phase: Preemptive | Generating | Playing
    ) -> Response:
        return Response(start, wanted, self._new_id("item"), PlayedText(self._rate_hz), phase)

    def _on_generating_event(
        self, response: Response, event: ev.ResponseEvent, settings: CallSettings
    ) -> list[Command]:
        match event:
            case ev.ResponseFailed(stage=stage, reason=reason):
                response.holds_calls, response.held_output = False, ()
                cancel = do.CancelResponse(response.response_id)
                refused = stage == "refusal"
                return [cancel, *self._fail(response, f"{stage}: {reason}", refused)]
            case ev.ResponseLate():
                # once something was said, the caller needs no filler
                late = response.spoken and not response.played.text
                return [do.Fill(response.response_id)] if late else []
            case ev.PlayoutSent() | ev.PlayoutPlayed() | ev.PlayoutStopped():
                return []
            case ev.CallsDue():
                return self._make_held_calls(response, settings)
            case _ if self._must_wait(response, event, settings):
                response.held_output += (event,)
                return []
            case _:
                return self._on_output(response, event, settings)

    def _must_wait(self, response: Response, event: OutputEvent, settings: CallSettings) -> bool:
        """Return True for a call with effects that is held, and for what follows it, except its words."""
        if response.held_output:
            return isinstance(event, ev.ToolCallsReady | ev.ResponseWritten | ev.ResponseGenerated)
        calls = event.calls if response.holds_calls and isinstance(event, ev.ToolCallsReady) else ()
        return any(self._called_tools.has_effects(call, settings) for call in calls)

    def _make_held_calls(self, response: Response, settings: CallSettings) -> list[Command]:
        held, response.held_output, response.holds_calls = response.held_output, (), False
        return [command for event in held for command in self._on_output(response, event, settings)]

    def _on_output(self, response: Response, event: OutputEvent, settings: CallSettings) -> list[Command]:
        response_id = response.response_id
        match event:
            case ev.FragmentReady(fragment=fragment) if self._messages.is_blank_start(response, fragment):
                pass
            case ev.FragmentReady(fragment=fragment):
                previous = self._messages.join(response)
                response.played.add(fragment, event.filler, event.apology)
                return [notify.NotifyResponseText(response_id, response.item_id, previous, fragment.text)]
            # after a failure fragments were cut short: late audio of theirs is dropped
            case ev.SpeechReady(speech=speech) if response.played.awaits_audio:
                response.played.add_audio(speech)
                return [do.Play(response_id, speech)]
            case ev.FragmentSpoken() if response.played.awaits_audio:
                response.played.complete_fragment()
            case ev.ToolCallsReady():
                return self._called_tools.process(response, event.calls, settings)
            case ev.ResponseWritten(text=text):
                response.written = text
            case ev.ResponseGenerated():
                return self._on_generated(response, event)
        return []

    def _on_generated(self, response: Response, event: ev.ResponseGenerated) -> list[Command]:
        made = response.phase.result if isinstance(response.phase, Generating) else Result()
        if response.refused_calls and not response.played.own_text and not made.failure:
            # the name is that of a former key: logs have this text
            return self._fail(response, "llm: it calls tools without end (agent.max_tool_rounds)")
        result = replace(made, finish_reason=event.finish_reason, usage=event.usage, opaque=event.opaque)
        if not response.spoken:
            return self._end(response, result, response.played.text)
        response.phase = Playing(result)
        return [do.FinishPlayout(response.response_id)]

    def _fail(self, response: Response, failure: str, refused: bool = False) -> list[Command]:
        # after a failure, the output so far is played, then the apology, or what is said in its place
        result = Result(failure=failure, refused=refused)
        if not response.spoken:
            return self._end(response, result, response.played.text)
        response.played.drop_unspoken()
        if response.wanted.has_fallback:
            response.phase = Playing(result)
            return [*self.cancel_preemptive(), do.FinishPlayout(response.response_id)]
        response.phase = Generating(result)
        return [*self.cancel_preemptive(), do.Apologise(response.response_id, refused)]

    def _on_stopped(self, response: Response, stopping: Stopping, played_s: float) -> list[Command]:
        if stopping.reported_played_s is not None:  # clients that measure by a clock include pauses
            played_s = min(played_s, stopping.reported_played_s)
        truncated = [notify.NotifyItemTruncated(response.item_id, played_s)] if response.joined else []
        played = response.played.played(played_s)
        return [*truncated, *self._end(response, stopping.result, played, stopping)]

    def _end(
        self, response: Response, result: Result, played: str, cut: Stopping | None = None
    ) -> list[Command]:
        """Record the part of the response that was played and end it."""
        notified = isinstance(response.phase, Sent) or (cut is not None and cut.notified)
        # the caller heard some of it, but the answer to the whole turn replaces it
        played = "" if response.played.false_end else played.strip()
        whole = cut is None and not result.failure
        self._messages.record(response, played, whole, result.opaque if whole else "")
        interrupted_by = cut.interrupted_by if cut else ""
        response.phase = Over(played, interrupted_by, result.usage, bool(result.failure))
        self.active, self._last = None, response
        self._ended_responses.append(response)
        return [] if notified else [response.end_notification(result, cut)]
