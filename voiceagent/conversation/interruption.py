"""Barge-in: what a voice over the agent means, and what the agent does about it. The whole policy; pure.

    a voice over the agent ──▶ candidate ──┬─▶ interruption   cut: the history keeps what was played
      duck, then hold                      ├─▶ backchannel    restore: as if nothing had been said
                                           └─▶ for later      restore: answered after the response

- Duck: what may be a voice lowers the agent's at once, and a blip brings it back.
- Hold: a voice that goes on silences the agent where it is, ready to go on. So does, at once, the voice of a
  caller who is answered too early, and sound that is loud for 0.1 s and may be a voice: in a noisy room the
  model is not sure of one for 0.4 s, and of an "s" or an "f" never.
- Low: a voice that is much lower than this caller's own comes from across the room, or from a telephone that
  lowers him while the agent sounds (`turn.nearness`). It ducks and holds, but cuts only where it asks for the
  turn. If it grows louder it is the caller's, whose voice does so when the agent is silent. If it stays low
  for as long as would interrupt, it is not: the agent goes on, and answers it after the response; the next
  voice that is as low is distant, and does not even duck. Before the caller's level is known, and within
  `resume_s`, every voice is his.
- Confirm: a voice is an interruption by its length, whatever it says, or by its words: enough of them beside
  backchannels, or one that asks for the turn.
- Backchannel: a listener's "uh huh", and what a recognizer hears in a hum, leave no trace.
- Unsayable: more words than the voice had time for do not cut. Of a hum they leave no trace; a longer voice
  is one whose beginning was not noticed (the recognizer is given the sound before it too), and is answered.
- Later: a turn that is over, and neither of these, is answered when the agent has finished.
- Resume: a voice that begins within `resume_s` of a turn's end goes on with that turn. Nobody reacts so soon
  to what the agent says: the silence was a pause, and the end of the turn a false one.
- Take back: the response to a false end should not have begun. One word cuts it, and nothing of it counts as
  played; the turn is answered as a whole.
- Make again: a response that was cut before any of it was played is owed again, where what cut it turns out
  to be no words (`answering`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from voiceagent.conversation.commands import Command, DuckPlayout, HoldPlayout, RestorePlayout
from voiceagent.conversation.events import VoiceNoticed
from voiceagent.conversation.response.phases import Response
from voiceagent.conversation.settings import TurnDetection
from voiceagent.conversation.turn.caller import Caller
from voiceagent.conversation.turn.caller_turn import CallerTurn, Length
from voiceagent.conversation.turn.nearness import Levels, Nearness
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.words import beside_backchannels, words_of

MIN_WORD_S = 0.1
"""Nobody says a word in less; of the first 60 ms of an "uh huh" Moonshine makes "That's it."."""
MAX_HUM_S = 0.4
"""A voice with more words than it had time for was a hum if it is no longer: "mm hmm" takes 0.3 to 0.5 s."""


class Meaning(Enum):
    """What a voice over the agent was, once it is over and its words are known."""

    INTERRUPTION = auto()
    BACKCHANNEL = auto()
    FOR_LATER = auto()


@dataclass(frozen=True, slots=True)
class InterruptionPolicy:
    """Decides about voices over the agent. A response is given only where it is active: never a preemptive
    one, of which nobody knows.
    """

    policy: TurnPolicy

    # ---- what the agent does while it is not decided

    def notice(
        self, voice: VoiceNoticed, caller: Caller, response: Response | None, detection: TurnDetection | None
    ) -> list[Command]:
        """Step back at once for what may be a voice: it costs nothing to go on if it is none."""
        resumed = self.resumed(voice.at_s, caller.last, response)
        distant = self.nearness(voice.level_db, caller.levels, resumed) is Nearness.DISTANT
        if distant or not is_candidate(response, detection):
            return []
        return step_back(response, resumed, voice.lasts)

    def nearness(self, level_db: float | None, levels: Levels, resumed: CallerTurn | None) -> Nearness:
        """Whose a voice over the agent is.

        level_db: of its loudest window so far, None if not known. resumed: the turn that the voice goes on
        with. The loudest window of the first 0.16 s is at most 9 dB below the level of the whole in 98 % of
        96 voices of 29 people, that of the first 0.32 s at most 4.
        """
        if resumed is not None:
            return Nearness.NEAR
        return levels.nearness(level_db, self.policy.distant_voice_db)

    def resumed(self, at_s: float, last: CallerTurn | None, response: Response | None) -> CallerTurn | None:
        """The turn that a voice from `at_s` on goes on with, where `response` answers it too early.

        last: the caller's newest turn that ended by voice.
        """
        if last is None or response is None or response.start.turn_id != last.item_id:
            return None
        return last if at_s - last.end_s <= self.policy.resume_s else None

    # ---- what the voice means

    def confirmed_by_words(self, turn: CallerTurn, response: Response | None) -> bool:
        """Whether the words of a candidate make it an interruption, or a turn at last."""
        return may_be_confirmed(turn, response) and self._interrupts(turn)

    def _interrupts(self, turn: CallerTurn) -> bool:
        """Whether the words are meant to interrupt the agent: enough of them, or one that asks for the turn.

        Backchannels do not count, nor do words that may be taken back, nor those that are made of a hum: a
        recognizer that hears "okay I" in an "okay", or "him and them" in an "mm hmm", must not stop the
        agent. One word is enough of a caller who resumes a turn.
        """
        # while he speaks only words that stay: one that is taken back again has silenced the agent already
        words = self._said(turn, turn.text if turn.settled else turn.recognized.stable)
        if turn.resumes is not None:
            return bool(words)
        # settled only: "no" stands at the beginning of "now" and "nobody" for as long as these are not whole
        asks = turn.settled and not self.policy.stop_words.isdisjoint(words)
        enough = len(words) >= self.policy.min_interruption_words and turn.nearness is Nearness.NEAR
        return asks or (enough and not self.policy.misheard_backchannels.issuperset(words))

    def meaning(self, turn: CallerTurn, response: Response | None) -> Meaning:
        """What a candidate was that is over, and whose words are settled.

        Where all the agent's sound is sent nobody listens to it any more: a "yes" then answers it.
        """
        if response is not None and not response.end_notified and self._is_backchannel(turn):
            return Meaning.BACKCHANNEL
        if is_interruptible(response) and self._interrupts(turn):
            return Meaning.INTERRUPTION
        return Meaning.FOR_LATER

    def _is_backchannel(self, turn: CallerTurn) -> bool:
        """Whether the words, if any, only show that the caller listens."""
        words = words_of(turn.text)
        if not _sayable(turn, words):
            return turn.voiced_s <= MAX_HUM_S
        words = beside_backchannels(words, self.policy.backchannels)
        # of a caller who goes on with his turn every word is meant
        return self.policy.misheard_backchannels.issuperset(words) if turn.resumes is None else not words

    def _said(self, turn: CallerTurn, text: str) -> tuple[str, ...]:
        """The words beside backchannels; none where the voice was too short to say what was understood."""
        words = words_of(text)
        return beside_backchannels(words, self.policy.backchannels) if _sayable(turn, words) else ()


def _sayable(turn: CallerTurn, words: tuple[str, ...]) -> bool:
    """Whether there was time to say them."""
    return turn.voiced_s >= len(words) * MIN_WORD_S


def is_candidate(response: Response | None, detection: TurnDetection | None) -> bool:
    """Whether a turn that begins now is a voice over the agent, which may be no turn at all."""
    return response is not None and detection is not None and detection.interrupt_response


def is_interruptible(response: Response | None) -> bool:
    """Whether there is a response that a caller may cut."""
    return response is not None and response.wanted.interruptible


def step_back(response: Response | None, resumed: CallerTurn | None, lasts: bool = False) -> list[Command]:
    """Lower the agent's voice; silence it where the sound lasts, or where it answers a turn that goes on."""
    if not is_interruptible(response):
        return []
    return [HoldPlayout() if resumed or lasts else DuckPlayout()]


