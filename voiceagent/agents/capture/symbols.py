"""Parser of spelled text: a transcript as letters, digits, signs and words.

Recognizers write spelling in many forms: "J O H N", "J-O-H-N", "J. O. H. N.", "be as in boy". All become the
same symbols.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby, pairwise
from typing import Literal

from voiceagent.agents.capture.languages import CaptureLanguage, capture_language
from voiceagent.conversation.words import phrase_length_at
from voiceagent.text_normalization.spoken_digits import number_at

Kind = Literal["letter", "digits", "sign", "word"]

_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|[@._+\-/]")
_CONSONANTS = re.compile(r"\b[b-df-hj-np-tv-xz]{2,4}\b")
_LETTER_BEFORE = re.compile(r"\b[b-hj-z][\s,-]+$")
"""A spelled letter before a word. "A" and "I" may be words: "a TCP server"."""
_LETTER_NEXT = re.compile(r"[\s,-]+(?:[b-hj-z]\b(?!['’@.]\w|@)|[ai](?:[\s,-]+[a-z]\b|$))")
_TITLES = frozenset(("dr", "jr", "mr", "mrs", "ms", "sr", "st", "sgt", "lt", "cpt", "rd", "ln", "blvd"))
"""Words without vowels that may stand next to an initial."""
_X_RAY = re.compile(r"\bx[- ]ray\b")
_JOINED_FOUR = re.compile(r"\b([a-z])4 (?=[a-z]{3})")
"""Text that recognizers write for "B for boy": "b4 boy"."""
_MISHEARD_N = ("and", "an", "end")
"""Words that recognizers write for the letter before "for nobody"."""
_MAX_PHRASE = 3
"""Words of the longest spoken sign or letter."""
_MAX_LETTER = 4
"""Letters of a word that a letter was misheard as before "for George", where others are spelled so."""
_MAX_MISHEARD = 3
"""Words that recognizers make of "as in" at most: "T. M. Tango", "oh, it's an Oscar"."""
_ALIKE = ("bcdegptvz3", "ahjk8", "mn", "fsx", "iy59", "lmno", "quw", "ar", "aeiouy", "ckq", "sz")
"""Letters and figures that sound alike by their names or, in a name that was said, in words."""
_NEAR_EXAMPLE = 0.8
"""Minimum similarity of a word in a spelled run and the word of the alphabet that it stands for."""
_MIN_SPELLED = 3
"""Letters of a text in which words count that are only nearly of the alphabet: "Oscar Romero" is a name."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A part of spelled text. text: its lower-case characters. sure: said by an example, "B as in boy"."""

    kind: Kind
    text: str
    sure: bool = False


def symbols_of(text: str, language: str) -> list[Symbol]:
    """Return the symbols of a transcript. language: an ISO 639 code."""
    words = capture_language(language)
    tokens = _tokens(text)
    if language == "en" and tokens[-1:] == ["uh"] and [*map(_is_one_letter, tokens[-3:-1])] == [True, True]:
        tokens[-1] = "a"  # "N, A, D, I, uh": who hesitates goes on
    found: list[Symbol] = []
    at = 0
    while at < len(tokens):
        symbols, used = _next(tokens, at, words, language)
        found += symbols
        at += used
    return _with_spelled_runs(_with_repeats(found, words), words)


def _tokens(text: str) -> list[str]:
    """Return words, figures and signs in lower case, without punctuation.

    A sign is written without a space after it: in "S. M." the stops are punctuation, in "gmail.com" it is a
    sign. Between single letters a hyphen or stop separates them.
    """
    tokens: list[str] = []
    lower = _X_RAY.sub("xray", text.lower().replace("’", "'"))
    lower = _with_parted_letters(_JOINED_FOUR.sub(r"\1 4 ", lower))
    for match in _TOKEN.finditer(lower):
        token = match[0]
        if token[0].isalnum():
            tokens.append(token.replace("e-mail", "email"))
        elif token == "@" or _is_sign(lower, match.start()):
            tokens.append(token)
    return tokens


def _with_parted_letters(text: str) -> str:
    """Return a lower-case text with spelled letters apart that were written as a word: "l-i-n-d qv-i-s-t"."""

    def parted(word: re.Match[str]) -> str:
        beside = _LETTER_BEFORE.search(text[: word.start()]) or _LETTER_NEXT.match(text, word.end())
        return "-".join(word[0]) if beside and word[0] not in _TITLES else word[0]

    return _CONSONANTS.sub(parted, text)


def _is_sign(text: str, at: int) -> bool:
    """Return True if the character at this index is part of what was written, not punctuation."""
    before, after = re.search(r"\w+$", text[:at]), re.match(r"\w+", text[at + 1 :])
    if after is None or (before is None and text[at - 1 : at] != "@" and text[at] not in "._+"):
        return False
    if text[at] in "-.":
        return not (len(after[0]) == 1 and (before is None or len(before[0]) == 1))
    return True


