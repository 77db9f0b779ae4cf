"""Grammars of e-mail addresses and domains for Moonshine. English, as the models are."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from audio.recognizers.decoding.frequent_names import FIRST_NAMES, LAST_NAMES
from audio.recognizers.decoding.grammar import Grammar, Part
from audio.recognizers.decoding.moonshine_vocabulary import END, numbers_of, tokens_of
from audio.recognizers.decoding.spelling_prior import LetterPrior, SpellingPrior
from audio.recognizers.moonshine_grammars import ALPHABET, BY_EXAMPLE, NUMBERS, REPEATS, SEPARATORS
from audio.recognizers.moonshine_transcripts import spells_by_words

_PROVIDERS = (
    *("gmail", "yahoo", "outlook", "hotmail", "icloud", "aol", "live", "msn", "me", "mac", "proton"),
    *("protonmail", "gmx", "web", "mail", "googlemail", "comcast", "verizon", "fastmail", "zoho", "yandex"),
    *("example", "sky", "iCloud", "i cloud", "g mail", "hot mail", "g m x", "a o l", "proton mail"),
    *("fast mail", "btinternet", "b t internet", "virgin media", "talk talk", "talktalk", "t online"),
)
"""Names of domains that callers say as words."""
_COUNTRIES = """
at au be br ca ch cn cz de dk es eu fi fr gr hu ie in it jp kr mx nl no nz pl pt ro ru se uk us za
"""
"""Domains of countries from which callers often are."""
_SECOND_LEVEL = (
    *("co dot uk", "ac dot uk", "gov dot uk", "org dot uk", "com dot au", "com dot br", "com dot mx"),
    *("co dot nz", "co dot za", "co dot in", "co dot jp"),
)
_ENDINGS = (
    *("com", "org", "net", "edu", "gov", "co", "io", "ai", "me", "info", "biz", "dev", "app", "i o", "a i"),
    *_COUNTRIES.split(),
    *(" ".join(country) for country in _COUNTRIES.split()),
    *_SECOND_LEVEL,
    *(f"{ending[:-2]}{' '.join(ending[-2:])}" for ending in _SECOND_LEVEL),
    *("a c dot uk", "a c dot u k"),
)
_LOCAL_SIGNS = ("dot", "dash", "hyphen", "underscore", "plus")
_DOMAIN_SIGNS = ("dash", "hyphen")
_MAILBOXES = """
info sales support help helpdesk desk office contact hello admin team service billing accounts orders mail
post web shop home news jobs marketing reception customer care reply test
"""
_OPENINGS = ("it's", "it is", "that's", "sure", "yes", "okay", "my email is", "my email address is", "no")
_ASIDES = ("all one word", "one word", "that's one word", "no spaces", "all lower case", "no apostrophe")
"""Remarks of callers on how a part of an address is written."""
_DOMAIN_OPENINGS = ("no", "it's", "it is", "that's", "sure", "okay")
_CLOSINGS = ("please", "thanks", "thank you", "that's it")
_NO_PARTS = """
at not come and or then the an of in is it to for from with that this they you your he she we no have had has
was were be are out look don can will would there here her him hard call me my like just
"""
"""Words of a free transcript that are no part of an address: fillers, and mishearings of "at" and "dot com".
"""
_SPELLED = (*string.ascii_lowercase, *string.digits, *NUMBERS, *REPEATS, *ALPHABET.split())
_SPELLED_DOMAIN = re.compile(r"(?:\bat|@)\b.*\b[a-z]\b\W+\b[a-z]\b.*\b(?:dot|\.)", re.I)
"""Pattern of a free transcript with letters between "at" and "dot"."""
_ENDS_IN_DOMAIN = re.compile(
    rf"\w(?:\W+dot\W+|\.)(?:{'|'.join(one.replace(' ', '[ .,-]*') for one in _ENDINGS)})\W*$", re.I
)
"""Pattern of a free transcript that ends in a domain: "No, at willow.org", "No, at G. mail dot com"."""
_AT_FIRST = re.compile(r"\W*(?:no\W+)?at\b.*(?:\bdot\b|\w\.\w)", re.I)
_MISHEARD_EXAMPLE = 0.7
"""Minimum similarity of a word and the word of the alphabet that it probably is, where most are such words:
"Sulu".
"""
_NEAR_PROVIDER = 0.6
"""Minimum similarity of a word and the provider that it probably is."""


def begins_with_domain(text: str) -> bool:
    """Return True if a free transcript begins with "at" and has a "dot": "No, at H. R. D. dot con view"."""
    return _AT_FIRST.match(text) is not None


def names_domain(text: str) -> bool:
    """Return True if a free transcript ends in a domain."""
    return _ENDS_IN_DOMAIN.search(text) is not None


class EmailGrammars:
    """Makes grammars of e-mail addresses: words, letters and signs, "at", a domain, "dot", its ending.

    Args:
        vocabulary: of the model.
        words: of the agent, such as names of companies.
    """

    def __init__(self, vocabulary: Sequence[bytes], words: Iterable[str] = ()) -> None:
        self._numbers = numbers_of(vocabulary)
        names = {*FIRST_NAMES, *LAST_NAMES, *(word.lower() for word in words)}
        by_example = [tokens_of(one, self._numbers) for one in BY_EXAMPLE]
        self._spelled = [*self._forms((*_SPELLED, *_LOCAL_SIGNS)), *by_example]
        self._letters = [
            (self._numbers[one.encode()],)
            for one in (*string.ascii_letters, *string.digits)
            if one.encode() in self._numbers
        ]
        self._words = self._forms((*_MAILBOXES.split(), *_OPENINGS, *_ASIDES, *names))
        self._alphabet = self._forms((*ALPHABET.split(), *NUMBERS, *REPEATS, *_LOCAL_SIGNS, *string.digits))
        self._at = [*self._forms(("at",)), *self._signs("@")]
        of_agent = (word.lower() for word in words)
        self._domain = self._forms((*_PROVIDERS, *_DOMAIN_SIGNS, *_ASIDES, *NUMBERS, *of_agent))
        self._domain_openings = self._forms(_DOMAIN_OPENINGS)
        self._ending = Part(
            self._forms((*_ENDINGS, *_CLOSINGS)),
            [tokens_of(one, self._numbers, inside=True) for one in _ENDINGS],
        )

    def of(self, heard: str) -> Grammar:
        """Return the grammar of addresses that also may have the words of a free transcript."""
        words = self._forms(_unusual_words(heard))
        local = Part([*self._spelled, *self._words, *words], self._letters, self._at)
        return self._held(local, heard)

    def by_words(self, heard: str) -> Grammar:
        """Return the grammar of addresses that are spelled by words of the alphabet."""
        return self._held(Part(self._alphabet, (), self._at), heard)

    def domain(self, heard: str) -> Grammar:
        """Return the grammar of a domain alone, said or spelled, with or without an "at" before it. If it is
        spelled by words of the alphabet, it has no single letters but in its ending.
        """
        by_words = spells_by_words(heard)
        spelled = [*(self._alphabet if by_words else self._spelled), *self._at, *self._domain_openings]
        if by_words:
            heard = " ".join(word for word in heard.split() if not _is_near_example(word))
        return self._ending_in_domain([], spelled, [] if by_words else self._letters, heard)

    def _held(self, local: Part, heard: str) -> Grammar:
        """Return the grammar of a local part and any domain. heard: a free transcript."""
        letters = self._letters if _SPELLED_DOMAIN.search(heard) else []
        spelled = self._forms(string.ascii_lowercase) if letters else []
        return self._ending_in_domain([local], spelled, letters, heard)

    def _ending_in_domain(
        self,
        before: Sequence[Part],
        spelled: Sequence[Sequence[int]],
        letters: Sequence[Sequence[int]],
        heard: str,
    ) -> Grammar:
        """Return the grammar of these parts and a domain.

        spelled: tokens of its letters. letters: those that follow others directly. heard: a free transcript.
        """
        words = self._forms(word for word in _unusual_words(heard) if not _is_near_provider(word))
        domain = Part(
            [*self._domain, *words, *spelled],
            [*letters, *(tokens_of(one, self._numbers, inside=True) for one in _PROVIDERS)],
            [*self._forms(("dot",)), *self._signs(".")],
        )
        separators = (self._numbers[mark.encode()] for mark in SEPARATORS if mark.encode() in self._numbers)
        return Grammar([*before, domain, self._ending], separators, END)

    def _forms(self, words: Iterable[str]) -> list[list[int]]:
        """Return the tokens of words in lower case and with capital initials."""
        forms = {form for word in words for form in (word, word.title())}
        return [tokens_of(form, self._numbers) for form in sorted(forms)]

    def _signs(self, sign: str) -> list[list[int]]:
        return [tokens_of(sign, self._numbers, inside=inside) for inside in (False, True)]


def _unusual_words(heard: str) -> set[str]:
    """Return the words of a free transcript that may be part of an address."""
    words = set(re.findall(r"[a-z]{2,}", heard.lower()))
    return words.difference(_NO_PARTS.split(), _ENDINGS, _PROVIDERS, _LOCAL_SIGNS, ALPHABET.split(), NUMBERS)


def _is_near_provider(word: str) -> bool:
    return bool(get_close_matches(word, _PROVIDERS, 1, _NEAR_PROVIDER))


def _is_near_example(word: str) -> bool:
    bare = word.lower().strip(".,?!")
    return bool(get_close_matches(bare, ALPHABET.split(), 1, _MISHEARD_EXAMPLE))


def spelling_prior(vocabulary: Sequence[bytes], words: Iterable[str] = ()) -> SpellingPrior:
    """Return the rating of letters that spell names, and of likely words of addresses."""
    alphabet = {word: word[0] for word in ALPHABET.split()}
    likely = {*FIRST_NAMES, *LAST_NAMES, *_MAILBOXES.split(), *_PROVIDERS, *(word.lower() for word in words)}
    return SpellingPrior(LetterPrior((*FIRST_NAMES, *LAST_NAMES)), alphabet, likely, vocabulary, END)
