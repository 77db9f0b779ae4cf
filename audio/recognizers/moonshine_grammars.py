"""Grammars of digits and of spelling for Moonshine, and the choice between a transcript that is held to one
and a free one. English, as the models are.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from audio.recognizers.decoding.beam_search import Beginning
from audio.recognizers.decoding.frequent_names import FIRST_NAMES, LAST_NAMES
from audio.recognizers.decoding.grammar import Grammar, Part
from audio.recognizers.decoding.moonshine_vocabulary import END, numbers_of, tokens_of
from audio.recognizers.decoding.spelling_prior import LetterPrior, SpellingPrior

NUMBERS = (
    *("zero", "oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
    *("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
)
LONE_NUMBERS = tuple(word for word in NUMBERS if word != "oh")
"""Number words that may be a whole answer. "Oh" is a digit beside others only: alone it is a misheard "four",
or no number.
"""
_REPEATS = ("double", "triple")
_SIGNS = ("dot", "at", "dash", "hyphen", "underscore", "plus")
_ALPHABET = """
alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar papa
quebec romeo sierra tango uniform victor whiskey x-ray yankee zulu
"""
_EXAMPLES = """
able adam alice alpha andrew animal anna ant apple arthur baby baker ball banana barbara benjamin ben bob boy
bravo bread butter car cat charlie china circle cow dad daddy daniel david delta doctor dog donald door easy
echo eddie edward egg elephant emma england family father finger fire fish florida food fox foxtrot frank fred
freddie friday game garden george girl golf good grace green happy harry hat helen help henry home hotel house
ice ida idea igloo india indigo italy jack jam james japan jelly john jonathan juliet juliett jump kate katie
kevin key kilo king kite lady larry lemon lima lion london love lucy mama mary maria mexico michael mike money
monkey mother mouse nancy never new nice nobody nora north november number ocean olive oliver one open
orange oscar paper papa paris paul people peter pig pizza pretty quebec queen question quick rabbit rain red
richard robert roger romeo rose sally sam samuel sarah school sierra snake steven sugar sun susan table tango
tea tiger thomas tom tommy tree umbrella uncle under uniform united up van victor victoria violet water
whiskey william window winter world x-ray xylophone yankee yellow yes yesterday young zebra zero zoo zulu
"""
"""Words by which callers give an example of a letter: "B as in boy"."""
_DOMAINS = (
    *("gmail", "yahoo", "outlook", "hotmail", "icloud", "aol", "web", "gmx", "mail", "proton", "example"),
    *("com", "org", "net", "edu", "co", "uk", "de", "io"),
)
_PROVIDERS = (
    *("gmail", "yahoo", "outlook", "hotmail", "icloud", "aol", "live", "msn", "me", "mac", "proton"),
    *("protonmail", "gmx", "web", "mail", "googlemail", "comcast", "verizon", "fastmail", "zoho", "yandex"),
    *("example", "sky", "iCloud", "i cloud", "g mail", "hot mail", "g m x", "a o l"),
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
_NO_NAMES = """
are you why see sea tea bee pea eye cue jay kay ell gee dee vee ess eff ten for not and are eat end aim own
"""
"""Words of a free transcript of spelling that are misheard letters rather than a name."""
_SPELLED = (*string.ascii_lowercase, *string.digits, *NUMBERS, *_REPEATS, *_ALPHABET.split())
_REFUSALS = ("", "No, ", "No. ", "No ", "No, it's ", "It's ", "no, ")
_REFUSED = re.compile(r"\W*(?:no|nope|oh|not|yo)\b", re.I)
_SPELLED_DOMAIN = re.compile(r"(?:\bat|@)\b.*\b[a-z]\b\W+\b[a-z]\b.*\b(?:dot|\.)", re.I)
"""Pattern of a free transcript with letters between "at" and "dot"."""
_ENDS_IN_DOMAIN = re.compile(
    rf"\w(?:\W+dot\W+|\.)(?:{'|'.join(one.replace(' ', '[ .,-]*') for one in _ENDINGS)})\W*$", re.I
)
"""Pattern of a free transcript that ends in a domain: "No, at willow.org", "No, at G. mail dot com"."""
_AT_FIRST = re.compile(r"\W*(?:no\W+)?at\b.*(?:\bdot\b|\w\.\w)", re.I)
_NEAR_EXAMPLE = 0.8
"""Minimum similarity of a word and the word of the alphabet that it probably is."""
_MISHEARD_EXAMPLE = 0.7
"""The same where most words are of the alphabet: "Sulu"."""
_NEAR_PROVIDER = 0.6
"""Minimum similarity of a word and the provider that it probably is."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "last")
_AROUND = (
    *("no", "it's", "it is", "not", "with", "with a", "with an", "capital", "and then", "then", "yes but"),
    *("only one", "just one", "with one", "with two", "with a hyphen", "with an apostrophe"),
    *(f"the {ordinal} letter is" for ordinal in _ORDINALS),
    *(f"two {letter}'s" for letter in string.ascii_uppercase),
)
"""Words of corrections: "the third letter is M", "yes, but with two L's"."""
_BY_EXAMPLE = tuple(
    f"{letter} {between} {example}"
    for example in _EXAMPLES.split()
    for letter in (example[0], example[0].upper())
    for between in ("as in", "for")
)
"""Letters with an example that begins with them."""
_LETTERS = (
    *string.ascii_lowercase,
    *_REPEATS,
    *_ALPHABET.split(),
    *_AROUND,
    *_BY_EXAMPLE,
)
_NAME_SIGNS = ("dash", "hyphen", "apostrophe", "space")
_MAX_NAME_WORDS = 4
"""Words of a name that is said; more may be misheard letters."""
_SPELLED_RUN = re.compile(r"(?:\b[a-z0-9]\b[\s.,-]*){12,}")
_SPELLED_TWICE = re.compile(r"(.{4,5})\1{2}|(.{6,})\2")
"""Pattern of letters that were said once, and repeat: "h-a-n-f-o-n-o-v-a-n-f-o-n-o-v-a"."""
_EQUAL_DIGITS = re.compile(rf"\b(\d|{'|'.join(NUMBERS)})\b(?:[\s.,-]+\1\b){{4}}|(\d)\2{{4}}", re.I)
_REPEATED = re.compile(r"([a-z])\1{4}|([a-z]{2})\2{3}|([a-z]{3})\3{3}")
_SEPARATORS = (",", ".", "-", "?", "!")
_LIKELY, LIKELY_A_TOKEN = 3.7, 0.75
"""A transcript held to a grammar may be less likely than the free one by this much, in nats, and by this much
more for each token of the shorter one. Then 17 of 300 digits that people said are wrong, 85 without a
grammar. Of other words, "no" comes closest to a digit, with 6.4 nats and three tokens.
"""

