"""Barge-in policy: classifies a voice over the agent and decides how the playout reacts.

    voice over the agent ──▶ candidate ──┬─▶ interruption   cut: the history keeps what was played
      duck, then hold                    ├─▶ backchannel    restore: as if nothing had been said
                                         └─▶ for later      restore: answered after the response

- Duck: a possible voice lowers the agent's volume at once; a blip restores it.
- Hold: a voice that continues pauses the playout at its position. So does, at once, the voice of a caller who
  was answered too early, and sound that is loud for 0.1 s and may be a voice: in a noisy room the VAD model
  needs up to 0.4 s to be sure, and never is for an "s" or an "f".
- Low: a voice much quieter than the caller's own comes from across the room, or from a telephone that
  attenuates the caller while the agent sounds (`turn.proximity`). It ducks and holds, but cuts only with a
  stop word. If it grows louder it is the caller's, because telephones stop attenuating once the agent is
  silent. If it stays low for as long as would interrupt, it is not the caller's: the playout resumes, and it
  is answered after the response; the next voice that low is distant, and does not even duck. Until the
  caller's level is known, and within `resume_s`, every voice counts as the caller's.
- Confirm: a voice interrupts by its length, whatever the transcript, or by its words: enough of them that
  are not backchannels, or a stop word.
- Backchannel: a listener's "uh huh", and what a recognizer makes of a hum, leave no trace.
- Answer: a "yes" over the last words of a question for one, such as "is that right?", interrupts.
- Unsayable: more words than the voice had time for do not cut. In a hum they leave no trace; a longer voice
  is speech whose beginning was missed (the recognizer gets the audio before it too), and is answered.
- Later: a turn that ends as neither of these is answered when the agent has finished.
- Resume: a voice within `resume_s` of a turn's end resumes that turn. People do not react that fast to the
  agent's words: the silence was a pause, and the end of turn was false.
- Take back: the response to a false end should not have started. A voice of `interruption_candidate_s` cuts
  it, or one word; none of it counts as played, and the whole turn is answered. If the voice turns out to have
  no words, the next one needs a word: an echo of the agent must not cut it again and again.
- Make again: a response that was cut before any of it was played is made again if the voice that cut it
  turns out to have no words (`answering`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from voiceagent.conversation.causes import InterruptedBy
from voiceagent.conversation.commands import Command, DuckPlayout, HoldPlayout, RestorePlayout
from voiceagent.conversation.events import VoiceNoticed
from voiceagent.conversation.response.phases import Response
from voiceagent.conversation.settings import TurnDetection
from voiceagent.conversation.turn.caller import Caller
from voiceagent.conversation.turn.caller_turn import CallerTurn, VoiceLength
from voiceagent.conversation.turn.proximity import SpeakerProximity, VoiceLevels
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.words import without_backchannels, words_of

MIN_WORD_S = 0.1
"""Minimum duration of a word. Moonshine recognizes "That's it." in the first 60 ms of an "uh huh"."""
MAX_HUM_S = 0.4
"""Maximum duration of a hum with more words than there was time for: "mm hmm" takes 0.3 to 0.5 s."""
_LAST_WORDS_S = 1.5
"""Length of the last words of a question, over which a "yes" answers it: "Is that right?" takes 0.8 to 1.1 s,
and who has heard the value before it does not wait for that.
"""


class Action(Enum):
    """Reaction of the playout to a voice over the agent."""

    NONE = auto()
    DUCK = auto()
    HOLD = auto()
    RESUME = auto()
    CUT = auto()


@dataclass(frozen=True, slots=True)
class Reaction:
    """A decision about a voice over the agent. rule: the one that cuts the response, "" for other actions."""

    action: Action
    rule: InterruptedBy = ""

    @property
    def commands(self) -> list[Command]:
        """Commands to the playout. CUT has none: the response is stopped instead."""
        return list(_PLAYOUT.get(self.action, ()))


NO_REACTION = Reaction(Action.NONE)
_PLAYOUT: dict[Action, tuple[Command, ...]] = {
    Action.DUCK: (DuckPlayout(),),
    Action.HOLD: (HoldPlayout(),),
    Action.RESUME: (RestorePlayout(),),
}


class Meaning(Enum):
    """Classification of a voice over the agent, once it is over and its transcript is final."""

    INTERRUPTION = auto()
    BACKCHANNEL = auto()
    FOR_LATER = auto()


@dataclass(frozen=True, slots=True)
class InterruptionPolicy:
    """Rules for voices over the agent. `response` is the active, audible one, never preemptive."""

    policy: TurnPolicy

    # ---- what the agent does while it is not decided

    def react_to_possible_voice(
        self, voice: VoiceNoticed, caller: Caller, response: Response | None, detection: TurnDetection | None
    ) -> Reaction:
        """Duck or hold at once for a possible voice: resuming is cheap if it is none."""
        resumed = self.resumed_turn(voice.at_s, caller.last, response)
        if self.proximity(voice.level_db, caller.levels, resumed) is SpeakerProximity.DISTANT:
            return NO_REACTION
        if not is_candidate(response, detection):
            return NO_REACTION
        return duck_or_hold(response, resumed, voice.lasts)

    def proximity(
        self, level_db: float | None, levels: VoiceLevels, resumed: CallerTurn | None
    ) -> SpeakerProximity:
        """Return the proximity of a voice over the agent.

        level_db: of its loudest window so far, None if unknown. resumed: the turn that the voice resumes. The
        loudest window of the first 0.16 s is at most 9 dB below the level of the whole in 98 % of 96 voices
        of 29 people, that of the first 0.32 s at most 4 dB.
        """
        if resumed is not None:
            return SpeakerProximity.NEAR
        return levels.proximity(level_db, self.policy.distant_voice_db)

    def resumed_turn(
        self, at_s: float, last: CallerTurn | None, response: Response | None
    ) -> CallerTurn | None:
        """Return the turn that a voice starting at `at_s` resumes, if `response` answered it too early.

        last: the caller's newest turn that ended by voice.
        """
        if last is None or response is None or response.start.turn_id != last.item_id:
            return None
        return last if at_s - last.end_s <= self.policy.resume_s else None

    # ---- what the voice means

    def confirm_by_words(self, turn: CallerTurn, response: Response | None) -> Reaction:
        """Cut for a candidate whose transcript makes it an interruption, or a turn after the response."""
        if not is_confirmable(turn, response):
            return NO_REACTION
        return self.judge_words(turn, response)

    def confirm_by_length(self, turn: CallerTurn, response: Response | None) -> Reaction:
        """Cut for a candidate that is long enough, or resume if it stayed low while the agent was silent."""
        if not is_confirmable(turn, response):
            return NO_REACTION
        if turn.length is VoiceLength.CANDIDATE and self._takes_back(turn):
            return Reaction(Action.CUT, "resumed_turn")
        if turn.length is not VoiceLength.CONFIRMED:
            return NO_REACTION
        if turn.proximity is SpeakerProximity.NEAR:
            return Reaction(Action.CUT, "duration")
        stayed_low = turn.proximity is SpeakerProximity.LOW and response is not None
        return Reaction(Action.RESUME) if stayed_low else NO_REACTION

    def _takes_back(self, turn: CallerTurn) -> bool:
        return self.policy.resume_as_whole and turn.resumes is not None and bool(words_of(turn.resumes.text))

    def judge_words(self, turn: CallerTurn, response: Response | None) -> Reaction:
        """Cut for enough words, for a stop word, or for the answer to a question.

        Backchannels do not count, nor do unstable words, nor words that recognizers make of a hum: "okay I"
        for "okay", or "him and them" for "mm hmm", must not stop the agent. One word is enough to resume a
        turn.
        """
        # during speech only stable words: an unstable one has paused the agent already
        words = self._counted_words(turn, turn.text if turn.settled else turn.recognition.stable)
        if turn.resumes is not None and words:
            return Reaction(Action.CUT, "resumed_turn")
        # final only: "no" is the beginning of "now" and "nobody" until these are complete
        if turn.resumes is None and turn.settled and not self.policy.stop_words.isdisjoint(words):
            return Reaction(Action.CUT, "stop_word")
        near = turn.proximity is SpeakerProximity.NEAR
        if near and _is_answer(turn, response):
            return Reaction(Action.CUT, "words")
        enough = len(words) >= self.policy.min_interruption_words and near
        if turn.resumes is None and enough and not self.policy.misheard_backchannels.issuperset(words):
            return Reaction(Action.CUT, "words")
        return NO_REACTION

    def meaning(self, turn: CallerTurn, response: Response | None) -> Meaning:
        """Classify a candidate that is over and whose transcript is final.

        If all the agent's audio is sent, it no longer listens: a "yes" then answers the response.
        """
        listens = response is not None and not response.end_notified
        if listens and self._is_backchannel(turn) and not _is_answer(turn, response):
            return Meaning.BACKCHANNEL
        if is_interruptible(response) and self.judge_words(turn, response).action is Action.CUT:
            return Meaning.INTERRUPTION
        return Meaning.FOR_LATER

    def _is_backchannel(self, turn: CallerTurn) -> bool:
        """Return True if the words, if any, only show that the caller listens."""
        words = words_of(turn.text)
        if not _has_time_for(turn, words):
            return turn.voiced_s <= MAX_HUM_S
        words = without_backchannels(words, self.policy.backchannels)
        # every word of a resumed turn is meant
        return self.policy.misheard_backchannels.issuperset(words) if turn.resumes is None else not words

    def _counted_words(self, turn: CallerTurn, text: str) -> tuple[str, ...]:
        """Return the words without backchannels; none if the voice was too short for them."""
        words = words_of(text)
        return without_backchannels(words, self.policy.backchannels) if _has_time_for(turn, words) else ()


def _is_answer(turn: CallerTurn, response: Response | None) -> bool:
    """Return True if the final words answer a question whose last words were being played. Words that the
    agent says too may be its echo: "right" over "is that right?".
    """
    words = words_of(turn.text)
    if response is None or turn.overlap is None or not turn.settled or not _has_time_for(turn, words):
        return False
    played = response.played
    if turn.overlap.response is not played or played.awaits_audio or set(words_of(played.text)) >= set(words):
        return False
    answers = frozenset(tuple(phrase.split()) for phrase in response.wanted.answers)
    in_last_words = played.sound_s - turn.overlap.played_s <= _LAST_WORDS_S
    return in_last_words and not without_backchannels(words, answers)


def _has_time_for(turn: CallerTurn, words: tuple[str, ...]) -> bool:
    return turn.voiced_s >= len(words) * MIN_WORD_S


def is_candidate(response: Response | None, detection: TurnDetection | None) -> bool:
    """Return True if a turn that starts now is a voice over the agent, and possibly no turn."""
    return response is not None and detection is not None and detection.interrupt_response


def is_interruptible(response: Response | None) -> bool:
    """Return True if there is a response that the caller can interrupt."""
    return response is not None and response.wanted.interruptible


def duck_or_hold(response: Response | None, resumed: CallerTurn | None, lasts: bool = False) -> Reaction:
    """Duck the playout; hold it if the sound lasts or resumes a turn."""
    if not is_interruptible(response):
        return NO_REACTION
    return Reaction(Action.HOLD if lasts or resumed is not None else Action.DUCK)


def hold(turn: CallerTurn, response: Response | None) -> Reaction:
    """Hold the playout for a voice over the agent that continues."""
    withheld = turn.announced or turn.proximity is SpeakerProximity.DISTANT
    if withheld or not is_interruptible(response) or turn.length is VoiceLength.BRIEF:
        return NO_REACTION
    return Reaction(Action.HOLD)


def apply_deferred_hold(turn: CallerTurn, response: Response | None) -> Reaction:
    """Apply the reaction that was withheld while the voice seemed distant."""
    held = hold(turn, response)
    # an announced turn began when the response ended: nothing was withheld from it
    return held if turn.announced or held.action is Action.HOLD else duck_or_hold(response, turn.resumes)


def is_confirmable(turn: CallerTurn, response: Response | None) -> bool:
    """Return True if the turn is a candidate that its length or transcript can confirm."""
    return not turn.announced and (response is None or is_interruptible(response))