def _next(tokens: Sequence[str], at: int, words: CaptureLanguage, language: str) -> tuple[list[Symbol], int]:
    """Return the symbols that begin at a token, and how many tokens they take."""
    example = _letter_by_example(tokens, at, words)
    if example is None and language == "en":
        example = _letter_before_four(tokens, at, words)
    if example is not None:
        return example
    token = tokens[at]
    if not token[0].isalnum():
        return [Symbol("sign", token)], 1
    for length in range(min(_MAX_PHRASE, len(tokens) - at), 0, -1):
        phrase = " ".join(tokens[at : at + length])
        if sign := words.signs.get(phrase):
            return [Symbol("sign", sign)], length
        if length > 1 and (letter := words.letters.get(phrase)):
            return [Symbol("letter", letter)], length
    if len(token) == 1 and token.isalpha():
        return [Symbol("letter", token)], 1
    if token in words.capitals:
        return [], 1
    figures, used = number_at(tokens, at, language)
    if figures:
        return [Symbol("digits", figures)], used
    return [Symbol("word", token)], 1


def _letter_by_example(
    tokens: Sequence[str], at: int, words: CaptureLanguage
) -> tuple[list[Symbol], int] | None:
    """Return the letter of "B as in boy". The letter before the example may be misheard, or the example."""
    length = phrase_length_at(tokens, at + 1, words.examples)
    if not length or at + 1 + length >= len(tokens):
        return _letter_by_example_alone(tokens, at, words) or _letter_by_misheard_example(tokens, at, words)
    letter, example = tokens[at], tokens[at + 1 + length]
    named = letter if len(letter) == 1 else words.letters.get(letter, "")
    if letter in _MISHEARD_N and example[0] == "n":
        named = "n"
    weak = length == 1  # "for" and "like" have other uses
    short = len(letter) <= _MAX_LETTER and letter not in words.signs
    if weak and not named and short and _spelled_with(tokens[:at], tokens[at + 1]):
        named = example[0]  # "S for sugar, E, V for victor, she for George"
    if not letter.isalpha() or not example[0].isalpha() or len(example) < 2 or (weak and not named):
        return None
    meant = words.alphabet.get(example, example[0])
    # the word decides between letters that sound alike; a word that begins with another one was misheard
    if named and example not in words.alphabet and not sound_alike(named, meant):
        meant = named
    return [Symbol("letter", meant, sure=True)], length + 2


def _spelled_with(tokens: Sequence[str], word: str) -> bool:
    """Return True if two letters or more are before this word, as in "B for boy"."""
    return sum(_is_one_letter(before) and after == word for before, after in pairwise(tokens)) > 1


def _is_one_letter(token: str) -> bool:
    return len(token) == 1 and token.isalpha()


def sound_alike(one: str, other: str) -> bool:
    """Return True for two letters or figures that sound alike."""
    return one == other or any(one in group and other in group for group in _ALIKE)


def _letter_before_four(
    tokens: Sequence[str], at: int, words: CaptureLanguage
) -> tuple[list[Symbol], int] | None:
    """Return the letter of "M four M", "S 4 sugar", "D4 George" and "T, F, Peter": what English recognizers
    make of "M for mother". Where the letter and the example's first one sound alike, the example has it.
    """
    letter, four, example = (*tokens[at : at + 3], "", "", "")[:3]
    if len(letter) != 1 or not letter.isalpha() or not example.isalpha() or example in words.signs:
        return None
    if four == "four" and example == letter:
        return [Symbol("letter", letter, sure=True)], 3
    spelled = any(map(_is_one_letter, (*tokens[max(0, at - 1) : at], *tokens[at + 3 : at + 4])))
    if four == "f" and spelled and len(example) > _MIN_SPELLED and sound_alike(letter, example[0]):
        return [Symbol("letter", example[0], sure=True)], 3
    shortest = _MIN_SPELLED if example[0] == letter else _MIN_SPELLED + 1
    if four != "4" or len(example) < shortest or not sound_alike(letter, example[0]):
        return None
    return [Symbol("letter", example[0], sure=True)], 3


def _letter_by_example_alone(
    tokens: Sequence[str], at: int, words: CaptureLanguage
) -> tuple[list[Symbol], int] | None:
    """Return the letter of "as in alpha", whose letter before the example was not heard."""
    length = phrase_length_at(tokens, at, words.examples)
    letter = words.alphabet.get(tokens[at + length]) if at + length < len(tokens) else None
    if length < 2 or letter is None:  # "for" and "like" have other uses
        return None
    return [Symbol("letter", letter, sure=True)], length + 1


