"""Capture of names that are spelled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import ClassVar

from audio.recognizers import Spelling
from audio.recognizers.decoding.frequent_names import LAST_NAMES
from voiceagent.agents.capture.corrections import correct_text, spell_out
from voiceagent.agents.capture.letter_remarks import correct_remarked, correct_sign, signs_said, with_remarks
from voiceagent.agents.capture.linking_words import without_comparisons, without_linking_words
from voiceagent.agents.capture.self_repairs import repaired_text, split_at_no, without_asides
from voiceagent.agents.capture.spelled_names import SIMILAR, spelled_words
from voiceagent.agents.capture.symbols import symbols_of, without_openings
from voiceagent.agents.capture.task import Circumstances, Heard, Task
from voiceagent.conversation.words import words_of
from voiceagent.text_normalization.languages import word_set

_SIMILAR_WORD = 0.5
"""Minimum similarity of a word that is said alone and the word of a name that it corrects."""
_FEW_LETTERS = 2
"""Letters that are a remark on a name rather than a part of it, at most: "with two L's"."""
_PAUSES = (r"[,.;]\s*", r"[,.;]\s+")
"""Patterns around a mere "no" within a name: pauses, as "No" is a name too."""
_TITLE = re.compile(
    r"^\W*(?:(?:dr|doctor|mr|mister|mrs|missus|ms|miss|prof|professor|herr|frau|doktor|señora?)\b[.\s]+(?:(?:and|und|y)\s+)?)+"
    r"(?=[^\W\d_](?:[^\W\d_]|['’]\w|[.\s]+\w))",
    re.I,
)
"""Titles before a name, which are none of it."""
MAX_WORDS = 5
"""Maximum words of a name: more are a sentence."""
_LABELS = {
    "en": re.compile(
        r"[\s,.;]*\b(?:and\s+)?(?:(?:my|the)\s+)?(?:first\s+and\s+)?"
        r"(?:(?P<first>first|given|christian)|(?P<middle>middle)|last|family|sur|sir|second|full|whole|maiden)"
        r"[\s-]?(?:name[ds]?|initial)\b(?:['’]s\b|\s+i?s\b)?[\s,:?]*",
        re.I,
    ),
    "de": re.compile(
        r"[\s,.;]*\b(?:und\s+)?(?:(?:mein|der)\s+)?(?:(?P<first>vor|ruf)|(?P<middle>mittel)|nach|familien|zu)"
        r"name(?:\s+(?:ist|lautet))?\b[\s,:]*",
        re.I,
    ),
    "es": re.compile(
        r"[\s,.;]*\b(?:y\s+)?(?:(?:es\s+)?(?:a|con|bajo)\s+)?(?:(?:mi|el|su|mis|los|sus)\s+)?"
        r"(?:(?P<middle>segundo\s+nombre)|(?P<first>(?:primer\s+)?nombre(?:\s+de\s+pila|\s+completo|\s+de)?)|"
        r"(?:(?:primer|segundo)\s+)?apellidos?)(?:\s+(?:es|son))?\b[\s,:]*",
        re.I,
    ),
}
"""Text before a part of a name, by language: "my last name is"."""
_FIRST, _MIDDLE, _LAST = range(3)
_ABOUT_NAME = word_set(
    "wrong incorrect not right correct missing misspelled has falsch verkehrt nicht richtig stimmt fehlt "
    "wird schreibt geschrieben hat mit ohne mal está incorrecto correcto equivocado falta escribe tiene con "
    "sin"
)
"""Words after a label that make it a remark, in any language: "the last name is wrong"."""
_WRONG = word_set("wrong incorrect not isn't falsch verkehrt nicht mal no incorrecto equivocado")
"""Words that say that a part of a name is wrong."""
_AROUND_WRONG = word_set("right correct still quite that's richtig stimmt está es correcto")
"""Words that may stand next to these: "is still not quite right"."""
_POSSESSIVE = re.compile(r"\b(\w+)'s\b")
_INITIAL = re.compile(r"(?<![^\W_])(?!(?<=')s\b)[^\W_]|(?<=\bmc)[^\W_](?=\w\w)")


@dataclass(frozen=True)
class Name(Task[str]):
    """A name with capital initials. Callers may say it, spell it, or both."""

    asks_for: ClassVar[Spelling] = "name"

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[str]:
        """Parse words and letters: letters replace the word that they spell."""
        plain = without_linking_words(without_openings(text, now.language), now.language)
        said, remark = signs_said(without_comparisons(plain) if now.language == "en" else plain)
        name = _repaired_name(without_asides(said, now.language), now)
        name = correct_sign(name, remark) or name
        if not name or len(name.split()) > MAX_WORDS:
            return Heard()
        return Heard(_capitalized(name), name)

    def read_back(self, value: str, now: Circumstances, careful: bool) -> str:
        """Return the name and its letters."""
        spelled = "; ".join(spell_out(word, now.words, careful) for word in value.lower().split())
        return f"{value}: {spelled}"

    def correct(self, value: str, text: str, now: Circumstances) -> str | None:
        """Return the name with one letter or one word changed, or another name."""
        plain = _TITLE.sub("", without_openings(text, now.language))
        lower = value.lower()
        remarked = correct_remarked(lower, plain)
        if remarked is not None:
            return _capitalized(remarked)
        plain = with_remarks(plain, now.language)
        if (labelled := _with_labelled(lower, text, now)) is not None:
            return _capitalized(labelled)
        symbols = symbols_of(plain, now.language)
        letters = sum(symbol.kind == "letter" for symbol in symbols)
        words = spelled_words(symbols)
        if not letters and not _is_like(lower, words):
            return None  # a remark rather than another name
        if letters > _FEW_LETTERS or not letters:
            return _capitalized(_with_words(value.lower().split(), words)) if words else None
        changed = correct_text(value.lower(), plain, now)
        return None if changed is None else _capitalized(changed)

    def refused_part(self, text: str, now: Circumstances) -> str:
        """Return the label of the part of a name that is wrong."""
        labels = list(_LABELS[now.language].finditer(text)) if now.language in _LABELS else []
        rest = set(words_of(text[labels[0].end() :])) if len(labels) == 1 else set()
        return labels[0][0].strip() if rest & _WRONG and rest <= _WRONG | _AROUND_WRONG else ""


def _repaired_name(text: str, now: Circumstances) -> str:
    """Return the name in a text, in lower case, after the caller's self-corrections: "Hill, no, Hall"."""
    before, after = split_at_no(text, now.language, _PAUSES)
    name = _spelled_name(after, now)
    return repaired_text(_repaired_name(before, now), name) if before else name


