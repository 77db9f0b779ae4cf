"""The turn machine: what happens in a call goes in as events, what is to be done comes out as commands.

Pure: no clock, no I/O, no tasks. At most one reply exists at a time, and everything it produces carries
its id, so what
comes late from a dead reply is nothing. The history holds what the caller said and what the caller heard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llmcore.engine import Message
from voiceagent import commands as do
from voiceagent import events as ev
from voiceagent import notices as tell
from voiceagent.commands import Command
from voiceagent.history import History, MessageItem
from voiceagent.item_requests import ItemRequest, carry_out
from voiceagent.replies import Replies
from voiceagent.reply_plan import make_plan
from voiceagent.settings import CallSettings
from voiceagent.turn_end import SILENCES, TurnEndWords, completeness
from voiceagent.turns import CallerTurn, Reply
from voiceagent.words import is_backchannel, normalise


@dataclass(frozen=True, slots=True)
class TurnPolicy:
    """How turns are taken, the same for all calls.

    provisional_attempts: provisional replies a turn may start, 0 for none.
    interrupt_words: words in a partial hypothesis, not all backchannels, that make a voice an interruption.
    backchannels: word sequences of a listener who does not want the turn.
    turn_end_words: words that tell whether a turn is complete; None for a language that has no table.
    read_ahead: have the LLM read the prompt while the caller speaks.
    max_tokens: cap of a reply where the client sets none.
    """

    provisional_attempts: int = 3
    interrupt_words: int = 2
    backchannels: frozenset[tuple[str, ...]] = frozenset()
    turn_end_words: TurnEndWords | None = None
    read_ahead: bool = False
    max_tokens: int = 200


class Conversation:
    """One call's turns. `rate_hz`: rate of the synthesizer's sound. `new_id`: makes ids with a prefix."""

    def __init__(
        self, settings: CallSettings, policy: TurnPolicy, rate_hz: int, new_id: Callable[[str], str]
    ) -> None:
        self.settings = settings
        self.history = History()
        self._policy = policy
        self._new_id = new_id
        self._commands: list[Command] = []
        self._replies = Replies(self.history, rate_hz, new_id, self._do)
        self._turn: CallerTurn | None = None
        self._awaiting: list[CallerTurn] = []
        self._requested: ev.ResponseRequested | None = None
        self._owed = False

    @property
    def idle(self) -> bool:
        """Nobody speaks, and nothing is being made or awaited."""
        return not (self._turn or self._awaiting or self._requested or self._replies.current)

    def handle(self, event: ev.Event) -> list[Command]:
        """Take one event in; returns what is to be done now, in order."""
        self._commands = []
        match event:
            case ev.CallStarted(greeting):
                self._call_started(greeting)
            case ev.SpeechStarted(at_s):
                self._speech_started(at_s)
            case ev.SpeechSustained():
                self._hold_playout()
            case ev.SpeechProlonged():
                self._confirm_interruption()
            case ev.SpeechPaused():
                self._speech_paused()
            case ev.SpeechResumed():
                self._speech_resumed()
            case ev.TurnEnded(at_s):
                self._turn_ended(at_s)
            case ev.TranscriptChanged():
                self._transcript_changed(event)
            case ev.TurnJudged(item_id, probability):
                self._turn_judged(item_id, probability)
            case ev.RecognitionFailed(item_id, reason):
                self._recognition_failed(item_id, reason)
            case ev.CallerIdle(at_s):
                self._caller_idle(at_s)
            case ev.FragmentReady() | ev.SpeechReady() | ev.FragmentSpoken() | ev.ToolCallsReady():
                self._replies.take(event)
            case ev.ReplyGenerated() | ev.ReplyFailed():
                self._reply_over(self._replies.take(event))
            case ev.PlayoutSent() | ev.PlayoutHeard() | ev.PlayoutStopped():
                self._reply_over(self._replies.take(event))
            case _:
                self._client_asks(event)
        return self._commands

    def _call_started(self, greeting: str) -> None:
        self._do(tell.TellSettings(self.settings, created=True))
        if greeting:
            self._start_reply(ev.ResponseRequested(), say=greeting)

    def _caller_idle(self, at_s: float) -> None:
        if self.idle:
            self._do(tell.TellIdle(self._new_id("item"), at_s))
            self._start_reply(ev.ResponseRequested())

    # ---- the caller's voice

    def _speech_started(self, at_s: float) -> None:
        if self._turn is not None:
            return
        detection = self.settings.turn_detection
        respond = detection is not None and detection.create_response
        turn = self._turn = CallerTurn(self._new_id("item"), at_s, respond=respond)
        self._do(do.StartRecognition(turn.item_id, at_s))
        reply = self._replies.active
        if reply is None or detection is None or not detection.interrupt_response:
            self._announce(turn)
            self._read_ahead(turn, "")
        elif reply.interruptible:
            self._do(do.DuckPlayout())

    def _speech_paused(self) -> None:
        if self._turn is not None:
            self._turn.paused = True
            self._flush(self._turn)
            if self._semantic:
                self._do(do.JudgeTurn(self._turn.item_id))

    def _speech_resumed(self) -> None:
        if self._turn is not None:
            self._turn.paused = self._turn.settled = False
            self._turn.probability = None
            self._replies.cancel_provisional()

    def _turn_ended(self, at_s: float) -> None:
        turn = self._turn
        if turn is None:
            return
        self._close(turn, at_s)
        if turn.announced:
            self._do(tell.TellSpeechStopped(turn.item_id, at_s))
            self._commit(turn)
        if turn.settled:
            self._conclude(turn)

    def _close(self, turn: CallerTurn, at_s: float) -> None:
        self._turn = None
        turn.ended_at_s = at_s
        self._awaiting.append(turn)
        if not turn.paused:
            turn.paused = True
            self._flush(turn)

    def _flush(self, turn: CallerTurn) -> None:
        turn.settled = turn.failure is not None
        if turn.failure is None:
            turn.flushes += 1
            self._do(do.FlushRecognition(turn.item_id))

    def _announce(self, turn: CallerTurn) -> None:
        turn.announced = True
        if self.settings.turn_detection is not None:
            self._do(tell.TellSpeechStarted(turn.item_id, turn.started_at_s))

    def _commit(self, turn: CallerTurn) -> None:
        item = MessageItem(turn.item_id, "user", turn.text, spoken=True)
        previous = self.history.last_id()
        self.history.insert(item)
        self._do(
            tell.TellInputCommitted(turn.item_id, previous),
            tell.TellItemAdded(item, previous),
            tell.TellItemDone(item, previous),
        )

    # ---- what the caller says

    def _transcript_changed(self, event: ev.TranscriptChanged) -> None:
        turn = self._turn_of(event.item_id)
        if turn is None:
            return
        turn.text = event.text
        if event.settled:
            turn.flushes -= 1
            turn.settled = turn.paused and turn.flushes == 0
        if not turn.announced and self._interrupts(turn):
            self._confirm_interruption()
        if turn.announced:
            self._tell_stable(turn, event.stable)
            if event.stable != turn.read and not turn.paused:
                self._read_ahead(turn, event.stable)
        if not turn.settled:
            return
        if turn.ended_at_s is None:
            self._reply_provisionally(turn)
            self._require_silence(turn)
        else:
            self._conclude(turn)

    def _read_ahead(self, turn: CallerTurn, words: str) -> None:
        """Let the LLM read the history, and the words that are certain, while the caller speaks."""
        if turn.respond and self._policy.read_ahead:
            turn.read = words
            items = [*self.history.items, MessageItem(turn.item_id, "user", words, spoken=True)]
            request = ev.ResponseRequested()
            plan = make_plan("", request, self.settings, items, self._policy.max_tokens)
            unfinished = () if words else (Message("user", ""),)
            self._do(do.ReadAhead(plan.messages + unfinished, plan.tools))

    def _turn_judged(self, item_id: str, probability: float) -> None:
        turn = self._turn
        if turn is not None and turn.item_id == item_id and turn.paused:
            turn.probability = probability
            if turn.settled:
                self._require_silence(turn)

    def _require_silence(self, turn: CallerTurn) -> None:
        """Let the words and the turn model say how long this pause may be."""
        detection = self.settings.turn_detection
        if detection is None or not self._semantic:
            return
        degree = completeness(normalise(turn.text), turn.probability, self._policy.turn_end_words)
        self._do(do.RequireSilence(SILENCES[detection.eagerness][degree]))

    @property
    def _semantic(self) -> bool:
        detection = self.settings.turn_detection
        return detection is not None and detection.kind == "semantic_vad"

    def _interrupts(self, turn: CallerTurn) -> bool:
        words = normalise(turn.text)
        enough = 1 if turn.settled else self._policy.interrupt_words
        return len(words) >= enough and not is_backchannel(words, self._policy.backchannels)

    def _tell_stable(self, turn: CallerTurn, stable: str) -> None:
        if self.settings.transcribe and stable.startswith(turn.told) and len(stable) > len(turn.told):
            self._do(tell.TellTranscript(turn.item_id, stable[len(turn.told) :], final=False))
            turn.told = stable

    def _recognition_failed(self, item_id: str, reason: str) -> None:
        turn = self._turn_of(item_id)
        if turn is None or turn.failure is not None:
            return
        turn.failure = reason
        turn.settled = turn.paused
        if turn.ended_at_s is not None:
            self._conclude(turn)

    def _conclude(self, turn: CallerTurn) -> None:
        """The turn is over and its words are settled."""
        self._awaiting.remove(turn)
        self._do(do.StopRecognition(turn.item_id))
        if not turn.announced:
            if self._replies.speaking and is_backchannel(normalise(turn.text), self._policy.backchannels):
                self._do(do.RestorePlayout())
                return
            self._announce(turn)
            self._do(tell.TellSpeechStopped(turn.item_id, turn.ended_at_s or turn.started_at_s))
            self._commit(turn)
        kept = turn.item_id in self.history  # a client may have deleted it meanwhile
        if kept:
            self.history.put(MessageItem(turn.item_id, "user", turn.text, spoken=True))
        if turn.failure is not None:
            self._do(tell.TellTranscriptFailed(turn.item_id, turn.failure))
        elif self.settings.transcribe:
            seconds = (turn.ended_at_s or turn.started_at_s) - turn.started_at_s
            self._do(tell.TellTranscript(turn.item_id, turn.text, final=True, seconds=seconds))
        self._owed = self._owed or (kept and turn.respond and bool(normalise(turn.text)))
        if turn.failure is not None and turn.respond and self._replies.active is None:
            self._replies.cancel_provisional()
            self._reply_over(self._replies.apologise_for(turn, self.settings))
        else:
            self._answer(turn)

    # ---- replies

    def _reply_provisionally(self, turn: CallerTurn) -> None:
        allowed = turn.provisional_attempts < self._policy.provisional_attempts and not self._awaiting
        wanted = turn.announced and turn.respond and normalise(turn.text)
        if self._replies.current is None and allowed and wanted:
            turn.provisional_attempts += 1
            self._start_reply(ev.ResponseRequested(), turn, provisional=True)

    def _answer(self, turn: CallerTurn | None = None) -> None:
        """Start or release the reply that is wanted, if nothing stands in its way."""
        if self._turn is not None or self._awaiting or self._replies.active is not None:
            return
        held = self._replies.current
        fits = held is not None and turn is not None and held.turn_id == turn.item_id and held.fits(turn.text)
        if self._requested is None and self._owed and fits:
            self._owed = False
            self._replies.release()
            return
        self._replies.cancel_provisional()
        if self._requested is not None:
            request, self._requested = self._requested, None
            self._start_reply(request, turn)
        elif self._owed:
            self._start_reply(ev.ResponseRequested(), turn)

    def _start_reply(
        self,
        request: ev.ResponseRequested,
        turn: CallerTurn | None = None,
        provisional: bool = False,
        say: str = "",
    ) -> None:
        if request.in_conversation and not provisional:
            self._owed = False
        self._replies.start(request, self.settings, self._policy.max_tokens, turn, provisional, say)

    def _hold_playout(self) -> None:
        """The voice over the agent goes on: stop and listen, ready to go on as well."""
        if self._turn is not None and not self._turn.announced:
            reply = self._replies.active
            if reply is not None and reply.interruptible:
                self._do(do.HoldPlayout())

    def _confirm_interruption(self) -> None:
        """The voice over the agent is meant as an interruption."""
        turn, reply = self._turn, self._replies.active
        if turn is None or turn.announced:
            return
        if reply is None or reply.interruptible:
            self._announce(turn)
            self._stop_reply("turn_detected")

    def _stop_reply(self, reason: str, heard_s: float | None = None) -> None:
        self._reply_over(self._replies.stop(reason, heard_s))

    def _reply_over(self, reply: Reply | None) -> None:
        if reply is None:
            return
        if reply.stop_reason == "turn_detected" and reply.in_conversation and not reply.said:
            self._owed = True
        if self._turn is not None and not self._turn.announced:
            self._do(do.RestorePlayout())
            self._announce(self._turn)
        self._answer()

    # ---- what the client asks for

    def _client_asks(self, event: ev.ClientRequest) -> None:
        match event:
            case ev.SettingsChanged(settings):
                self.settings = settings
                self._do(tell.TellSettings(settings))
            case ev.ResponseRequested():
                self._response_requested(event)
            case ev.ResponseCancelled():
                self._response_cancelled(event)
            case ev.InputCommitted():
                self._input_committed(event)
            case ev.InputCleared():
                self._input_cleared()
            case ev.OutputCleared():
                self._stop_reply("client_cancelled")
            case _:
                self._item_requested(event)

    def _response_requested(self, event: ev.ResponseRequested) -> None:
        if self._replies.active is not None or self._requested is not None:
            message = "a response is in progress; wait for response.done or cancel it first"
            code = "conversation_already_has_active_response"
            self._do(tell.TellError(code, message, client_event_id=event.client_event_id))
            return
        self._replies.cancel_provisional()
        if self._awaiting:
            self._requested = event
        else:
            self._start_reply(event)

    def _response_cancelled(self, event: ev.ResponseCancelled) -> None:
        reply = self._replies.active
        if reply is None or reply.told_end or event.reply_id not in (None, reply.reply_id):
            which = "response" if event.reply_id is None else f"response {event.reply_id!r}"
            message = f"there is no {which} in progress to cancel"
            error = tell.TellError(
                "response_cancel_not_active", message, "response_id", event.client_event_id
            )
            self._do(error)
            return
        self._stop_reply("client_cancelled")

    def _input_committed(self, event: ev.InputCommitted) -> None:
        turn = self._turn
        if turn is None:
            message = "the input audio buffer is empty; append sound before committing it"
            code = "input_audio_buffer_commit_empty"
            self._do(tell.TellError(code, message, client_event_id=event.client_event_id))
            return
        turn.respond = False
        self._replies.cancel_provisional()
        self._announce_quietly(turn)
        self._close(turn, turn.started_at_s + event.buffered_s)
        self._commit(turn)
        self._do(do.ClearInput())
        if turn.settled:
            self._conclude(turn)

    def _announce_quietly(self, turn: CallerTurn) -> None:
        if not turn.announced:
            turn.announced = True
            self._do(do.RestorePlayout())

    def _input_cleared(self) -> None:
        if self._turn is not None:
            self._do(do.StopRecognition(self._turn.item_id))
            self._turn = None
            self._replies.cancel_provisional()
            self._do(do.RestorePlayout())
        self._do(do.ClearInput(), tell.TellInputCleared())

    def _item_requested(self, event: ItemRequest) -> None:
        reply = self._replies.active
        playing = reply.item_id if reply is not None and reply.spoken and reply.in_history else None
        if isinstance(event, ev.ItemTruncated) and event.item_id == playing:
            self._stop_reply("client_cancelled", event.heard_s)
        else:
            self._do(*carry_out(event, self.history, self._replies.sounds))

    def _turn_of(self, item_id: str) -> CallerTurn | None:
        turns = [*self._awaiting, self._turn] if self._turn else self._awaiting
        return next((turn for turn in turns if turn.item_id == item_id), None)

    def _do(self, *commands: Command) -> None:
        self._commands.extend(commands)
