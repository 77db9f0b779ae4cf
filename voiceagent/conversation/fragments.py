"""Splits LLM text into speakable fragments: a short first one, then sentences."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sentencex import segment  # type: ignore[import-untyped]  # it has no type hints

from voiceagent.text_normalization import Alignment, normalize
from voiceagent.text_normalization.languages import Language, find_language
from voiceagent.text_normalization.punctuation import (
    CLAUSE_ENDS,
    CLOSERS,
    DASHES,
    TERMINATORS,
    UNSPACED_CLAUSE_ENDS,
    UNSPACED_TERMINATORS,
)
from voiceagent.text_normalization.rules import CONTEXT_CHARS
from voiceagent.text_normalization.sentence_ends import GLUED, Verdict, judge_full_stop
from voiceagent.text_normalization.signs import RANGE_START

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
"""Minimum characters of a clause before a conjunction: "Ham and" is no clause, and speakers pause at commas
but not before conjunctions.
"""
_WORD_ENDS = re.compile(rf"(?=\s)|(?<=[{UNSPACED_CLAUSE_ENDS}{UNSPACED_TERMINATORS}])")
_LIST_NUMBER = re.compile(r"\s*\(?(?:\d{1,3}|[A-Za-z])[.)]")
_OPEN_MARKUP = re.compile(
    r"\[[^\]]*$|\]\([^)]*$"
    r"|<[A-Za-z/|!][^<>]{0,200}$|<(?:say-as|sub)\b[^<>]{0,200}>[^<>]{0,80}$"
    r"|(?:^|(?<=[\s.!?]))\*[^\s*][^*\n]{0,60}$"
)
"""Unclosed link, SSML tag or stage direction."""
_SHORT_DAYS = "|".join(
    day for language in CONJUNCTIONS for day in find_language(language).short_days if day[0].isupper()
)
_ADDRESS = re.compile(r"://|www\.|@")
_KEEPS_COMMA = re.compile(rf"{_ADDRESS.pattern}|&\#?\w{{1,8}};$|^(?:(?:{_SHORT_DAYS})\.?|\d{{1,2}}\.),$")
"""Words whose comma ends no clause: addresses, and weekdays in a list."""
_GOES_WITH_NEXT = re.compile(rf"(?:\d|\.|\b(?:{_SHORT_DAYS}))$")
"""Text that a conjunction joins with more of its kind: "am 3. und 4. Juni", "Mon and Tue"."""
_RANGE_START = re.compile(rf"(?:{RANGE_START}|\b(?:{_SHORT_DAYS})\b\.?\s?)[-–—]\s?$")
"""Possible first half of a range, up to its dash: "9 am - ", "Mon - "."""
_RANGE_END = re.compile(r"[\d$€£¥₹₩A-Z]")
_PASSWORD = re.compile(r"[A-Za-z]\d+[A-Za-z]*[!?]\w{1,3}$")
"""Letters and figures up to a mark, as in "Sun5et!2026"; the mark ends no sentence."""
_FIGURES_AT_END = re.compile(r"[\d$€£¥₹₩#]\W?$")
_FIGURES_AT_START = re.compile(r"\s*[(*\"]*[\d$€£¥₹₩#]")


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a response that is synthesised at once.

    text: as the model wrote it, including white space at its edges: all texts of a response joined are the
    response. spoken: the normalized text for the synthesizer ("$5" is "five dollars"), "" if there is nothing
    to speak. alignment: pairs (index in `spoken`, index in `text`) of the beginnings of corresponding words,
    ascending.
    """

    text: str
    spoken: str
    alignment: Alignment = ()


