"""Decision about the kind of answer to an outbound call, from the first words and tones at the other end.

The words are English. Words of another language, and words without any of these phrases, are a person's
unless the greeting is long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum, auto

from audio.steady_tones import SteadyTone
from voiceagent.session.agent import AnsweredBy

MORE_WORDS_S = 1.2
"""Wait after the end of a turn for its transcript, and for more words if a person and a machine may both
begin with these ("Hi, this is Anna."). A person waits at most this long in addition to the usual endpointing.
"""
LONG_GREETING_S = 4.5
"""Length from which a greeting without a known phrase or a question is a recording: people say their name,
and wait.
"""
LONG_QUESTION_S = 7.0
"""The same for a greeting that ends in a question, as of a receptionist."""
SHORT_WORDS = 4
"""Words up to which a greeting without a known phrase is a person's at once."""
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
    """Return the meaning of a tone. spoken: something was said before it, so that a tone of 1100 Hz is the
    beep of a voicemail.
    """
    hz, length_s = tone.frequency_hz, tone.length_s
    if CED_HZ[0] <= hz <= CED_HZ[1] and length_s >= CED_S:
        return Tone.FAX
    if not spoken and CNG_HZ[0] <= hz <= CNG_HZ[1] and CNG_S[0] <= length_s <= CNG_S[1]:
        return Tone.FAX
    if PROGRESS_HZ[0] <= hz <= PROGRESS_HZ[1] or not BEEP_HZ[0] <= hz <= BEEP_HZ[1]:
        return Tone.NONE
    return Tone.BEEP


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b")


_SCREENER = _any_of(
    r"(?:say|state|record|tell me|give|leave) your name and (?:the )?(?:reason|why|purpose)",
    r"(?:reason|purpose) (?:for|of) (?:your call|calling)",
    r"call (?:assist|screening|screener)",
    r"(?:screening service|being screened)",
    r"(?:person|party) (?:(?:that )?you(?:'re| are) (?:calling|trying to (?:call|reach)) )?(?:wants|asked)",
    r"assistant (?:of|for|is answering|answering)",
    r"what (?:this|the|your) call is (?:regarding|about)",
    r"(?:say|state|ask|know) (?:who|why|what) (?:you are|you're|is|this is)",
    r"(?:while|and|let me) (?:i(?:'ll)? )?(?:check|see) (?:if|whether)",
    r"see if (?:this person|they|he|she|the person)(?:'s| is|'re| are) available",
    r"(?:this person|the person) (?:you are|you're) calling is using",
    r"(?:say|state|record) your name (?:after|at|and (?:i|we|press))",
    r"who(?:'s| is) calling and (?:why|what)",
    r"(?:say|state|tell me|give me|record) (?:me )?who you are",
    r"who you are and (?:why|what)",
    r"(?:before|and) (?:i|we)(?:'ll| will| can| could)? (?:try to )?(?:connect|put) you",
    r"(?:connect you|put you through) (?:if|when|once|as soon)",
)
_MENU = _any_of(
    r"press (?:\d|one|two|three|four|five|six|seven|eight|nine|zero|pound|star|the)",
    r"(?:for|to) [\w' ]{3,40} (?:say|dial) (?:\d|one|two|three|four|zero)",
    r"(?:menu|our) options (?:have|has) (?:recently )?changed",
    r"(?:listen|choose) (?:carefully )?(?:to|from) the following",
    r"main menu",
    r"for [\w' ]{2,30} say [\w']+",
    r"you can (?:also )?say",
    r"(?:say|key in|enter) (?:your|the) (?:date|last|first|full|account|card|member|order|phone|zip)",
    r"(?:all|each) (?:of )?(?:our|the) (?:agents|representatives|operators|lines|advisers|advisors)",
    r"your call is (?:very )?important",
    r"(?:in the queue|in line|answered in (?:the )?order)",
    r"calls? (?:are|is) (?:being )?(?:recorded|monitored)",
    r"(?:enter|dial|say|key in) (?:your|the) (?:party's |\w+ digit )?(?:\w+ )?(?:extension|number|code|pin)",
    r"followed by (?:the )?(?:pound|hash|star|number sign)",
    r"(?:hang up and )?(?:dial|call) (?:911|999|112|nine one one|nine nine nine)",
    r"(?:in a few words|briefly) (?:please )?(?:tell|say|describe)",
    r"for example,? (?:you can |you could )?say",
    r"(?:tell|ask) me (?:what|how|why|in a few words)",
    r"if you know your party",
    r"you can say things like",
    r"(?:calls?|call) (?:may|will|might) be (?:recorded|monitored)",
    r"please (?:stay on the line|hold) (?:for|while|and) [\w ]*(?:next|representative|agent|operator)",
)
_VOICEMAIL = _any_of(
    r"(?:after|at|wait for) the (?:tone|beep|signal)",
    r"leave (?:me |us )?(?:a |your |an? \w+ )?(?:\w+ )?(?:message|voice ?mail|name)",
    r"leave (?:me|us) (?:a|your)",
    r"(?:not|n't) (?:available|able|come|here|in|home|get to|take|answer|pick|reach)",
    r"(?:unavailable|unable to (?:take|answer|come))",
    r"voice ?mail(?: ?box)?",
    r"mail ?box",
    r"answering (?:machine|service)",
    r"(?:you(?:'ve| have)|you) reached",
    r"(?:get|call) (?:right )?back to you",
    r"(?:call|ring|phone|text) you (?:right )?back",
    r"return your call",
    r"record your message",
    r"(?:forwarded|transferred) to",
    r"missed (?:your call|me)",
    r"(?:switched off|turned off|out of service|not in service)",
    r"(?:cannot|can't|could not) be (?:completed|connected)",
    r"(?:nobody|no one)(?:'s| is) (?:home|here|available)",
    r"(?:on vacation|on holiday|out of (?:the )?office|on leave)",
    r"machine",
    r"away from (?:my|the) (?:phone|desk)",
)
_MAILBOX_KEYS = _any_of(r"(?:tone|beep|message|mail ?box|voice ?mail|call back number)")
"""Words that make an announcement with keys a voicemail's ("or press 1 for more options")."""
_QUESTION = _any_of(r"who(?:'s| is) (?:this|calling|speaking|that)", r"can i help", r"how may i", r"speaking")
_ASKS_BACK = re.compile(
    r"\b(?:who(?:'s| is) (?:this|calling|speaking|that|asking)"
    r"|(?:can|could|may|shall|should) i (?:take|ask|tell|give|help|have)\b[\w' ]*"
    r"|what(?:'s| is) (?:this|it) (?:about|regarding)|is (?:this|it) (?:urgent|about)\b[\w' ]*)$"
)
"""A question to the caller at the end of what people say for a person who is not there."""
_WAIT = _any_of(
    r"hold",
    r"stay on the line",
    r"(?:one|just a|a) (?:moment|second|sec|minute)",
    r"please wait",
    r"(?:let me|i'll|i will|we'll) (?:check|see|ask|let|try|connect|put)",
    r"(?:connecting|transferring|checking)",
    r"(?:thank you|thanks|got it|okay thanks)$",
)
"""Words with which a screener asks the caller to wait for the person behind it."""
_FOR_MACHINES = _any_of(r"(?:after|at|wait for) the (?:tone|beep|signal)", r"leave", r"reached", r"record")