BY_WORDS_A_TOKEN = 1.5
"""The same allowance for each token if the free transcript has words of the spelling alphabet: only spelling
explains such words. Also for the correction of one letter: of 78 in synthetic voices 64 are within it, and
the nearest of 48 other answers that begin with "no" is 4 nats away.
"""


def digits_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of numbers that are said digit by digit or in groups."""
    return _grammar((*NUMBERS, *_REPEATS, "plus", *string.digits), string.digits, vocabulary)


def digit_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of a single word that names a number, such as "five", or a digit."""
    return _grammar((*LONE_NUMBERS, *string.digits), (), vocabulary, one=True)


def spelling_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of letters, digits and signs, with examples of letters."""
    words = (*_LETTERS, *NUMBERS, *string.digits, *_SIGNS, *_DOMAINS)
    return _grammar(words, (*string.ascii_letters, *_DOMAINS), vocabulary)


def name_grammar(vocabulary: Sequence[bytes], heard: str) -> Grammar:
    """Return the grammar of letters with their examples, of the signs in names, and of the words of a free
    transcript: callers say their name before they spell it.
    """
    words = {word for word in re.findall(r"[a-z]{3,}", heard.lower()) if word not in _NO_NAMES.split()}
    return _grammar((*_LETTERS, *_NAME_SIGNS, *sorted(words)), string.ascii_letters, vocabulary)


def correction_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of "No, B as in boy": one letter, and a word that begins with it."""
    numbers = numbers_of(vocabulary)
    examples = sorted({*_EXAMPLES.split(), *_ALPHABET.split()})
    letters = [
        f"{letter} as in {word}"
        for example in examples
        for letter in (example[0], example[0].upper())
        for word in {example, example.title()}
    ]
    sentences = [tokens_of(no + letter, numbers) for no in _REFUSALS for letter in letters]
    return Grammar([Part(sentences)], (), END, one=True)


def may_correct(text: str) -> bool:
    """Return True if a free transcript begins as a refusal does, or what recognizers make of it."""
    return _REFUSED.match(text) is not None


def begins_with_domain(text: str) -> bool:
    """Return True if a free transcript begins with "at" and has a "dot": "No, at H. R. D. dot con view"."""
    return _AT_FIRST.match(text) is not None


def names_domain(text: str) -> bool:
    """Return True if a free transcript ends in a domain."""
    return _ENDS_IN_DOMAIN.search(text) is not None


def alphabet_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of spelling by the words of the alphabet, with digits, signs and domains.

    It has no single letters: where such words are said fast, the search would drift into a row of letters.
    """
    return _grammar(
        (*_ALPHABET.split(), *NUMBERS, *_REPEATS, *_SIGNS, *_DOMAINS, *string.digits), _DOMAINS, vocabulary
    )


def name_alphabet_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of spelling by the words of the alphabet, with the signs in names."""
    return _grammar((*_ALPHABET.split(), *_REPEATS, *_NAME_SIGNS), (), vocabulary)


