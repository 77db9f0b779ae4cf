"""The caller's side: the turn that is spoken, and turns that are over and wait for their words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command, RequireSilence
from voiceagent.conversation.end_of_turn.dictation import asks_for_number
from voiceagent.conversation.end_of_turn.evidence import TurnEvidence
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.probability import EndOfTurn, judge
from voiceagent.conversation.history import History, MessageItem
from voiceagent.conversation.settings import Eagerness
from voiceagent.conversation.turn.caller_turn import CallerTurn, Ended, Paused, Recognized, Speaking, Standing
from voiceagent.conversation.turn.nearness import Levels, Nearness
from voiceagent.conversation.turn_policy import TurnPolicy

ANSWER_S = 0.4
"""How much longer, at most, a turn goes on while its answer is being made: there would be silence after its
end all the same, and this way the caller may go on in it.
"""
PAUSE_S = 0.25
"""A silence of at least this was a pause, and not the closure of a consonant."""


class Caller:
    """Owns the caller's turns until they are concluded. What it does returns the commands that follow.

    open: the turn that the caller is speaking, pauses included. awaiting: turns that are over and not
    settled. last: the newest that ended by voice, and not by the client's hand. dictation: what the agent's
    code has asked to be dictated, as `CallerTurn` has it, until that has been done. levels: how loud the
    voices of the call are. language: ISO 639 code of the agent's.
    """

    def __init__(self, history: History, language: str, new_id: Callable[[str], str]) -> None:
        self._history = history
        self._language = language
        self._new_id = new_id
        self.open: CallerTurn | None = None
        self.awaiting: list[CallerTurn] = []
        self.last: CallerTurn | None = None
        self.dictation: tuple[int, ...] | None = None
        self.levels = Levels()
        self._committed_to_s = 0.0  # end of the newest item's sound

    @property
    def silent(self) -> bool:
        """No turn is spoken or waits for its words."""
        return self.open is None and not self.awaiting

    def turn_of(self, item_id: str) -> CallerTurn | None:
        """The turn with this item, if it is not forgotten."""
        # words of turns that are over come while the next is spoken
        turns = [*self.awaiting, self.open] if self.open else self.awaiting
        return next((turn for turn in turns if turn.item_id == item_id), None)

    def start(
        self, at_s: float, padding_s: float, respond: bool, resumes: CallerTurn | None
    ) -> tuple[CallerTurn, Command]:
        """Start a turn and its recognition, even if it may turn out to be none. padding_s: length of the
        sound before the turn that is recognized too.
        """
        # the half of a number that came first has used it up
        dictation = self.dictation if resumes is None else resumes.dictation
        # items must not share samples: a word would be recognized twice, or in part
        taken_to_s = max([self._committed_to_s, *(ended.sound_end_s for ended in self.awaiting)])
        turn = self.open = CallerTurn(self._new_id("item"), at_s, respond, resumes, dictation)
        if taken_to_s > at_s - padding_s:
            turn.not_before_s = min(taken_to_s, at_s)
        return turn, do.StartRecognition(turn.item_id, at_s, turn.not_before_s)

    def announce(self, turn: CallerTurn, by_voice: bool) -> list[Command]:
        """Let the client know of the turn; one that it takes by hand it knows already."""
        turn.standing = Standing.ANNOUNCED
        if not by_voice:
            return []
        return [notify.NotifySpeechStarted(turn.item_id, turn.started_at_s, turn.not_before_s)]

    def pause(self, turn: CallerTurn, at_s: float, judge: bool) -> list[Command]:
        """The caller is silent for the moment: settle the words so far, and ask the turn model."""
        turn.phase = Paused(at_s)
        return self._flush(turn) + ([do.JudgeTurn(turn.item_id)] if judge else [])

    def resume(self, turn: CallerTurn, at_s: float) -> None:
        """The caller goes on: what was settled is so no longer."""
        pause_s = at_s - turn.phase.at_s if isinstance(turn.phase, Paused) else 0.0
        if pause_s >= PAUSE_S:
            turn.own_pauses_s += (pause_s,)
        turn.phase = Speaking()

    def end(
        self,
        turn: CallerTurn,
        at_s: float,
        level_db: float | None = None,
        sound_end_s: float | None = None,
    ) -> list[Command]:
        """End the turn; its transcript may still be pending. level_db: level of its voice, if known.
        sound_end_s: see `Ended`.
        """
        turn.level_db = level_db
        # the pause before the end has asked for the words already
        flushed = not turn.speaking
        turn.phase = Ended(at_s, sound_end_s)
        self.open = None
        self.awaiting.append(turn)
        return [] if flushed else self._flush(turn)

    def end_by_hand(self, turn: CallerTurn, buffered_s: float) -> list[Command]:
        """The client ends the turn, `buffered_s` after its beginning, and asks for a response itself."""
        turn.respond = False
        turn.standing = Standing.ANNOUNCED
        return self.end(turn, turn.started_at_s + buffered_s)

    def commit(self, turn: CallerTurn, by_voice: bool) -> list[Command]:
        """The turn becomes an item of the conversation, with the words known so far."""
        turn.standing = Standing.COMMITTED
        self.dictation = None
        # who ends turns by hand does not go on with them by voice
        self.last = turn if by_voice else None
        item = MessageItem(turn.item_id, "user", turn.text, spoken=True)
        previous = self._history.last_id()
        self._history.insert(item)
        self._committed_to_s = max(self._committed_to_s, turn.sound_end_s)
        return [
            *(_stopped(turn) if by_voice else ()),
            notify.NotifyInputCommitted(turn.item_id, previous),
            notify.NotifyItemAdded(item, previous),
            notify.NotifyItemDone(item, previous),
        ]

    def await_words(self, item: MessageItem, seconds: float) -> None:
        """Create a turn for an item of the client, with this much sound, that waits for its transcript."""
        ended = CallerTurn(item.item_id, 0.0, respond=False, phase=Ended(seconds))
        ended.typed = item.text
        ended.standing, ended.recognized = Standing.COMMITTED, Recognized(flushes=1)
        self.awaiting.append(ended)

    def forget(self, turn: CallerTurn) -> list[Command]:
        """Nothing more is wanted of the turn."""
        if turn is self.open:
            self.open = None
        else:
            self.awaiting.remove(turn)
        return [do.StopRecognition(turn.item_id)]

    def conclude(self, turn: CallerTurn, transcribe: bool) -> list[Command]:
        """The words of a committed turn are settled, or cannot be had: its item, if it is still there, and
        the client get them.
        """
        if turn.text and turn.level_db is not None and turn.nearness is Nearness.NEAR:
            self.levels.said(turn.level_db)
        if turn.item_id in self._history:  # a client may have deleted it meanwhile
            words = "\n".join(filter(None, (turn.typed, turn.text)))
            self._history.put(MessageItem(turn.item_id, "user", words, spoken=True))
        if turn.recognized.failure is not None:
            return [notify.NotifyTranscriptFailed(turn.item_id, turn.recognized.failure)]
        seconds = turn.end_s - turn.started_at_s
        confidence = turn.recognized.confidence
        logprob = math.log(confidence) if confidence else None
        final = notify.NotifyTranscript(turn.item_id, turn.text, True, seconds, logprob)
        return [final] if transcribe else []

    def notify_stable(self, turn: CallerTurn) -> list[Command]:
        """Let the client know the words that will not be taken back."""
        stable = turn.recognized.stable
        if not stable.startswith(turn.notified) or len(stable) == len(turn.notified):
            return []
        added = stable[len(turn.notified) :]
        turn.notified = stable
        return [notify.NotifyTranscript(turn.item_id, added, final=False)]

    def understand(self, turn: CallerTurn, event: ev.TranscriptChanged) -> None:
        """Take in the recognizer's newest hypothesis of the turn."""
        # counted, as a pause that was none may leave an older flush on its way
        answered = 1 if event.settled and turn.recognized.flushes else 0
        turn.recognized = replace(
            turn.recognized,
            text=event.text,
            before=turn.recognized.before if event.text == turn.text else turn.text,
            stable=event.stable,
            confidence=event.confidence,
            complete=event.complete,
            flushes=turn.recognized.flushes - answered,
            # of other words it says nothing
            ends=turn.recognized.ends if event.text == turn.text else None,
        )

    def judge(self, turn: CallerTurn, event: ev.TurnJudged) -> None:
        """Take in the turn model's word on the pause in progress; one that comes too late is not about the
        next.
        """
        if isinstance(turn.phase, Paused):
            turn.phase = replace(turn.phase, probability=event.probability)

    def take_end(self, turn: CallerTurn, event: ev.TurnEndTold) -> None:
        """Take in what the LLM says of the end, if it is of the words that are known now."""
        if event.words == turn.text:
            turn.recognized = replace(turn.recognized, ends=event.log_probability)

    def fail(self, turn: CallerTurn, reason: str) -> None:
        """The recognizer broke in this turn: no more of its words will come."""
        turn.recognized = replace(turn.recognized, failure=reason)

    def _flush(self, turn: CallerTurn) -> list[Command]:
        if turn.recognized.failure is not None:
            return []
        turn.recognized = replace(turn.recognized, flushes=turn.recognized.flushes + 1)
        said = self._history.last_words_of("assistant")
        number = asks_for_number(said, turn.dictation, language_of(self._language))
        return [do.FlushRecognition(turn.item_id, number)]


