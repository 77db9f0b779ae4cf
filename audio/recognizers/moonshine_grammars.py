"""Grammars of digits and of spelling for Moonshine. English, as the models are."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence

from audio.recognizers.decoding.grammar import Grammar, Part
from audio.recognizers.decoding.moonshine_vocabulary import END, numbers_of, tokens_of

NUMBERS = (
    *("zero", "oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
    *("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
)
LONE_NUMBERS = tuple(word for word in NUMBERS if word != "oh")
"""Number words that may be a whole answer. "Oh" is a digit beside others only: alone it is a misheard "four",
or no number.
"""
REPEATS = ("double", "triple")
_SIGNS = ("dot", "at", "dash", "hyphen", "underscore", "plus")
ALPHABET = """
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
_REFUSALS = ("", "No, ", "No. ", "No ", "No, it's ", "It's ", "no, ")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "last")
_AROUND = (
    *("no", "it's", "it is", "not", "with", "with a", "with an", "capital", "and then", "then", "yes but"),
    *("only one", "just one", "with one", "with two", "with a hyphen", "with an apostrophe"),
    *(f"the {ordinal} letter is" for ordinal in _ORDINALS),
    *(f"two {letter}'s" for letter in string.ascii_uppercase),
)
"""Words of corrections: "the third letter is M", "yes, but with two L's"."""
BY_EXAMPLE = tuple(
    f"{letter} {between} {example}"
    for example in _EXAMPLES.split()
    for letter in (example[0], example[0].upper())
    for between in ("as in", "for")
)
"""Letters with an example that begins with them."""
_LETTERS = (*string.ascii_lowercase, *REPEATS, *ALPHABET.split(), *_AROUND, *BY_EXAMPLE)
_NAME_SIGNS = ("dash", "hyphen", "apostrophe", "space")
NO_NAMES = """
are you why see sea tea bee pea eye cue jay kay ell gee dee vee ess eff ten for not and are eat end aim own
"""
"""Words of a free transcript of spelling that are misheard letters rather than a name."""
SEPARATORS = (",", ".", "-", "?", "!")


def digits_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of numbers that are said digit by digit or in groups."""
    return _grammar((*NUMBERS, *REPEATS, "plus", *string.digits), string.digits, vocabulary)


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
    words = {word for word in re.findall(r"[a-z]{3,}", heard.lower()) if word not in NO_NAMES.split()}
    return _grammar((*_LETTERS, *_NAME_SIGNS, *sorted(words)), string.ascii_letters, vocabulary)


def correction_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of "No, B as in boy": one letter, and a word that begins with it."""
    numbers = numbers_of(vocabulary)
    examples = sorted({*_EXAMPLES.split(), *ALPHABET.split()})
    letters = [
        f"{letter} as in {word}"
        for example in examples
        for letter in (example[0], example[0].upper())
        for word in {example, example.title()}
    ]
    sentences = [tokens_of(no + letter, numbers) for no in _REFUSALS for letter in letters]
    return Grammar([Part(sentences)], (), END, one=True)


def alphabet_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of spelling by the words of the alphabet, with digits, signs and domains.

    It has no single letters: where such words are said fast, the search would drift into a row of letters.
    """
    return _grammar(
        (*ALPHABET.split(), *NUMBERS, *REPEATS, *_SIGNS, *_DOMAINS, *string.digits), _DOMAINS, vocabulary
    )


def name_alphabet_grammar(vocabulary: Sequence[bytes]) -> Grammar:
    """Return the grammar of spelling by the words of the alphabet, with the signs in names."""
    return _grammar((*ALPHABET.split(), *REPEATS, *_NAME_SIGNS), (), vocabulary)


def _grammar(
    words: Iterable[str], joined: Iterable[str], vocabulary: Sequence[bytes], one: bool = False
) -> Grammar:
    numbers = numbers_of(vocabulary)
    forms = {form for word in words for form in (word, word.capitalize(), word.title())}
    after = [(numbers[part.encode()],) for part in joined if part.encode() in numbers]
    separators = (numbers[mark.encode()] for mark in SEPARATORS if mark.encode() in numbers)
    words_tokens = [tokens_of(form, numbers) for form in sorted(forms)]
    return Grammar([Part(words_tokens, after)], separators, END, one)
