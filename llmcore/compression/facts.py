"""Names, numbers and dates in a text: facts that a summary must neither lose nor invent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from llmcore.compression.numbers import HOUR_DIGITS, number_runs

_WORD = re.compile(r"[^\W_]+(?:[.:,/'’-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?…:;\"“”\[\]()\n]\s*$")
_DAYS = frozenset({
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "yesterday", "today", "tonight", "tomorrow",
    "january", "february", "april", "june", "july", "august",
    "september", "october", "november", "december",
})  # fmt: skip
"""Dates even in lower case, which recognizers write. "may" and "march" are also other words."""
_NOT_NUMBERS = frozenset({"one", "first", "second"})
"""Words that alone are rarely numbers: "the other one", "first of all", "just a second"."""
_OF_A_MONTH = re.compile(
    r" of (?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_NOT_NAMES = frozenset({
    "i", "ok", "okay", "tv", "am", "pm", "caller", "agent", "user", "assistant", "guest", "customer", "said",
})  # fmt: skip
_OPENS_NAME = re.compile(r"\b(?:name is|name's|name’s|call me)\s+([^\W\d_]+)", re.IGNORECASE)
_NAME = re.compile(r"\b(?:name|nom|nombre|nome|naam|navn|namn)\b", re.IGNORECASE)
_BEFORE = re.compile(r"(?<!\S)[^\W_]+ $")
_AFTER = re.compile(r"(?: of)? [^\W_]+")
_LONGEST_WORD = 40
"""Longest neighbor of a number, in characters."""
MAX_NAME = 4
"""Words of an answer that is a name."""
_NOUNS_HAVE_CAPITALS = frozenset({"de", "lb"})


@dataclass(frozen=True, slots=True)
class Fact:
    """A name, a number or a date.

    phrase: its text with the neighboring words. key: canonical form; parts: the keys of its parts. counted:
    stem of the noun that a number counts, or its month.
    """

    phrase: str
    key: str
    parts: tuple[str, ...]
    counted: str = ""


@dataclass(frozen=True, slots=True)
class FactIndex:
    """Index of a text's facts. numbers: keys, alone and with what they count. words: all, in lower case."""

    numbers: frozenset[str]
    words: frozenset[str]

    def __or__(self, other: FactIndex) -> FactIndex:
        return FactIndex(self.numbers | other.numbers, self.words | other.words)

    def has(self, fact: Fact) -> bool:
        """Return True if this name or number occurs in any form."""
        return self._has(fact.key) or all(map(self._has, fact.parts))

    def states(self, fact: Fact) -> bool:
        """Return True if this fact occurs: a number together with what it counts."""
        return self.has(fact) and (not fact.counted or f"{fact.key} {fact.counted}" in self.numbers)

    def _has(self, key: str) -> bool:
        return key in self.numbers or key in self.words  # "A:0" is both partly a number and partly a word


def index_facts(texts: Iterable[str], language: str) -> FactIndex:
    numbers: set[str] = set()
    words: set[str] = set()
    for text in texts:
        tokens = [match.group().lower() for match in _WORD.finditer(text)]
        words.update(tokens)
        words.update(part for token in tokens for part in re.split(r"['’-]", token))
        for run in number_runs(text, language):
            for key in (run.key, *run.parts):
                for writing in (key, *_as_hour(key)):
                    numbers.update((writing, f"{writing} {run.counted}"))
    return FactIndex(frozenset(numbers), frozenset(words))


def extract_facts(text: str, language: str) -> list[Fact]:
    facts = []
    for run in number_runs(text, language):
        rarely = _NOT_NUMBERS.issuperset(text[run.start : run.end].lower().split())
        if not rarely or _OF_A_MONTH.match(text, run.end):
            phrase = _with_neighbours(text, run.start, run.end)
            facts.append((run.start, Fact(phrase, run.key, run.parts, run.counted)))
    for start, name in _names(text, language):
        facts.append((start, Fact(name, name.lower(), tuple(name.lower().split()))))
    return [fact for _, fact in sorted(facts, key=lambda each: each[0])]


def asks_for_name(text: str) -> bool:
    name = _NAME.search(text)
    return name is not None and "?" in text[name.end() :]


def name_in_answer(answer: str) -> list[Fact]:
    """Return the name in a short answer to such a question, in any case: "anna lund"."""
    words = _WORD.findall(answer)
    if not 1 <= len(words) <= MAX_NAME:
        return []
    name = " ".join(words)
    return [Fact(answer.strip().rstrip(".!?"), name.lower(), tuple(word.lower() for word in words))]


def _as_hour(key: str) -> tuple[str, ...]:
    """Return other forms of a possible time of day: 7 as 700, 19 and 1900."""
    if not key.isdecimal() or len(key) > HOUR_DIGITS or not 1 <= int(key) <= 12:
        return ()
    return f"{key}00", f"{int(key) + 12}", f"{int(key) + 12}00"


def _with_neighbours(text: str, start: int, end: int) -> str:
    """Return the number with the word before and the noun after it: "for two nights", "the third of May"."""
    before = _BEFORE.search(text, max(start - _LONGEST_WORD, 0), start)
    after = _AFTER.match(text, end)
    return text[before.start() if before else start : after.end() if after else end]


def _names(text: str, language: str) -> Iterator[tuple[int, str]]:
    """Yield position and text of names: after "my name is", days, and capitalized words inside a sentence."""
    for match in _OPENS_NAME.finditer(text):
        yield match.start(1), match.group(1)
    start = end = -1
    for match in _WORD.finditer(text):
        if match.group().lower() in _DAYS:
            yield match.span()[0], match.group()
        elif language not in _NOUNS_HAVE_CAPITALS and _is_name(text, match):
            if start < 0 or text[end : match.start()] != " ":
                if start >= 0:
                    yield start, text[start:end]
                start = match.start()
            end = match.end()
    if start >= 0:
        yield start, text[start:end]


def _is_name(text: str, match: re.Match[str]) -> bool:
    word = match.group()
    if not word[0].isupper() or re.split(r"['’]", word)[0].lower() in _NOT_NAMES:
        return False
    before = text[max(match.start() - 8, 0) : match.start()]
    return bool(before.strip()) and _SENTENCE_END.search(before) is None