def _stopped(turn: CallerTurn) -> list[Command]:
    sound_end_s = turn.phase.sound_end_s if isinstance(turn.phase, Ended) else None
    return [notify.NotifySpeechStopped(turn.item_id, turn.end_s, sound_end_s)]


def judged(turn: CallerTurn, agent: str, eagerness: Eagerness, policy: TurnPolicy) -> EndOfTurn:
    """What the witnesses say of the turn's end after its words as they are known.

    agent: its latest words before the turn, "" for none.
    """
    ends, llm_end = turn.recognized.ends, policy.llm_end
    told = turn.phase.probability if isinstance(turn.phase, Paused) else None
    evidence = TurnEvidence(
        turn.whole_text,
        agent,
        pauses=len(turn.pauses_s),
        confidence=turn.recognized.confidence,
        probability=turn.recognized.complete if told is None else told,
        dictation=turn.dictation,
        llm=None if ends is None or llm_end is None else llm_end.nats(ends),
        before=turn.recognized.before,
        longest_pause_s=max(turn.pauses_s, default=0.0),
    )
    return judge(evidence, language_of(policy.language), eagerness)


def limit_pause(
    turn: CallerTurn, agent: str, eagerness: Eagerness, policy: TurnPolicy, answer_awaited: bool
) -> list[Command]:
    """Let the witnesses say how long the pause in progress may be.

    agent: as `judged` has it. answer_awaited: its answer is being made, and there is nothing to hear of it
    yet.
    """
    if not isinstance(turn.phase, Paused):
        return []
    more_s = ANSWER_S if answer_awaited else 0.0
    return [RequireSilence(turn.item_id, judged(turn, agent, eagerness, policy), more_s)]
