"""Forms that a transcript may be held to, and the choice between one that is and a free one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from audio.pcm import Samples
from audio.recognizers import Flush
from audio.recognizers.decoding.beam_search import Beginning
from audio.recognizers.decoding.grammar import Grammar
from audio.recognizers.decoding.growing_window import loud_s
from audio.recognizers.decoding.moonshine_vocabulary import END
from audio.recognizers.decoding.spelling_prior import SpellingPrior
from audio.recognizers.moonshine_email_grammars import (
    EmailGrammars,
    begins_with_domain,
    names_domain,
    spelling_prior,
)
from audio.recognizers.moonshine_grammars import (
    alphabet_grammar,
    correction_grammar,
    digit_grammar,
    digits_grammar,
    name_alphabet_grammar,
    name_grammar,
    spelling_grammar,
)
from audio.recognizers.moonshine_transcripts import (
    is_name_in_words,
    may_correct,
    runs_away,
    spells_by_letters,
    spells_by_words,
)

ONE_WORD_S = 0.5
"""Loud audio up to this length is one word of a number. If several words counted, a model that takes the end
of one for another ("Three, three.", less likely by 2.2 to 2.7 nats) would prevail.
"""
_BARE_NO_S = 0.7
"""Loud audio up to this length is no more than a "no"."""
_LIKELY, _LIKELY_A_TOKEN = 3.7, 0.75
"""A transcript held to a grammar may be less likely than the free one by this much, in nats, and by this much
more for each token of the shorter one. Then 17 of 300 digits that people said are wrong, 85 without a
grammar. Of other words, "no" comes closest to a digit, with 6.4 nats and three tokens.
"""
_BY_WORDS_A_TOKEN = 1.5
"""The same allowance for each token if the free transcript has words of the spelling alphabet: only spelling
explains such words. Also for the correction of one letter: of 78 in synthetic voices 64 are within it, and
the nearest of 48 other answers that begin with "no" is 4 nats away.
"""


@dataclass(frozen=True, slots=True)
class Form:
    """A form that a transcript may be held to.

    Attributes:
        grammar: of the form.
        a_token: nats that it may cost a token; see `is_likely`.
        prior: rating of spelled letters; None for none.
        by_words: it is spelling by words of the alphabet, and a transcript without one is none.
    """

    grammar: Grammar
    a_token: float = _LIKELY_A_TOKEN
    prior: SpellingPrior | None = None
    by_words: bool = False

    def is_lost(self, text: str) -> bool:
        """Return True if a search was lost. Numbers alone are in the grammar of the
        alphabet's words, too: "9." for "No, C as in Charlie".
        """
        return runs_away(text) or (self.by_words and not spells_by_words(text))


class Forms:
    """Chooses the forms that a flush expects.

    Args:
        vocabulary: of the model.
        words: of the agent.
    """

    def __init__(self, vocabulary: Sequence[bytes], words: Sequence[str]) -> None:
        self._vocabulary = vocabulary
        self._words = words
        self._digits, self._digit = digits_grammar(vocabulary), digit_grammar(vocabulary)
        self._spelling, self._alphabet = spelling_grammar(vocabulary), alphabet_grammar(vocabulary)

    # built for the first spelled answer, as it takes 0.1 s and 7 MB that most agents never need
    @cached_property
    def _emails(self) -> EmailGrammars:
        return EmailGrammars(self._vocabulary, self._words)

    @cached_property
    def _name_alphabet(self) -> Grammar:
        return name_alphabet_grammar(self._vocabulary)

    @cached_property
    def _correction(self) -> Grammar:
        return correction_grammar(self._vocabulary)

    @cached_property
    def _prior(self) -> SpellingPrior:
        return spelling_prior(self._vocabulary, self._words)

    def expected(self, sound: Samples, flush: Flush, text: str) -> list[Form]:
        """Return the forms that a flush expects in audio this long, likeliest first. text: the free text."""
        if not flush.spelling:
            return [Form(self._digit if loud_s(sound) <= ONE_WORD_S else self._digits)]
        spelling = flush.spelling
        if spelling in ("letters", "name") and (names_domain(text) or begins_with_domain(text)):
            # an address or its domain, said again: as letters, most of its words would be lost
            spelling = "domain" if begins_with_domain(text) else "email"
        if spelling == "domain":
            a_token = _BY_WORDS_A_TOKEN if spells_by_words(text) else _LIKELY_A_TOKEN
            return [Form(self._emails.domain(text), a_token, self._prior)]
        is_email = spelling in ("email", "spelled email")
        forms = []
        letters = spelling in ("letters", "name", "code")
        prior = None if spelling == "code" else self._prior
        if letters and loud_s(sound) > _BARE_NO_S and may_correct(text):
            forms.append(Form(self._correction, _BY_WORDS_A_TOKEN))
        by_words = spells_by_words(text)
        # of words of the alphabet that are hard to hear, the free transcript may have none
        if spelling == "spelled email" or (is_email and by_words):
            forms.append(Form(self._emails.by_words(text), _BY_WORDS_A_TOKEN, self._prior, by_words=True))
        if by_words:
            alphabet = self._name_alphabet if spelling == "name" else self._alphabet
            forms.append(Form(alphabet, _BY_WORDS_A_TOKEN, prior, by_words=True))
        if is_email:
            forms.append(Form(self._emails.of(text), prior=self._prior))
        if spelling == "name" and is_name_in_words(text):
            return forms
        if letters or spells_by_letters(text):
            spelled = name_grammar(self._vocabulary, text) if spelling == "name" else self._spelling
            forms.append(Form(spelled, prior=prior))
        return forms


def is_likely(held: Beginning, free: Beginning, a_token: float = _LIKELY_A_TOKEN) -> bool:
    """Return True if a whole transcript held to a grammar is likely enough, compared with the free one."""
    if held.tokens[-1] != END or 2 * len(held.tokens) < len(free.tokens):
        return False
    tokens = min(len(held.tokens), len(free.tokens)) - 1
    return held.logarithm >= free.logarithm - _LIKELY - a_token * tokens