class Fragmenter:
    """Splitter of the growing text of one response into fragments.

    The first speakable fragment ends at a clause of at least `first_chars` characters, or at a sentence.
    ("Sure," is synthesised fast, and its audio lasts until the next fragment is ready.) Later fragments end
    at sentences. All end at line breaks. A fragment of `max_chars` (the first one: `first_max_chars`) is cut
    between words. Each character is processed separately, so the size of the deltas does not matter.

    normalize: returns the spoken text, "" for none. Its arguments are a text, its language and the preceding
    text, which may hold the label of a number.
    """

    def __init__(
        self,
        language: str = "en",
        first_chars: int = 4,
        max_chars: int = 250,
        first_max_chars: int | None = None,
        normalize: Callable[[str, str, str], tuple[str, Alignment]] = normalize,
    ) -> None:
        self._normalize = normalize
        self._language = language
        self._first_chars = first_chars
        self._max_chars = max_chars if first_max_chars is None else first_max_chars
        self._later_max_chars = max_chars
        self._conjunctions = CONJUNCTIONS.get(language, ())
        self._rest = ""
        self._before = ""
        self._undecided = 0
        self._first = True

    def push(self, delta: str) -> list[Fragment]:
        """Append text of the response. Return the fragments that are complete now."""
        fragments = []
        for character in delta:
            self._rest += character
            if end := self._end():
                fragments.append(self._cut(end))
        return fragments

    def finish(self, cut: bool = False) -> list[Fragment]:
        """End the response. Return the remaining text as a fragment, if any.

        cut: the response was cut off at its limit: half a sentence behind a whole one is dropped.
        """
        if cut and _ends_sentence(self._before) and not _ends_sentence(self._rest):
            self._rest = ""
        return [self._cut(len(self._rest))] if self._rest else []

    def _cut(self, end: int) -> Fragment:
        text, self._rest = self._rest[:end], self._rest[end:]
        self._undecided = 0
        spoken, alignment = self._normalize(text, self._language, self._before)
        self._before = (self._before + text)[-CONTEXT_CHARS:]
        if self._first and spoken:
            self._first, self._max_chars = False, self._later_max_chars
        return Fragment(text, spoken, alignment)

    def _end(self) -> int:
        """Return the end of a fragment, now that the last character is known; 0 if there is none."""
        text = self._rest
        # whatever comes before: list items have no full stop
        if text.isspace():
            return len(text) if len(text) >= self._max_chars else 0
        if text[-1] == "\n":
            return len(text) - 1
        end = self._sentence_end(text) or (self._clause_end(text) if self._first else 0)
        if end and not _inside_markup(text[:end]):
            return end
        return self._cap(text) if len(text) >= self._max_chars else 0

    def _sentence_end(self, text: str) -> int:
        """Return the end of a sentence: at the first character after its white space, or with no space."""
        last, before = text[-1], text[-2:-1]
        if before and before in UNSPACED_TERMINATORS:
            return len(text) - 1 if last not in UNSPACED_TERMINATORS + CLOSERS else 0
        if last.isspace():
            return 0 if before.isalpha() is False else self._end_before_word(text)
        if before.isspace():
            self._undecided = 0
            return self._spaced_end(text[:-1].rstrip(), last, complete=False)
        if not last.isalpha() and before.isalpha():
            return self._end_before_word(text)
        return _glued_end(text, find_language(self._language)) if last.isalnum() or last in "¿¡ '’" else 0

    def _end_before_word(self, text: str) -> int:
        """Return an end that the whole next word decides: "at 5 p.m. Come" ends, "am 3. Mai" does not."""
        if not self._undecided:
            return 0
        end, self._undecided = self._undecided, 0
        return self._spaced_end(text[:end], text[end:-1].strip(), complete=True)

    def _spaced_end(self, text: str, following: str, complete: bool) -> int:
        """Return the length of `text` if it is a sentence, 0 otherwise. following: the next word so far."""
        sentence = text.rstrip(CLOSERS)
        if not sentence.endswith(tuple(TERMINATORS)) or following == "." or _LIST_NUMBER.fullmatch(sentence):
            return 0
        verdict = self._judge(sentence, following, complete)
        if verdict == "waits":
            self._undecided = len(text)
        if verdict in ("goes on", "waits"):
            return 0
        if verdict == "ends":
            return len(text)
        # last because it is expensive: it knows "Dr." and the like in each language
        *_, after = segment(self._language, f"{text} {following}")
        return len(text) if len(text) + 1 + len(following) - len(after) >= len(sentence) else 0

    def _judge(self, sentence: str, following: str, complete: bool) -> Verdict:
        if not sentence.endswith(".") or sentence.endswith(".."):
            return "open"
        return judge_full_stop(sentence, following, complete, find_language(self._language))

    def _clause_end(self, text: str) -> int:
        """Return the end of a clause: after its comma or dash, or before a conjunction if long enough."""
        length = len(text.strip())
        if length < self._first_chars:
            return 0
        word = text.rsplit(maxsplit=1)[-1]
        last, before = text[-1], text[-2]
        comma = last in CLAUSE_ENDS and before.isalpha() and not _KEEPS_COMMA.search(word)
        if comma or (last in UNSPACED_CLAUSE_ENDS and not _RANGE_START.search(text, len(text) - 12)):
            return len(text)
        if _held_dash(text):
            return 0 if _RANGE_END.match(last) else _dash_end(text)
        if not last.isspace() or before.isspace():
            return 0
        if word in DASHES:
            return 0 if _RANGE_START.search(text, max(0, len(text) - 12)) else len(text) - 1
        if before in CLAUSE_ENDS + ":" and not _KEEPS_COMMA.search(word):
            return len(text) - 1
        if length >= CONJUNCTION_CHARS and word.lower() in self._conjunctions:
            clause = text[: -len(word) - 1].rstrip()
            return 0 if _GOES_WITH_NEXT.search(clause, len(clause) - 12) else len(clause)
        return 0

    def _cap(self, text: str) -> int:
        """Return where to cut a text that is too long: at its last word, before an open link or code span.

        A single word that is too long, such as an address, may grow to four times the length.
        """
        if len(text) > self._max_chars and not _WORD_ENDS.search(text, len(text) - 1):
            # cut inside the word: a text without white space must not grow without bound
            return len(text) if len(text) >= 4 * self._max_chars else 0
        ends = [match.start() for match in _WORD_ENDS.finditer(text) if text[: match.start()].strip()]
        outside = [end for end in ends if not _inside_markup(text[:end])] or ends
        apart = [end for end in outside if not _inside_number(text, end)]
        return (apart or outside or [0])[-1]


