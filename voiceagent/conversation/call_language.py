"""The language of a call that serves several: the first one, and when a turn switches to another.

The evidence of a turn is the probability of each language, from its sound or its text. It is limited by the
number of words that tell languages apart: a single foreign word switches nothing, and "okay" tells nothing.
Log-odds are in nats.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from audio.recognizers import LanguageProbabilities
from voiceagent.conversation.words import BACKCHANNELS, HESITATIONS, STOP_WORDS, words_of

NATS_A_WORD = 1.5
"""Maximum evidence of each word: below `SWITCH_NATS`, so that one word never switches."""
MAX_TURN_NATS = 6.0
"""Maximum evidence of one turn: a single detection is wrong more often than it is unsure."""
FIRST_NATS = 1.0
"""Log-odds that decide for another language than the configured one while none is decided."""
SWITCH_NATS = 2.0
"""Log-odds that switch to another language later. Two clear words are enough, or one in two turns."""
STAY_NATS = 1.0
"""Maximum log-odds for the language in force, however long spoken: two clear words of another outweigh it."""
KEPT_SHARE = 0.8
"""Share of the evidence that is left after the next turn."""
_MIN_PROBABILITY = 1e-6


@dataclass(frozen=True, slots=True)
class CallLanguage:
    """The language of a call, and the evidence for the others.

    code: the language in force. others: log-odds of each other language over it. decided: a turn has
    confirmed or chosen it.
    """

    code: str
    others: Mapping[str, float]
    decided: bool = False

    @classmethod
    def undecided(cls, languages: Sequence[str]) -> CallLanguage:
        """Return the state at the beginning of a call. languages: the configured one first."""
        return cls(languages[0], dict.fromkeys(languages[1:], 0.0))

    def observe(self, probabilities: LanguageProbabilities, telling_words: int) -> CallLanguage:
        """Return the state after a turn. telling_words: number of its words that tell languages apart."""
        known = {code: probability for code, probability in probabilities if code in self.languages}
        if telling_words <= 0 or not known:
            return self
        limit = min(MAX_TURN_NATS, NATS_A_WORD * telling_words)
        own = max(known.get(self.code, 0.0), _MIN_PROBABILITY)
        others = {}
        for code, before in self.others.items():
            nats = math.log(max(known.get(code, 0.0), _MIN_PROBABILITY) / own)
            others[code] = max(-STAY_NATS, KEPT_SHARE * before + max(-limit, min(limit, nats)))
        observed = replace(self, others=others)
        # the language in which a recognizer has decoded the turn
        likeliest = max(known, key=known.__getitem__)
        needed = SWITCH_NATS if self.decided else FIRST_NATS
        if likeliest != self.code and others[likeliest] >= needed:
            return observed.switched_to(likeliest)
        return replace(observed, decided=self.decided or max(others.values(), default=0.0) < 0.0)

    def switched_to(self, code: str) -> CallLanguage:
        """Return the state with this language in force. Evidence for the others is forgotten."""
        others = {other: -STAY_NATS for other in self.languages if other != code}
        return CallLanguage(code, others, decided=True)

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages of the call, the one in force first."""
        return (self.code, *self.others)


@dataclass(slots=True)
class LanguageFollowing:
    """Follows the language of one call. Several transcripts of one turn count once: only the newest.

    before: the state before the turn in progress, or at its end. fixed: language that a client or the agent
    has set, "" to follow the caller.
    """

    now: CallLanguage
    neutral_words: Collection[str]
    before: CallLanguage = field(init=False)
    turn_id: str = ""
    fixed: str = ""

    def __post_init__(self) -> None:
        """Begin before the first turn."""
        self.before = self.now

    @property
    def code(self) -> str:
        """The language in force."""
        return self.fixed or self.now.code

    @classmethod
    def among(cls, languages: Sequence[str]) -> LanguageFollowing:
        """Return the state at the beginning of a call. languages: the configured one first."""
        return cls(CallLanguage.undecided(languages), neutral_words(languages))

    def observe(self, turn_id: str, text: str, probabilities: LanguageProbabilities) -> None:
        """Handle a settled transcript, or a typed turn."""
        if self.fixed:
            return
        if turn_id != self.turn_id:
            self.turn_id, self.before = turn_id, self.now
        telling = [word for word in words_of(text) if word not in self.neutral_words and not word.isdigit()]
        self.now = self.before.observe(probabilities, len(telling))

    def fix(self, code: str) -> None:
        """Keep this language until another one is set, or with "" follow the caller again, from the language
        in force. A language that the call does not serve changes nothing.
        """
        if code not in ("", *self.now.languages):
            return
        if not code and self.fixed:
            self.now = self.before = self.now.switched_to(self.fixed)
        self.fixed = code


def neutral_words(languages: Collection[str]) -> frozenset[str]:
    """Return the words that do not tell these languages apart: sounds of hesitation, and listed words of
    two or more of them, such as "okay" and "no".
    """
    listed: dict[str, set[str]] = {}
    for lists in (BACKCHANNELS, HESITATIONS, STOP_WORDS):
        for language in languages:
            for word in lists.get(language, ()):
                listed.setdefault(word, set()).add(language)
    shared = {word for word, spoken_in in listed.items() if len(spoken_in) > 1}
    return frozenset(shared.union(*(HESITATIONS.get(language, ()) for language in languages)))
