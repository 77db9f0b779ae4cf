"""Decision about the kind of answer to an outbound call, from the first words and tones at the other end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

from audio.steady_tones import SteadyTone
from voiceagent.session.agent import AnsweredBy
from voiceagent.transports.telephony.outbound.policies import greeting_phrases as phrases
from voiceagent.transports.telephony.outbound.policies.greeting_odds import kind_of_machine, log_odds
from voiceagent.transports.telephony.outbound.policies.greeting_phrases import normalized, plain_text

MIN_PHRASE_LOG_ODDS, MIN_LENGTH_LOG_ODDS = -0.5, -2.0
"""Log-odds of a machine below which a known phrase ("I don't take calls like this.") or the length makes
none: all words decide after the silence.
"""
MIN_LOG_ODDS = 0.5
"""The same for all words after the silence, without a known phrase. Who is taken for a machine is hung up on,
or hears a message; a machine that is taken for a person hears the agent's first words.
"""
LONG_GREETING_S = 4.5
"""Length from which a greeting without a known phrase or a question is a recording: people say their name,
and wait.
"""
LONG_QUESTION_S = 7.0
"""The same for a greeting that ends in a question, as of a receptionist."""
SHORT_WORDS = 2
"""Words up to which a greeting without a known phrase is a person's at once. With three or more, as in "Hi,
this is Anna.", "Thanks for calling." and "Who should I say is calling?", recordings begin, too, and may pause
for longer than the silence that ends a turn; and the question mark may be misheard.
"""


_BARE_GREETINGS = frozenset(
    ("hello", "hi", "hi there", "hello there", "good morning", "good afternoon", "good evening", "good day")
) | {"thanks", "thank you", "welcome", "sorry"}
"""Short words with which recordings begin, too, before a pause: "Hello. Welcome to the messaging service." As
a question they are a person's.
"""


def kind_of_words(words: str, length_s: float) -> AnsweredBy | None:
    """Return the kind of answer by its words; None if more words may follow that decide. length_s: from the
    beginning of the first word to the end of the last.
    """
    plain, odds = plain_text(words), log_odds(words)
    machine, named = kind_of_machine(words), phrases.kind_by_phrases(plain)
    if named == "voicemail" and _speaks_for_another(plain):
        return "person"
    if named is not None and odds >= MIN_PHRASE_LOG_ODDS:
        return machine
    asks = _asks(words, plain)
    if length_s >= (LONG_QUESTION_S if asks else LONG_GREETING_S) and odds >= MIN_LENGTH_LOG_ODDS:
        return machine
    short = len(plain.split()) <= SHORT_WORDS and (asks or plain.strip() not in _BARE_GREETINGS)
    return "person" if short or (phrases.QUESTION.search(plain) and odds <= 0) else None


def may_continue(words: str) -> bool:
    """Return True if the words of a recording decide its kind only together with those that may follow: they
    have no phrase, or one with which menus begin, too.
    """
    return phrases.kind_by_phrases(phrases.OPENS_MENUS.sub(" ", plain_text(words))) is None


def _speaks_for_another(plain: str) -> bool:
    """Return True for a person who says that another one is not there."""
    of_person = phrases.ASKS_BACK.search(plain) or phrases.OF_ANOTHER.search(plain)
    return of_person is not None and not phrases.FOR_MACHINES.search(plain)


def asks_to_wait(words: str) -> bool:
    """Return True if these words, from a screener, ask for patience. A question is a person's."""
    plain = plain_text(words)
    waits = phrases.WAIT.search(plain) is not None
    return waits and not _asks(words, plain) and not phrases.VOICEMAIL.search(plain)


def _asks(words: str, plain: str) -> bool:
    """Return True for a question. plain: the words without punctuation."""
    return normalized(words).rstrip("\"' ").endswith("?") or phrases.QUESTION.search(plain) is not None


MORE_WORDS_S = 1.0
"""Silence after the last word that shows that no more words follow, if a person and a machine may both begin
with these ("Hi, this is Anna."); and the longest wait after the end of a turn for its transcript.
"""
PROGRESS_HZ = (410.0, 440.0)
"""Call-progress tones of most of Europe (425 Hz), and of North America's in part: these are no beep."""
CNG_HZ, CNG_S = (1_062.0, 1_138.0), (0.425, 0.575)
CED_HZ, CED_S = (2_085.0, 2_115.0), 0.4
"""The tones of T.30, with their tolerances. CED may be cut into pieces of 0.45 s by phase reversals (V.8)."""
BEEP_HZ = (400.0, 2_000.0)


class Tone(Enum):
    """The meaning of a tone. NONE: it does not help to decide."""

    NONE = auto()
    BEEP = auto()
    FAX = auto()


def tone_of(tone: SteadyTone, *, spoken: bool) -> Tone:
    """Return a tone's meaning. spoken: something was said before; then 1100 Hz is a voicemail's beep."""
    hz, length_s = tone.frequency_hz, tone.length_s
    if CED_HZ[0] <= hz <= CED_HZ[1] and length_s >= CED_S:
        return Tone.FAX
    if not spoken and CNG_HZ[0] <= hz <= CNG_HZ[1] and CNG_S[0] <= length_s <= CNG_S[1]:
        return Tone.FAX
    if PROGRESS_HZ[0] <= hz <= PROGRESS_HZ[1] or not BEEP_HZ[0] <= hz <= BEEP_HZ[1]:
        return Tone.NONE
    return Tone.BEEP


@dataclass(frozen=True, slots=True)
class Greeting:
    """The greeting at the other end so far. words: final transcripts. spoken_s: length of its turns, without
    the pauses between them. spoken: a voice was heard. beeped: a beep was heard. screened: a screener has
    answered before, so that requests to wait are its own.
    """

    words: str = ""
    spoken_s: float = 0.0
    spoken: bool = False
    beeped: bool = False
    kind: AnsweredBy | None = None
    screened: bool = False

    def on_voice(self) -> Greeting:
        """Handle the beginning of a turn."""
        return replace(self, spoken=True)

    def on_turn(self, words: str, length_s: float) -> Greeting:
        """Handle a turn with its transcript. It may decide."""
        if self.screened and asks_to_wait(words):
            return self
        heard = replace(self, words=f"{self.words} {words}".strip(), spoken_s=self.spoken_s + length_s)
        if self.kind is not None or not heard.words:
            return heard
        kind = kind_of_words(heard.words, heard.spoken_s)
        waits = kind not in (None, "person") and may_continue(heard.words)
        return heard if waits else replace(heard, kind=kind)

    def on_tone(self, tone: SteadyTone) -> Greeting:
        """Handle a tone. It decides, if nothing has yet."""
        match tone_of(tone, spoken=self.spoken):
            case Tone.FAX:
                return replace(self, kind=self.kind or "fax")
            case Tone.BEEP:
                return replace(self, kind=self.kind or "voicemail", beeped=True)
            case Tone.NONE:
                return self

    def on_silence(self) -> Greeting:
        """Handle silence after which no more words are expected: all words decide, if no phrase has. Silence
        from the start is a person's. Behind a screener only words decide.
        """
        if self.screened and not self.words:
            return self
        if self.kind is not None:
            return self
        is_machine = log_odds(self.words) >= MIN_LOG_ODDS
        likely: AnsweredBy = kind_of_machine(self.words) if is_machine else "person"
        return replace(self, kind=kind_of_words(self.words, self.spoken_s) or likely)
