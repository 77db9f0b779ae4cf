"""The caller's turns: the one in progress, and those that are over and wait for their transcript."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from audio.recognizers import Spelling
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import TurnEndCode
from voiceagent.conversation.commands import Command
from voiceagent.conversation.end_of_turn.dictation import asks_for_number
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.history import History, MessageItem
from voiceagent.conversation.turn.caller_turn import (
    CallerTurn,
    Ended,
    Paused,
    RecognitionState,
    Speaking,
    TurnVisibility,
)
from voiceagent.conversation.turn.proximity import SpeakerProximity, VoiceLevels
from voiceagent.conversation.turn_policy import CurrentPolicy
from voiceagent.conversation.words import words_of

PAUSE_S = 0.25
"""Minimum silence that counts as a pause, longer than the closure of a consonant."""


class Caller:
    """Owner of the caller's turns until they are concluded. Methods return the commands that follow.

    open: the turn in progress, pauses included. awaiting: turns that are over and not settled. last: the
    newest that ended by voice, not by the client's commit. dictation: the dictation that the agent's code
    expects, see `CallerTurn`, until it is done. spelling: what the agent's code expects, see `Flush`. levels:
    levels of the call's voices. echo_delay_s: delay of the agent's echo on the line, None if none was
    measured.
    """

    def __init__(self, history: History, policy: CurrentPolicy, new_id: Callable[[str], str]) -> None:
        self._history = history
        self._policy = policy
        self._new_id = new_id
        self.open: CallerTurn | None = None
        self.awaiting: list[CallerTurn] = []
        self.last: CallerTurn | None = None
        self.dictation: tuple[int, ...] | None = None
        self.spelling: Spelling = ""
        self.levels = VoiceLevels()
        self.echo_delay_s: float | None = None
        self._committed_to_s = 0.0  # end of the newest item's audio

    @property
    def silent(self) -> bool:
        """True if the caller does not speak and no turn waits for its transcript. Audio that a client will
        commit is speech once it has words: a microphone that is always open fills the buffer with silence.
        """
        return self.all_committed and (self.open is None or not self.open.whole_words)

    @property
    def all_committed(self) -> bool:
        """True if no turn is in progress or waits for its transcript, besides audio that a client will
        commit.
        """
        buffered = self.open is not None and self.open.by_hand and self._policy.now.answers_over_buffer
        return (self.open is None or buffered) and not self.awaiting

    def find(self, item_id: str) -> CallerTurn | None:
        """Return the turn with this item, None if it was concluded."""
        # transcripts of turns that are over arrive during the next turn
        turns = [*self.awaiting, self.open] if self.open else self.awaiting
        return next((turn for turn in turns if turn.item_id == item_id), None)

    @property
    def private(self) -> bool:
        """True while a private turn is in progress or waits for its transcript."""
        # asked for each frame of audio
        if self.open is not None and self.open.private:
            return True
        return bool(self.awaiting) and any(turn.private for turn in self.awaiting)

    def start(
        self, at_s: float, padding_s: float, respond: bool, resumes: CallerTurn | None, private: bool = False
    ) -> tuple[CallerTurn, Command]:
        """Start a turn and its recognition, even if it may turn out to be none. padding_s: length of the
        audio before the turn that is recognized too. private: see `CallerTurn`.
        """
        # a resumed turn continues its own dictation
        dictation = self.dictation if resumes is None else resumes.dictation
        # items must not share samples: a word would be recognized twice, or in part
        taken_to_s = max([self._committed_to_s, *(ended.sound_end_s for ended in self.awaiting)])
        turn = self.open = CallerTurn(self._new_id("item"), at_s, respond, resumes, dictation)
        turn.private = private or (resumes is not None and resumes.private)
        if taken_to_s > at_s - padding_s:
            turn.not_before_s = min(taken_to_s, at_s)
        whole = resumes is not None and self._policy.now.resume_as_whole
        continues = resumes.item_id if resumes is not None and whole else ""
        return turn, do.StartRecognition(turn.item_id, at_s, turn.not_before_s, continues)

    def announce(self, turn: CallerTurn, by_voice: bool) -> list[Command]:
        """Notify the client of the turn, unless the client itself committed it."""
        turn.visibility = TurnVisibility.ANNOUNCED
        if not by_voice:
            return []
        return [notify.NotifySpeechStarted(turn.item_id, turn.started_at_s, turn.not_before_s)]

    def pause(self, turn: CallerTurn, at_s: float, judge: bool) -> list[Command]:
        """Handle a pause: request a settled transcript, and ask the turn model."""
        turn.phase = Paused(at_s)
        return self._flush(turn) + ([do.JudgeTurn(turn.item_id)] if judge else [])

    def resume(self, turn: CallerTurn, at_s: float) -> None:
        """Handle the end of a pause. The transcript is no longer settled."""
        pause_s = at_s - turn.phase.at_s if isinstance(turn.phase, Paused) else 0.0
        if pause_s >= PAUSE_S:
            turn.own_pauses_s += (pause_s,)
        turn.phase = Speaking()

    def end(
        self,
        turn: CallerTurn,
        at_s: float,
        code: TurnEndCode,
        level_db: float | None = None,
        sound_end_s: float | None = None,
    ) -> list[Command]:
        """End the turn; its transcript may still be pending. code, sound_end_s: see `Ended`. level_db: level
        of its voice, if known.
        """
        turn.level_db = level_db
        # the pause before the end has flushed already
        flushed = not turn.speaking
        turn.phase = Ended(at_s, sound_end_s, code)
        self.open = None
        self.awaiting.append(turn)
        return [] if flushed else self._flush(turn)

    def end_by_client(self, turn: CallerTurn, buffered_s: float) -> list[Command]:
        """End the turn on the client's request, `buffered_s` after its beginning. The client requests the
        response itself.
        """
        turn.respond = False
        turn.visibility = TurnVisibility.ANNOUNCED
        return self.end(turn, turn.started_at_s + buffered_s, "client")

    def commit(self, turn: CallerTurn, by_voice: bool) -> list[Command]:
        """Add the turn to the conversation, with the transcript so far."""
        turn.visibility = TurnVisibility.COMMITTED
        self.dictation = None
        # turns that the client commits are not resumed by voice
        self.last = turn if by_voice else None
        item = MessageItem(turn.item_id, "user", turn.shown_text, spoken=True)
        previous = self._history.last_id()
        self._history.insert(item)
        self._committed_to_s = max(self._committed_to_s, turn.sound_end_s)
        return [
            *(_stopped(turn) if by_voice else ()),
            notify.NotifyInputCommitted(turn.item_id, previous, turn.end_code),
            notify.NotifyItemAdded(item, previous),
            notify.NotifyItemDone(item, previous),
        ]

    def add_item_turn(self, item: MessageItem, seconds: float) -> None:
        """Create a turn for an item of the client, with this much audio, that waits for its transcript."""
        ended = CallerTurn(item.item_id, 0.0, respond=False, phase=Ended(seconds))
        ended.typed = item.text
        ended.visibility, ended.recognition = TurnVisibility.COMMITTED, RecognitionState(flushes=1)
        self.awaiting.append(ended)

    def on_idle(self, at_s: float) -> notify.NotifyIdle:
        """Make the silence that ended at `at_s` an item, which has no words and which prompts leave out."""
        item_id = self._new_id("item")
        if not self._policy.now.idle_items:
            return notify.NotifyIdle(item_id, at_s)
        previous_id = self._history.last_id()
        self._history.insert(MessageItem(item_id, "user", "", spoken=True))
        return notify.NotifyIdle(item_id, at_s, True, previous_id)

    def drop(self, turn: CallerTurn) -> list[Command]:
        """Drop the turn and close its recognition, unless a voice may still resume this turn, or the one that
        it seemed to resume.
        """
        if turn is self.open:
            self.open = None
        else:
            self.awaiting.remove(turn)
        last = self.last
        resumable = last is not None and (last is turn or last is turn.resumes)
        if last is None or not resumable or not self._policy.now.resume_as_whole:
            return [do.StopRecognition(turn.item_id)]
        return [do.StopRecognition(turn.item_id, last.item_id, last.end_s + self._policy.now.resume_s)]

    def conclude(self, turn: CallerTurn, transcribe: bool) -> list[Command]:
        """Write the final transcript of a committed turn into its item, if it still exists, and notify the
        client of it or of its failure.
        """
        if turn.text and turn.level_db is not None and turn.proximity is SpeakerProximity.NEAR:
            self.levels.add_turn(turn.level_db)
        self._write_transcript(turn)
        if turn.recognition.failure is not None:
            return [notify.NotifyTranscriptFailed(turn.item_id, turn.recognition.failure)]
        seconds = turn.end_s - turn.started_at_s
        confidence = turn.recognition.confidence
        logprob = math.log(confidence) if confidence else None
        final = notify.NotifyTranscript(turn.item_id, turn.shown_text, True, seconds, logprob)
        return [final] if transcribe else []

    def _write_transcript(self, turn: CallerTurn) -> None:
        if turn.item_id in self._history:  # a client may have deleted it meanwhile
            words = "\n".join(filter(None, (turn.typed, turn.shown_text)))
            self._history.put(MessageItem(turn.item_id, "user", words, spoken=True))

    def notify_stable(self, turn: CallerTurn) -> list[Command]:
        """Notify the client of newly stable words."""
        stable = turn.recognition.stable
        if turn.private or not stable.startswith(turn.notified) or len(stable) == len(turn.notified):
            return []
        added = stable[len(turn.notified) :]
        turn.notified = stable
        return [notify.NotifyTranscript(turn.item_id, added, final=False)]

    def set_hypothesis(self, turn: CallerTurn, event: ev.TranscriptChanged) -> None:
        """Store the recognizer's newest hypothesis of the turn. The agent's own words count as none, and so
        do hesitations alone after a false end: each would have the turn answered once more.
        """
        if turn.resumes is not None and self._policy.now.hesitations.issuperset(words_of(event.text)):
            event = replace(event, text="", stable="")
        if turn.overlap is not None and turn.overlap.is_echo(event.text, turn.voiced_s):
            event = replace(event, text="", stable="", earlier=())
        # counted: after a false pause an older flush may still be unanswered
        answered = 1 if event.settled and turn.recognition.flushes else 0
        turn.recognition = replace(
            turn.recognition,
            text=event.text,
            before=turn.recognition.before if event.text == turn.text else turn.text,
            stable=event.stable,
            confidence=event.confidence,
            complete=event.complete,
            flushes=turn.recognition.flushes - answered,
            # the score applies to this exact text only
            ends=turn.recognition.ends if event.text == turn.text else None,
        )
        if event.settled and words_of(event.text):
            self._correct(turn, event.earlier)

    def _correct(self, turn: CallerTurn, earlier: tuple[str, ...]) -> None:
        """Correct the turns that this one resumes: their last words are known better now."""
        resumed = turn.resumes
        for text in reversed(earlier):
            if resumed is None:
                return
            if text != resumed.text:
                resumed.recognition = replace(resumed.recognition, text=text)
                self._write_transcript(resumed)
            resumed = resumed.resumes

    def revise(self, event: ev.TranscriptRevised) -> list[Command]:
        """Replace the words of the last turn, and of those that it resumed. A turn without words gets none:
        they were the agent's own, or hesitations.
        """
        turn = self.last
        if turn is None or turn.item_id != event.item_id or turn.private:
            return []
        commands: list[Command] = []
        for text in reversed((*event.earlier, event.text)):
            if turn is not None and turn.text not in ("", text) and turn.item_id in self._history:
                turn.recognition = replace(turn.recognition, text=text)
                self._write_transcript(turn)
                commands.append(notify.NotifyTranscriptRevised(turn.item_id, text))
            turn = turn and turn.resumes
        return commands

    def set_turn_model_result(self, turn: CallerTurn, event: ev.TurnJudged) -> None:
        """Store the turn model's probability for the pause in progress, not for the next if it is late."""
        if isinstance(turn.phase, Paused):
            turn.phase = replace(turn.phase, probability=event.probability)

    def set_llm_score(self, turn: CallerTurn, event: ev.TurnEndScored) -> None:
        """Store the LLM's end-of-turn score, if it is of the current text."""
        if event.words == turn.text:
            turn.recognition = replace(turn.recognition, ends=event.log_probability)

    def set_failure(self, turn: CallerTurn, reason: str) -> None:
        """Record that the recognizer failed in this turn."""
        turn.recognition = replace(turn.recognition, failure=reason)

    def _flush(self, turn: CallerTurn) -> list[Command]:
        if turn.recognition.failure is not None:
            return []
        turn.recognition = replace(turn.recognition, flushes=turn.recognition.flushes + 1)
        said = self._history.last_agent_words()
        number = asks_for_number(said, turn.dictation, language_of(self._policy.now.language))
        return [do.FlushRecognition(turn.item_id, number, self.spelling)]


def _stopped(turn: CallerTurn) -> list[Command]:
    sound_end_s = turn.phase.sound_end_s if isinstance(turn.phase, Ended) else None
    return [notify.NotifySpeechStopped(turn.item_id, turn.end_s, sound_end_s)]
