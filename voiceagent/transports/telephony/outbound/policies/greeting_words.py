"""Kind of answer to an outbound call by the words of the greeting, and by its length.

The words are English. Words of another language, and words without any of these phrases, are a person's
unless the greeting is long.
"""

from __future__ import annotations

from voiceagent.session.agent import AnsweredBy
from voiceagent.transports.telephony.outbound.policies import greeting_phrases as phrases
from voiceagent.transports.telephony.outbound.policies.greeting_odds import log_odds
from voiceagent.transports.telephony.outbound.policies.greeting_phrases import normalized, plain_text

MIN_LOG_ODDS = -2.0
"""Log-odds of a machine below which neither a phrase nor the length makes one ("I don't take calls like
this."): all words decide after the silence.
"""

LONG_GREETING_S = 4.5
"""Length from which a greeting without a known phrase or question is a recording: people wait sooner."""
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
    machine = _kind_of_machine(plain)
    if machine == "voicemail" and _speaks_for_another(plain):
        return "person"
    if machine is not None and odds >= MIN_LOG_ODDS:
        return machine
    asks = _asks(words, plain)
    if length_s >= (LONG_QUESTION_S if asks else LONG_GREETING_S) and odds >= MIN_LOG_ODDS:
        return "voicemail"
    short = len(plain.split()) <= SHORT_WORDS and (asks or plain.strip() not in _BARE_GREETINGS)
    return "person" if short or (phrases.QUESTION.search(plain) and odds <= 0) else None


def _kind_of_machine(plain: str) -> AnsweredBy | None:
    """Return the kind of machine that says a known phrase, None without one. plain: without punctuation."""
    if phrases.SCREENER.search(plain):
        return "screener"
    voicemail = phrases.VOICEMAIL.search(plain) is not None
    if phrases.MENU.search(plain) and not (voicemail and phrases.MAILBOX_KEYS.search(plain)):
        return "menu"
    return "voicemail" if voicemail else None


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
