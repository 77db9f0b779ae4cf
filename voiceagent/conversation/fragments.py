"""LLM text to speakable fragments: the first one short, sentences after it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sentencex import segment  # type: ignore[import-untyped]  # it has no type hints

from voiceagent.text_normalization import Alignment, normalize
from voiceagent.text_normalization.abbreviations import needs_follower
from voiceagent.text_normalization.punctuation import (
    CLAUSE_ENDS,
    CLOSERS,
    DASHES,
    OPENERS,
    TERMINATORS,
    UNSPACED_CLAUSE_ENDS,
    UNSPACED_TERMINATORS,
)

CONJUNCTIONS = {
    "en": ("and", "but", "or", "so", "because", "since", "although", "while", "which", "where", "if", "when"),
    "de": ("und", "aber", "oder", "denn", "sondern"),
    "es": ("y", "pero", "o", "porque", "aunque", "que"),
    "fr": ("et", "mais", "ou", "car", "parce", "donc"),
    "it": ("e", "ma", "o", "perché", "quindi"),
    "nl": ("en", "maar", "of", "want", "omdat", "dus"),
    "pt": ("e", "mas", "ou", "porque", "então"),
}
"""Words before which a clause can end, by language."""
CONJUNCTION_CHARS = 24
"""Shortest clause that ends before one: "Ham and" is no clause, and unlike a comma nobody pauses there."""
_WORD_ENDS = re.compile(rf"(?=\s)|(?<=[{UNSPACED_CLAUSE_ENDS}{UNSPACED_TERMINATORS}])")
_LIST_NUMBER = re.compile(r"\s*\(?(?:\d{1,3}|[A-Za-z])[.)]")
_OPEN_LINK = re.compile(r"\[[^\]]*$|\]\([^)]*$")
_ADDRESS = re.compile(r"://|www\.|@")


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a response that is spoken in one go.

    text: as the model wrote it, white space at its edges included: all texts of a response joined are the
    response. spoken: the same in words a synthesizer can read ("$5" is "five dollars"), "" where nothing is
    to be said. alignment: pairs (index in `spoken`, index in `text`) of the beginnings of corresponding
    words, ascending.
    """

    text: str
    spoken: str
    alignment: Alignment = ()


class Fragmenter:
    """Cuts the text of one response, as it grows, into fragments.

    The first one with anything to say ends at the first clause of `first_chars` characters or more ("Sure,"
    is made soon, and lasts until the next one is), or at a sentence, the others at sentences; all of them at
    lines. One that grows to `max_chars`, the first one to `first_max_chars`, is cut at a word. Each character
    is looked at by itself, so it makes no difference how the text was split into deltas. normalize: makes the
    spoken text, "" where there is nothing to say.
    """

    def __init__(
        self,
        language: str = "en",
        first_chars: int = 4,
        max_chars: int = 250,
        first_max_chars: int | None = None,
        normalize: Callable[[str, str], tuple[str, Alignment]] = normalize,
    ) -> None:
        self._normalize = normalize
        self._language = language
        self._first_chars = first_chars
        self._max_chars = max_chars if first_max_chars is None else first_max_chars
        self._later_max_chars = max_chars
        self._conjunctions = CONJUNCTIONS.get(language, ())
        self._rest = ""
        self._first = True

    def push(self, delta: str) -> list[Fragment]:
        """More text of the response; the fragments that are complete now."""
        fragments = []
        for character in delta:
            self._rest += character
            if end := self._end():
                fragments.append(self._take(end))
        return fragments

    def finish(self) -> list[Fragment]:
        """The response is over: what is left of it, if anything is."""
        return [self._take(len(self._rest))] if self._rest else []

    def _take(self, end: int) -> Fragment:
        text, self._rest = self._rest[:end], self._rest[end:]
        spoken, alignment = self._normalize(text, self._language)
        if self._first and spoken:
            self._first, self._max_chars = False, self._later_max_chars
        return Fragment(text, spoken, alignment)

    def _end(self) -> int:
        """Where a fragment ends, now that the last character of the rest is known; 0 where none does."""
        text = self._rest
        # whatever stands there: items of a list have no full stop
        if text[-1] == "\n":
            return len(text) - 1 if text.strip() else 0
        end = self._sentence_end(text) or (self._clause_end(text) if self._first else 0)
        if end and not _inside_markup(text[:end]):
            return end
        return self._cap(text) if len(text) >= self._max_chars else 0

    def _sentence_end(self, text: str) -> int:
        """A sentence is seen to end at the first character after it and its white space."""
        last, before = text[-1], text[-2:-1]
        if before and before in UNSPACED_TERMINATORS:
            return len(text) - 1 if last not in UNSPACED_TERMINATORS + CLOSERS else 0
        if last.isspace() or not before.isspace():
            return 0
        end = len(text[:-1].rstrip())
        sentence = text[:end].rstrip(CLOSERS)
        if not sentence.endswith(tuple(TERMINATORS)) or self._goes_on(sentence):
            return 0
        # asked last, as it is dear: it knows "Dr." and its like in each language
        *_, following = segment(self._language, text)
        return end if len(text) - len(following) >= len(sentence) else 0

    def _goes_on(self, sentence: str) -> bool:
        """Whether the full stop belongs to the number of a list or to an abbreviation."""
        last_word = sentence.rsplit(maxsplit=1)[-1].lstrip(OPENERS)
        return bool(_LIST_NUMBER.fullmatch(sentence)) or needs_follower(last_word, self._language)

    def _clause_end(self, text: str) -> int:
        """A clause ends behind its comma or dash, or before a conjunction when it is long enough for that."""
        length = len(text.strip())
        if length < self._first_chars:
            return 0
        word = text.rsplit(maxsplit=1)[-1]
        last, before = text[-1], text[-2]
        comma = last in CLAUSE_ENDS and before.isalpha() and not _ADDRESS.search(word)
        if comma or last in UNSPACED_CLAUSE_ENDS:
            return len(text)
        if not last.isspace() or before.isspace():
            return 0
        if before in CLAUSE_ENDS + ":" or word in DASHES:
            return len(text) - 1
        if length >= CONJUNCTION_CHARS and word.lower() in self._conjunctions:
            return len(text[: -len(word) - 1].rstrip())
        return 0

    def _cap(self, text: str) -> int:
        """Where to cut a text that is too long: at its last word, before link or code that is still open.

        A word alone that is too long, such as an address, may grow to four times the length.
        """
        if len(text) > self._max_chars and not _WORD_ENDS.search(text, len(text) - 1):
            # cut in the middle: a text without any white space must not grow without end
            return len(text) if len(text) >= 4 * self._max_chars else 0
        ends = [match.start() for match in _WORD_ENDS.finditer(text) if text[: match.start()].strip()]
        outside = [end for end in ends if not _inside_markup(text[:end])]
        return (outside or ends or [0])[-1]


def _inside_markup(text: str) -> bool:
    """Whether a link or code is open at the end of the text."""
    return text.count("`") % 2 == 1 or _OPEN_LINK.search(text) is not None