_PUNCTUATION = re.compile(r"[^\w' ]")


def kind_of_words(words: str, length_s: float) -> AnsweredBy | None:
    """Return the kind of answer by its words; None if more words may follow that decide. length_s: from the
    beginning of the first word to the end of the last.
    """
    text = _normalized(words)
    plain = _PUNCTUATION.sub("", text)
    if _SCREENER.search(plain):
        return "screener"
    voicemail = _VOICEMAIL.search(plain) is not None
    if _MENU.search(plain):
        return "voicemail" if voicemail and _MAILBOX_KEYS.search(plain) else "menu"
    if voicemail and _ASKS_BACK.search(plain) and not _FOR_MACHINES.search(plain):
        return "person"
    if voicemail:
        return "voicemail"
    if length_s >= (LONG_QUESTION_S if _asks(text, plain) else LONG_GREETING_S):
        return "voicemail"
    if _QUESTION.search(plain) or len(plain.split()) <= SHORT_WORDS:
        return "person"
    return None


def asks_to_wait(words: str) -> bool:
    """Return True if these words, from a screener, ask for patience. A question is a person's."""
    text = _normalized(words)
    plain = _PUNCTUATION.sub("", text)
    return _WAIT.search(plain) is not None and not _asks(text, plain) and not _VOICEMAIL.search(plain)


def _normalized(words: str) -> str:
    return " ".join(words.lower().replace("\u2019", "'").replace("-", " ").split())


def _asks(text: str, plain: str) -> bool:
    """Return True for a question. text: normalized words. plain: the same without punctuation."""
    return text.rstrip("\"' ").endswith("?") or _QUESTION.search(plain) is not None


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
        return replace(heard, kind=kind_of_words(heard.words, heard.spoken_s))

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
        """Handle silence after which no more words are expected: it is a person, if nothing has decided.
        Behind a screener only words decide.
        """
        if self.screened and not self.words:
            return self
        return replace(self, kind=self.kind or "person")