def spells_by_letters(text: str) -> bool:
    """Return True if a free transcript has letters next to each other."""
    return re.search(r"\b[a-z]\b\W+\b[a-z]\b", text.lower()) is not None


def is_name_in_words(text: str) -> bool:
    """Return True if a free transcript is a name that was said and not spelled: "Emma Louise Parker"."""
    words = re.findall(r"[a-z']+", text.lower())
    return 0 < len(words) <= _MAX_NAME_WORDS and all(
        len(word) > 2 and word not in _NO_NAMES.split() and word not in _ALPHABET.split() for word in words
    )


def runs_away(text: str) -> bool:
    """Return True if a transcript repeats letters as a search does that is lost: "t-a-t-a-t-a-t-a"."""
    lower = text.lower()
    spelled = (re.sub(r"[^a-z0-9]", "", run) for run in _SPELLED_RUN.findall(lower))
    twice = any(_SPELLED_TWICE.search(letters) for letters in spelled)
    return twice or _REPEATED.search(re.sub(r"[^a-z0-9]", "", lower)) is not None


def may_run_away(text: str) -> bool:
    """Return True if a transcript runs away, or has so many equal digits that a search may lose count."""
    return runs_away(text) or _EQUAL_DIGITS.search(text) is not None


def spells_by_words(text: str) -> bool:
    """Return True if a free transcript of spelling has words of the alphabet, or nearly: "uniforms"."""
    words = re.findall(r"[a-z]+(?:-ray)?", text.lower())
    return any(get_close_matches(word, _ALPHABET.split(), 1, _NEAR_EXAMPLE) for word in words)


class EmailGrammars:
    """Makes grammars of e-mail addresses: words, letters and signs, "at", a domain, "dot", its ending.

    Args:
        vocabulary: of the model.
        words: of the agent, such as names of companies.
    """

    def __init__(self, vocabulary: Sequence[bytes], words: Iterable[str] = ()) -> None:
        self._numbers = numbers_of(vocabulary)
        names = {*FIRST_NAMES, *LAST_NAMES, *(word.lower() for word in words)}
        by_example = [tokens_of(one, self._numbers) for one in _BY_EXAMPLE]
        self._spelled = [*self._forms((*_SPELLED, *_LOCAL_SIGNS)), *by_example]
        self._letters = [
            (self._numbers[one.encode()],)
            for one in (*string.ascii_letters, *string.digits)
            if one.encode() in self._numbers
        ]
        self._words = self._forms((*_MAILBOXES.split(), *_OPENINGS, *_ASIDES, *names))
        self._alphabet = self._forms((*_ALPHABET.split(), *NUMBERS, *_REPEATS, *_LOCAL_SIGNS, *string.digits))
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
        separators = (self._numbers[mark.encode()] for mark in _SEPARATORS if mark.encode() in self._numbers)
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
    return words.difference(_NO_PARTS.split(), _ENDINGS, _PROVIDERS, _LOCAL_SIGNS, _ALPHABET.split(), NUMBERS)


def _is_near_provider(word: str) -> bool:
    return bool(get_close_matches(word, _PROVIDERS, 1, _NEAR_PROVIDER))


def _is_near_example(word: str) -> bool:
    bare = word.lower().strip(".,?!")
    return bool(get_close_matches(bare, _ALPHABET.split(), 1, _MISHEARD_EXAMPLE))


def spelling_prior(vocabulary: Sequence[bytes], words: Iterable[str] = ()) -> SpellingPrior:
    """Return the rating of letters that spell names, and of likely words of addresses."""
    alphabet = {word: word[0] for word in _ALPHABET.split()}
    likely = {*FIRST_NAMES, *LAST_NAMES, *_MAILBOXES.split(), *_PROVIDERS, *(word.lower() for word in words)}
    return SpellingPrior(LetterPrior((*FIRST_NAMES, *LAST_NAMES)), alphabet, likely, vocabulary, END)


def _grammar(
    words: Iterable[str], joined: Iterable[str], vocabulary: Sequence[bytes], one: bool = False
) -> Grammar:
    numbers = numbers_of(vocabulary)
    forms = {form for word in words for form in (word, word.capitalize(), word.title())}
    after = [(numbers[part.encode()],) for part in joined if part.encode() in numbers]
    separators = (numbers[mark.encode()] for mark in _SEPARATORS if mark.encode() in numbers)
    words_tokens = [tokens_of(form, numbers) for form in sorted(forms)]
    return Grammar([Part(words_tokens, after)], separators, END, one)


def is_likely(held: Beginning, free: Beginning, a_token: float = LIKELY_A_TOKEN) -> bool:
    """Return True if a whole transcript that is held to a grammar is likely enough, compared with the free
    one.
    """
    if held.tokens[-1] != END or 2 * len(held.tokens) < len(free.tokens):
        return False
    tokens = min(len(held.tokens), len(free.tokens)) - 1
    return held.logarithm >= free.logarithm - _LIKELY - a_token * tokens