def _spelled_name(text: str, now: Circumstances) -> str:
    """Return the name in a text, in lower case: first names first."""
    rest, labelled = _labelled_parts(text, now)
    ranks = {rank for rank, _ in labelled}
    if {_FIRST, _LAST} <= ranks:
        rest = ""  # "Sure. First name Tom, last name Hill"
    parts = [(_LAST if ranks == {_FIRST} else _FIRST, rest), *labelled]
    names = (_spelled_part(part, now) for _, part in sorted(parts, key=lambda part: part[0]))
    return _POSSESSIVE.sub(_as_surname, " ".join(name for name in names if name))


def _as_surname(found: re.Match[str]) -> str:
    """Return a surname that ends in S, of which recognizers write a possessive: "matthew's"."""
    return f"{found[1]}s" if f"{found[1]}s" in LAST_NAMES else found[0]


def _labelled_parts(text: str, now: Circumstances) -> tuple[str, list[tuple[int, str]]]:
    """Return the text that has no label, and the parts of a name in the order of their labels, which stand
    before them, or behind all of them: "Tom is my first name". None has a title.
    """
    labels = list(_LABELS[now.language].finditer(text)) if now.language in _LABELS else []
    if not labels:
        return _TITLE.sub("", text), []
    ends = [label.end() for label in labels]
    texts = [text[begin : end.start()] for begin, end in zip([0, *ends], labels, strict=False)]
    rest, last = texts[0], text[ends[-1] :]
    if re.search(r"\w", last) or not re.search(r"\w", rest):
        texts = [*texts[1:], last]
    else:
        rest = ""
    ranks = [_FIRST if label["first"] else _MIDDLE if label["middle"] else _LAST for label in labels]
    rest, *texts = (_TITLE.sub("", part) for part in (rest, *texts))
    return rest, list(zip(ranks, texts, strict=True))


def _with_labelled(name: str, text: str, now: Circumstances) -> str | None:
    """Return the name, in lower case, with the parts that a text names by labels; None if it has none."""
    words, changed = name.split(), False
    for rank, part in _labelled_parts(text, now)[1]:
        symbols = symbols_of(with_remarks(part, now.language), now.language)
        new = spelled_words(symbols)
        letters = sum(symbol.kind == "letter" for symbol in symbols)
        if not new or 0 < letters <= _FEW_LETTERS or not _ABOUT_NAME.isdisjoint(new):
            continue
        like = max(SequenceMatcher(None, word, " ".join(new)).ratio() for word in words) >= _SIMILAR_WORD
        begin, end = _place_of_part(rank, len(words), like)
        words[begin:end] = new
        changed = True
    return " ".join(words) if changed else None


def _place_of_part(rank: int, count: int, like: bool) -> tuple[int, int]:
    """Return the indices of the words of a name of so many that a first, middle or last name replaces."""
    if count == 1:
        at = 0 if rank == _FIRST else 1
        return (0, 1) if like else (at, at)
    if rank == _MIDDLE:
        return 1, count - 1
    return (0, 1) if rank == _FIRST else (count - 1, count)


def _spelled_part(text: str, now: Circumstances) -> str:
    """Return the name in a text without labels, in lower case."""
    return " ".join(spelled_words(symbols_of(with_remarks(text, now.language), now.language)))


def _is_like(name: str, words: Sequence[str]) -> bool:
    """Return True if words are like a name, or a single one like a word of it."""
    said = " ".join(words)
    if SequenceMatcher(None, name, said).ratio() >= SIMILAR:
        return True
    likest = max(SequenceMatcher(None, word, said).ratio() for word in name.split())
    return len(words) == 1 and likest >= _SIMILAR_WORD


def _with_words(words: list[str], new: Sequence[str]) -> str:
    """Return the name with the word replaced that is most like a single new one; several are a new name."""
    if len(new) != 1 or len(words) == 1:
        return " ".join(new)
    ratio, at = max((SequenceMatcher(None, word, new[0]).ratio(), at) for at, word in enumerate(words))
    if len(new[0]) == sum(map(len, words)) and SequenceMatcher(None, "".join(words), new[0]).ratio() > ratio:
        letters = iter(new[0])  # all words in one row of letters
        return " ".join("".join(islice(letters, len(word))) for word in words)
    if ratio < SIMILAR:
        return " ".join(new)
    return " ".join([*words[:at], new[0], *words[at + 1 :]])


def _capitalized(name: str) -> str:
    """Return a name with capital initials, after hyphens, apostrophes and "Mc" too: "O'Hara", "McPhee"."""
    return _INITIAL.sub(lambda initial: initial[0].upper(), name)