def hold(turn: CallerTurn, response: Response | None) -> list[Command]:
    """The voice over the agent goes on: stop and listen, ready to go on as well."""
    waits = turn.announced or turn.nearness is Nearness.DISTANT or not is_interruptible(response)
    return [] if waits or turn.length is Length.BRIEF else [HoldPlayout()]


def make_up(turn: CallerTurn, response: Response | None) -> list[Command]:
    """A voice that was taken to be across the room may be the caller's: do what was not done for it."""
    if turn.announced:  # a turn since the response ended
        return []
    return hold(turn, response) or step_back(response, turn.resumes)


def confirmed_by_length(turn: CallerTurn, response: Response | None) -> bool:
    """Whether the length of a candidate makes it an interruption, or a turn at last."""
    near = turn.nearness is Nearness.NEAR
    return near and turn.length is Length.CONFIRMED and may_be_confirmed(turn, response)


def stayed_low(turn: CallerTurn, response: Response | None) -> bool:
    """Whether a voice is low after all the time in which the agent was silent for it."""
    held = response is not None and may_be_confirmed(turn, response)
    return held and turn.nearness is Nearness.LOW and turn.length is Length.CONFIRMED


def may_be_confirmed(turn: CallerTurn, response: Response | None) -> bool:
    """Whether the turn is a candidate that its length, or its words, make an interruption."""
    return not turn.announced and (response is None or is_interruptible(response))


def let_go_on() -> Command:
    """The agent was not interrupted: bring its voice back where it was."""
    return RestorePlayout()


def is_taken_back(turn: CallerTurn) -> bool:
    """Whether a response that this turn cuts should not have begun: nothing of it counts as played."""
    return turn.resumes is not None
