"""Grammars of digits and of spelling for Moonshine, and the choice between a transcript that is held to one
and a free one. English, as the models are.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence

from audio.recognizers.decoding.beam_search import Beginning
from audio.recognizers.decoding.grammar import Grammar
from audio.recognizers.decoding.moonshine_vocabulary import END, numbers_of, tokens_of

NUMBERS = (
    *("zero", "oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
    *("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
)
_REPEATS = ("double", "triple")
_SIGNS = ("dot", "at", "dash", "hyphen", "underscore", "plus")
_ALPHABET = """
alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar papa
quebec romeo sierra tango uniform victor whiskey x-ray yankee zulu
"""
_EXAMPLES = """
apple adam alice boy bob ben bravo cat charlie david dog delta dan edward elephant echo frank fred
fox george girl golf henry harry house ida ice igloo john jack juliet king kilo kite larry lima lion
mary mike mother nancy november nora ocean oscar orange peter paul papa queen quebec robert romeo
rabbit sam sugar sierra tom tango tiger tree uncle uniform umbrella victor violet william whiskey
water x-ray yellow young yankee zebra zulu
"""
"""Words by which callers give an example of a letter: "B as in boy"."""
_DOMAINS = (
    *("gmail", "yahoo", "outlook", "hotmail", "icloud", "aol", "web", "gmx", "mail", "proton", "example"),
    *("com", "org", "net", "edu", "co", "uk", "de", "io"),
)
_AROUND = ("no", "it's", "it is", "not", "with", "with a", "capital", "and then")
_SEPARATORS = (",", ".", "-", "?", "!")
_LIKELY, _LIKELY_A_TOKEN = 3.7, 0.75
"""A transcript held to a grammar may be less likely than the free one by this much, in nats, and by this much
more for each token of the shorter one. Of 300 digits of people 17 are wrong then, 85 without a grammar; of
other words "no" is nearest, 6.4 nats and three tokens.
"""


def digits_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of numbers that are said digit by digit or in groups."""
    return _grammar((*NUMBERS, *_REPEATS, "plus", *string.digits), string.digits, vocabulary)


def digit_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of one word of a number."""
    return _grammar((*NUMBERS, *string.digits), (), vocabulary, one=True)


def spelling_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of letters, digits and signs, with examples of letters."""
    examples = (f"as in {example}" for example in _EXAMPLES.split())
    words = (
        *string.ascii_lowercase,
        *NUMBERS,
        *_REPEATS,
        *_SIGNS,
        *_ALPHABET.split(),
        *_DOMAINS,
        *_AROUND,
        *examples,
    )
    return _grammar((*words, *string.digits), (*string.ascii_letters, *_DOMAINS), vocabulary)


def alphabet_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of spelling by the words of the alphabet, with digits, signs and domains.

    Among single letters a search runs away into a row of them where such words are said fast.
    """
    return _grammar(
        (*_ALPHABET.split(), *NUMBERS, *_REPEATS, *_SIGNS, *_DOMAINS, *string.digits), _DOMAINS, vocabulary
    )


def spells_by_words(text: str) -> bool:
    """Return True if a free transcript of spelling has words of the alphabet."""
    return not set(_ALPHABET.split()).isdisjoint(re.findall(r"[a-z]+(?:-ray)?", text.lower()))


def _grammar(
    words: Iterable[str], joined: Iterable[str], vocabulary: Sequence[bytes], one: bool = False
) -> Grammar:
    numbers = numbers_of(vocabulary)
    forms = {form for word in words for form in (word, word.capitalize(), word.title())}
    after = [(numbers[part.encode()],) for part in joined if part.encode() in numbers]
    separators = (numbers[mark.encode()] for mark in _SEPARATORS if mark.encode() in numbers)
    return Grammar([tokens_of(form, numbers) for form in sorted(forms)], after, separators, END, one)


def is_likely(held: Beginning, free: Beginning) -> bool:
    """Return True if a whole transcript that is held to a grammar is likely enough beside the free one."""
    if held.tokens[-1] != END or 2 * len(held.tokens) < len(free.tokens):
        return False
    tokens = min(len(held.tokens), len(free.tokens)) - 1
    return held.logarithm >= free.logarithm - _LIKELY - _LIKELY_A_TOKEN * tokens
