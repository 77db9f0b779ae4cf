"""LLM text to speakable fragments: the first one short, sentences after it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sentencex import segment

from voiceagent.speakable import speakable
from voiceagent.speakable.abbreviations import needs_follower

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
_TERMINATORS = ".!?…؟۔।॥։።"
_UNSPACED_TERMINATORS = "。！？｡"
_CLOSERS = "\"'”’»)]}*_`~"
_CLAUSE_ENDS = ",;"
_UNSPACED_CLAUSE_ENDS = "，、；：—"
_DASHES = ("-", "–", "--")
_WORD_END = re.compile(r"(?=\s)|(?<=[，、；：。！？])")
_LIST_MARKER = re.compile(r"\s*\(?\w{1,3}[.)]")
_OPEN_LINK = re.compile(r"\[[^\]]*$|\]\([^)]*$")
_ADDRESS = re.compile(r"://|www\.|@")


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a reply that is spoken in one go.

    text: as the model wrote it, white space at its edges included, so that all texts of a reply joined are
    the reply.
    spoken: the same in words a synthesizer can read ("$5" is "five dollars").
    alignment: pairs (index in `spoken`, index in `text`) of the beginnings of corresponding words, both
    ascending.
    """

    text: str
    spoken: str
    alignment: tuple[tuple[int, int], ...] = ()


class Fragmenter:
    """Cuts the text of one reply, as it grows, into fragments.

    The first fragment with anything to speak ends at the first clause of at least `first_chars`
    characters, or at a
    sentence; the others end at sentences and lines. None is held beyond `max_chars` characters, but for a
    longer word.
    Where to cut is decided character by character, so that it does not depend on how the text was split
    into deltas.
    """

    def __init__(self, language: str = "en", first_chars: int = 12, max_chars: int = 250) -> None:
        self._language = language
        self._first_chars = first_chars
        self._max_chars = max_chars
        self._conjunctions = CONJUNCTIONS.get(language, ())
        self._rest = ""
        self._first = True

    def push(self, delta: str) -> list[Fragment]:
        """More text of the reply; the fragments that are complete now."""
        fragments = []
        for character in delta:
            self._rest += character
            if end := self._end():
                fragments.append(self._take(end))
        return fragments

    def finish(self) -> list[Fragment]:
        """The reply is over: what is left of it, if anything is."""
        return [self._take(len(self._rest))] if self._rest else []

    def _take(self, end: int) -> Fragment:
        text, self._rest = self._rest[:end], self._rest[end:]
        spoken, alignment = speakable(text, self._language)
        self._first = self._first and not spoken
        return Fragment(text, spoken, alignment)

    def _end(self) -> int:
        """Where a fragment ends, now that the last character of the rest is known; 0 where none does."""
        text = self._rest
        if text[-1] == "\n":
            return len(text) - 1 if text.strip() else 0
        end = self._sentence_end(text) or (self._clause_end(text) if self._first else 0)
        if end and not _inside_markup(text[:end]):
            return end
        return self._cap(text) if len(text) >= self._max_chars else 0

    def _sentence_end(self, text: str) -> int:
        """A sentence is seen to end at the first character after it and its white space."""
        if text[-1].isspace():
            return 0
        if text[-2:-1] and text[-2] in _UNSPACED_TERMINATORS:
            ended = text[-1] not in _UNSPACED_TERMINATORS + _CLOSERS + "」』）"
            return len(text) - 1 if ended else 0
        end = len(text[:-1].rstrip())
        sentence = text[:end].rstrip(_CLOSERS)
        if end == len(text) - 1 or not sentence or sentence[-1] not in _TERMINATORS:
            return 0
        last = sentence.rsplit(maxsplit=1)[-1].lstrip(_CLOSERS + "([{“‘«")
        if _LIST_MARKER.fullmatch(sentence) or needs_follower(last, self._language):
            return 0
        *_, following = segment(self._language, text)
        return end if len(text) - len(following) >= len(sentence) else 0

    def _clause_end(self, text: str) -> int:
        """A clause ends behind its comma or dash, or before a conjunction."""
        length = len(text.strip())
        if length < self._first_chars:
            return 0
        word = text.rsplit(maxsplit=1)[-1]
        if text[-1] in _UNSPACED_CLAUSE_ENDS:
            return len(text)
        if text[-1] in _CLAUSE_ENDS and text[-2].isalpha() and not _ADDRESS.search(word):
            return len(text)
        if not text[-1].isspace() or text[-2].isspace():
            return 0
        if text[-2] in _CLAUSE_ENDS + ":" or word in _DASHES:
            return len(text) - 1
        if word.lower() in self._conjunctions and length >= 2 * self._first_chars:
            return len(text[: -len(word) - 1].rstrip())
        return 0

    def _cap(self, text: str) -> int:
        """Where to cut a text that is too long: at its last word, before an open link or code if there is
        one.
        """
        ends = [match.start() for match in _WORD_END.finditer(text) if text[: match.start()].strip()]
        for end in reversed(ends):
            if not _inside_markup(text[:end]):
                return end
        if ends:
            return ends[-1]
        return len(text) if len(text) >= 4 * self._max_chars else 0


def _inside_markup(text: str) -> bool:
    """Whether a link or inline code is open at the end of the text."""
    return text.count("`") % 2 == 1 or _OPEN_LINK.search(text) is not None