def _ends_sentence(text: str) -> bool:
    return text.rstrip().rstrip(CLOSERS).endswith(tuple(TERMINATORS + UNSPACED_TERMINATORS))


def _glued_end(text: str, language: Language) -> int:
    """Return the end of a sentence with no space after it, as in "Great!Your"; 0 if there is none."""
    if text[-2:-1].isalnum() and text[-3:-2] != ".":
        return 0
    if _PASSWORD.search(text, max(0, len(text) - 24)):
        return 0
    glued = GLUED.search(text, max(0, len(text) - 6))
    if glued and judge_full_stop(text[: glued.end()], text[glued.end() :], False, language) == "goes on":
        return 0  # "Mr.Smith"
    return glued.end() if glued and not _ADDRESS.search(text.rsplit(maxsplit=1)[-1]) else 0


def _held_dash(text: str) -> bool:
    """Return True if the last character is the first after a dash that may have begun a range."""
    dash = text[-2:-1] in UNSPACED_CLAUSE_ENDS or (
        text[-2:-1].isspace() and text[-3:-2] in DASHES and text[-4:-3].isspace()
    )
    return (
        dash and not text[-1].isspace() and _RANGE_START.search(text[:-1], max(0, len(text) - 13)) is not None
    )


def _dash_end(text: str) -> int:
    """Return the end of a clause whose dash turned out to begin no range."""
    return len(text) - 1 if text[-2] in UNSPACED_CLAUSE_ENDS else len(text[:-1].rstrip())


def _inside_number(text: str, end: int) -> bool:
    """Return True if a cut at `end` is next to a figure, which may belong to the words beyond it."""
    return bool(_FIGURES_AT_END.search(text[:end]) or _FIGURES_AT_START.match(text, end))


def _inside_markup(text: str) -> bool:
    """Return True if a link, code, a tag or a stage direction is open at the end of the text."""
    return text.count("`") % 2 == 1 or _OPEN_MARKUP.search(text) is not None
