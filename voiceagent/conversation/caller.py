"""The caller's side of the turn machine: the turn that is spoken, and turns whose words are not settled
yet. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command
from voiceagent.conversation.end_of_turn import SILENCES, TurnEvidence, completeness
from voiceagent.conversation.history import History, MessageItem
from voiceagent.conversation.settings import TurnDetection
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.turns import CallerTurn, Response
from voiceagent.conversation.words import beside_backchannels, words_of

MIN_WORD_S = 0.1
"""Nobody says a word in less; of the first 60 ms of an "uh huh" Moonshine makes "That's it."."""


class Caller:
    """Owns the caller's turns until they are concluded. Commands go to `emit`.

    open: the turn that the caller is speaking, pauses included. awaiting: turns that are over and not
    settled.
    """

    def __init__(
        self,
        history: History,
        policy: TurnPolicy,
        new_id: Callable[[str], str],
        emit: Callable[[Command], None],
    ) -> None:
        self._history = history
        self._policy = policy
        self._new_id = new_id
        self._do = emit
        self.open: CallerTurn | None = None
        self.awaiting: list[CallerTurn] = []
        self._last: CallerTurn | None = None  # the newest that is over

    @property
    def silent(self) -> bool:
        """No turn is spoken or waits for its words."""
        return self.open is None and not self.awaiting

    def resumed(self, at_s: float, response: Response | None) -> CallerTurn | None:
        """The turn that a voice from `at_s` on goes on with, where `response` answers it too early.

        Nobody reacts so soon to what the agent says: the silence was a pause.
        """
        last = self._last
        if last is None or response is None or response.turn_id != last.item_id:
            return None
        return last if at_s - last.end_s <= self._policy.resume_s else None

    def start(self, at_s: float, respond: bool, resumes: CallerTurn | None = None) -> CallerTurn:
        """A turn begins; it is recognized from the start, whether or not it comes to anything."""
        turn = self.open = CallerTurn(self._new_id("item"), at_s, respond=respond, resumes=resumes)
        self._do(do.StartRecognition(turn.item_id, at_s))
        return turn

    def announce(self, turn: CallerTurn, by_voice: bool) -> None:
        """Let the client know of the turn; one that it takes by hand it knows already."""
        turn.announced = True
        if by_voice:
            self._do(notify.NotifySpeechStarted(turn.item_id, turn.started_at_s))

    def pause(self, turn: CallerTurn, at_s: float, judge: bool) -> None:
        """The caller is silent for the moment: settle the words so far, and ask the turn model."""
        turn.paused_at_s = at_s
        self._flush(turn)
        if judge:
            self._do(do.JudgeTurn(turn.item_id))

    def resume(self, turn: CallerTurn) -> None:
        """The caller goes on: what was settled is so no longer."""
        turn.paused_at_s = turn.probability = turn.falls = None
        turn.settled = False

    def end(self, turn: CallerTurn, at_s: float) -> None:
        """The turn is over; its words may still be on their way."""
        self.open = None
        turn.ended_at_s = at_s
        self.awaiting.append(turn)
        if not turn.paused:
            turn.paused_at_s = at_s
            self._flush(turn)

    def commit(self, turn: CallerTurn, by_voice: bool) -> None:
        """The turn becomes an item of the conversation, with the words known so far."""
        self._last = turn if by_voice else None
        if by_voice:
            self._do(notify.NotifySpeechStopped(turn.item_id, turn.end_s))
        item = MessageItem(turn.item_id, "user", turn.text, spoken=True)
        previous = self._history.last_id()
        self._history.insert(item)
        self._do(notify.NotifyInputCommitted(turn.item_id, previous))
        self._do(notify.NotifyItemAdded(item, previous))
        self._do(notify.NotifyItemDone(item, previous))

    def forget(self, turn: CallerTurn) -> None:
        """Nothing more is wanted of the turn."""
        self._do(do.StopRecognition(turn.item_id))
        if turn is self.open:
            self.open = None
        else:
            self.awaiting.remove(turn)

    def conclude(self, turn: CallerTurn, transcribe: bool) -> bool:
        """The words of a committed turn are settled, or cannot be had; whether its item is still there."""
        kept = turn.item_id in self._history  # a client may have deleted it meanwhile
        if kept:
            self._history.put(MessageItem(turn.item_id, "user", turn.text, spoken=True))
        if turn.failure is not None:
            self._do(notify.NotifyTranscriptFailed(turn.item_id, turn.failure))
        elif transcribe:
            seconds = turn.end_s - turn.started_at_s
            self._do(notify.NotifyTranscript(turn.item_id, turn.text, final=True, seconds=seconds))
        return kept

    def hypothesis(self, event: ev.TranscriptChanged) -> CallerTurn | None:
        """Take in what a turn is understood to say; returns the turn, None for one that is forgotten."""
        turn = self.turn_of(event.item_id)
        if turn is not None:
            turn.text, turn.stable, turn.confidence = event.text, event.stable, event.confidence
            if event.settled:
                turn.flushes -= 1
                turn.settled = turn.paused and turn.flushes == 0
        return turn

    def notify_stable(self, turn: CallerTurn, stable: str) -> None:
        """Tell the client words that will not be taken back."""
        if stable.startswith(turn.told) and len(stable) > len(turn.told):
            self._do(notify.NotifyTranscript(turn.item_id, stable[len(turn.told) :], final=False))
            turn.told = stable

    def failed(self, item_id: str, reason: str) -> CallerTurn | None:
        """The recognizer broke; returns the turn if that is news."""
        turn = self.turn_of(item_id)
        if turn is None or turn.failure is not None:
            return None
        turn.failure = reason
        turn.settled = turn.paused
        return turn

    def require_silence(self, turn: CallerTurn, detection: TurnDetection) -> None:
        """Let the words and the turn model say how long this pause may be."""
        heard = TurnEvidence(
            turn.whole_text, self._said_before(), turn.probability, turn.falls, turn.confidence
        )
        degree = completeness(heard, self._policy.end_of_turn_words)
        may_fall = (
            degree == "preliminary" and not heard.has_low_confidence
        )  # in doubt the pitch changes nothing
        if may_fall and turn.falls is None and turn.paused_at_s is not None:
            self._do(do.JudgePitch(turn.item_id, turn.paused_at_s))
        self._do(do.RequireSilence(SILENCES[detection.eagerness][degree]))

    def _said_before(self) -> str:
        """The agent's latest words that were heard."""
        said = (item for item in reversed(self._history.items) if isinstance(item, MessageItem))
        return next((item.text for item in said if item.role == "assistant"), "")

    def interrupts(self, turn: CallerTurn) -> bool:
        """Whether the words are meant to interrupt the agent: enough of them, or one that asks for the turn.

        Backchannels do not count, nor do words that may be taken back, nor those that are heard in a hum: a
        recognizer that hears "okay I" in an "okay", or "him and them" in an "mm hmm", must not stop the
        agent.
        One word is enough of a caller who resumes a turn.
        """
        words = self._said(turn, turn.text if turn.settled else turn.stable)
        if turn.resumes is not None:
            return bool(words)
        asks = turn.settled and not self._policy.stop_words.isdisjoint(words)
        enough = len(
            words
        ) >= self._policy.min_interruption_words and not self._policy.misheard_backchannels.issuperset(words)
        return asks or enough

    def is_backchannel(self, turn: CallerTurn) -> bool:
        """Whether the words, if any, only show that the caller listens."""
        words = self._said(turn, turn.text)
        return self._policy.misheard_backchannels.issuperset(words) if turn.resumes is None else not words

    def _said(self, turn: CallerTurn, text: str) -> tuple[str, ...]:
        """The words beside backchannels; none where the voice was too short to say what was understood."""
        words = words_of(text)
        if turn.voiced_s < len(words) * MIN_WORD_S:
            return ()
        return beside_backchannels(words, self._policy.backchannels)

    def turn_of(self, item_id: str) -> CallerTurn | None:
        """The turn with this item, if it is not forgotten."""
        turns = [*self.awaiting, self.open] if self.open else self.awaiting
        return next((turn for turn in turns if turn.item_id == item_id), None)

    def _flush(self, turn: CallerTurn) -> None:
        turn.settled = turn.failure is not None
        if turn.failure is None:
            turn.flushes += 1
            self._do(do.FlushRecognition(turn.item_id))