def _letter_by_misheard_example(
    tokens: Sequence[str], at: int, words: CaptureLanguage
) -> tuple[list[Symbol], int] | None:
    """Return the letter of "T as in tango" where "as in" was misheard as other short words, or not heard.

    The letter must be that of the example, and the text must end there: in "T M tango kilo" all are spelled.
    Of "A as in alpha" alone, a grammar of letters makes "I S A N alpha".
    """
    named = tokens[at] if len(tokens[at]) == 1 else words.letters.get(tokens[at], "")
    between = tokens[at + 1 : -1]
    if at + 1 == len(tokens) or (at + 2 == len(tokens) and at > 0 and len(tokens[at - 1]) == 1):
        return None
    if not named or len(between) > _MAX_MISHEARD or any(len(one) > 4 for one in between):
        return None
    meant = words.alphabet.get(tokens[-1], "")
    spelled = at == 0 and between in (["s", "a", "n"], ["s", "i", "n"]) and sound_alike(named, meant)
    if not (meant == named or spelled) or not all(one.replace("'", "").isalpha() for one in between):
        return None
    return [Symbol("letter", meant, sure=True)], len(between) + 2


def _with_repeats(symbols: Iterable[Symbol], words: CaptureLanguage) -> list[Symbol]:
    """Return the symbols with "double L" written out."""
    found: list[Symbol] = []
    times = 1
    for symbol in symbols:
        repeats = words.repeats.get(symbol.text, 1) if symbol.kind == "word" else 1
        if repeats > 1:
            times = repeats
            continue
        if times > 1 and symbol.kind in ("letter", "digits"):
            found += [symbol] * (times - 1)
        found.append(symbol)
        times = 1
    return found


def _with_spelled_runs(symbols: Sequence[Symbol], words: CaptureLanguage) -> list[Symbol]:
    """Return the symbols with names of letters as letters where others are spelled around them.

    Alone "Mike" is a name and "you" a word; next to a letter, or to another word that stands for one, they
    are letters. Where a run is spelled with examples, a single one between signs and digits is a letter too:
    "kilo" in "Mike Alpha Romeo dot Kilo".
    """
    letters = [_as_letter(symbol, words) for symbol in symbols]
    if sum(letter is not None for letter in letters) >= _MIN_SPELLED:
        letters = [
            letter or _near_example(symbol, words) for symbol, letter in zip(symbols, letters, strict=True)
        ]
    runs = [
        (spelled, list(run))
        for spelled, run in groupby(range(len(symbols)), key=lambda at: letters[at] is not None)
    ]
    by_example = any(sum(_is_example(letters[at]) for at in run) > 1 for _, run in runs)
    found: list[Symbol] = []
    for spelled, run in runs:
        around = [symbols[at].kind for at in (run[0] - 1, run[-1] + 1) if 0 <= at < len(symbols)]
        among = set(around) <= {"sign", "digits"}
        alone = by_example and len(run) == 1 and _is_example(letters[run[0]]) and among
        is_run = len(run) > 1 and 2 * sum(_is_certain(symbols[at], letters[at]) for at in run) >= len(run)
        found += [(letters[at] if spelled and (is_run or alone) else None) or symbols[at] for at in run]
    return found


def _as_letter(symbol: Symbol, words: CaptureLanguage) -> Symbol | None:
    """Return the letter that a symbol is, or may stand for; None if there is none."""
    if symbol.kind != "word":
        return symbol if symbol.kind == "letter" else None
    if letter := words.alphabet.get(symbol.text):
        return Symbol("letter", letter, sure=True)
    letter = words.letters.get(symbol.text)
    return Symbol("letter", letter) if letter else None


def _near_example(symbol: Symbol, words: CaptureLanguage) -> Symbol | None:
    """Return the letter of a word that is nearly one of the alphabet: "eco" for "echo"."""
    if symbol.kind != "word":
        return None
    examples = [example for example in words.alphabet if example[0] == symbol.text[0]]
    near = get_close_matches(symbol.text, examples, 1, _NEAR_EXAMPLE)
    return Symbol("letter", words.alphabet[near[0]], sure=True) if near else None


def _is_example(letter: Symbol | None) -> bool:
    return letter is not None and letter.sure


def _is_certain(symbol: Symbol, letter: Symbol | None) -> bool:
    """Return True for what is a letter beyond doubt, if letters are around it."""
    return symbol.kind == "letter" or _is_example(letter)


def without_openings(text: str, language: str) -> str:
    """Return a transcript without phrases such as "My name is" at its beginning and "please" at its end."""
    words = capture_language(language)
    rest = text.strip()
    while True:
        spans = list(re.finditer(r"[^\W_]+(?:['’][^\W_]+)*", rest))
        tokens = [span[0].lower().replace("’", "'") for span in spans]
        opening = phrase_length_at(tokens, 0, words.openings)
        if opening and opening < len(tokens):
            rest = rest[spans[opening].start() :]
            continue
        closing = max((len(one) for one in words.closings if tuple(tokens[-len(one) :]) == one), default=0)
        if closing and closing < len(tokens):
            rest = rest[: spans[len(spans) - closing - 1].end()]
            continue
        return rest
