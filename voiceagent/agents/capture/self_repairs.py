"""Asides of callers while they say a value ("all one word"), and self-corrections ("Bob, no sorry, Ben")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from typing import TypeVar

from voiceagent.agents.capture.languages import capture_language

T = TypeVar("T")

_MIN_RETRACED = 0.5
"""Minimum similarity of what a caller says again and what it replaces."""
_NO = {
    "en": re.compile(
        r"\b(?:no|nope|sorry|i mean|i meant|wait|or rather)\b(?! (?:later|earlier|more|less)\b)", re.I
    ),
    "de": re.compile(r"\b(?:nein|nee|entschuldigung|ich meine|quatsch)\b", re.I),
    "es": re.compile(r"\b(?:no|perdón|quiero decir|mejor dicho)\b", re.I),
}
"""Words between what a caller said by mistake and the day, time or amount that replaces it."""
_DENIED = re.compile(r"\b(?:not|nicht)\s+[^,.;]+?(?:[,.;]|\b(?:but|sondern)\b|$)", re.I)
"""A value that is not meant: "not Monday, Tuesday", "Tuesday, not Monday"."""
_BEFORE_ASIDE = r"(?:(?:and|it's|its|it is|that's|that is|everything|everything's|written|in)[\s,.]+){0,3}"
"""Pattern of words before an aside: "it's all lower case"."""
_PIECE = re.compile(r"[^ ._+-]+|[ ._+-]")


def without_asides(text: str, language: str) -> str:
    """Return a transcript without remarks on how a value is written."""
    phrases = capture_language(language).asides
    return _phrase(phrases, _BEFORE_ASIDE if language == "en" else "").sub(" ", text)


def split_at_repair(text: str, language: str) -> tuple[str, str]:
    """Return the text before a caller's self-correction and the one after it; "" and the text without one."""
    found = list(_phrase(capture_language(language).repairs).finditer(text))
    if not found:
        return "", text
    before, after = text[: found[0].start()], text[found[-1].end() :]
    if not re.search(r"\w", after):  # an apology at the end
        return "", before
    return (before, after.lstrip(" ,.;")) if re.search(r"\w", before) else ("", text)


def split_at_no(text: str, language: str, between: tuple[str, str]) -> tuple[str, str]:
    """Return the text before a self-correction and the one after it, as `split_at_repair`; a mere "no" is one
    too, the last one of several. between: patterns of what must stand before and behind that "no".
    """
    before, after = split_at_repair(text, language)
    if before:
        return before, after
    refusals = "|".join(phrase[0] for phrase in capture_language(language).no if len(phrase) == 1)
    found = list(re.finditer(rf"{between[0]}(?:{refusals}){between[1]}(?=\w)", after, flags=re.I))
    return (after[: found[-1].start()], after[found[-1].end() :]) if found else ("", after)


def parse_meant(text: str, language: str, parse: Callable[[str], T | None]) -> T | None:
    """Return what `parse` finds in the part of a text that the caller meant: behind "no", else before it; not
    behind "not". None if it finds nothing.
    """
    parts = [part for part in reversed(_NO.get(language, _NO["en"]).split(text)) if part]
    candidates = [*(_DENIED.sub(" ", part) for part in parts), *parts, text]
    return next((found for part in candidates if (found := parse(part)) is not None), None)


def repaired_text(before: str, after: str) -> str:
    """Return a text whose end a caller said again: "bob" and "ben.carter", "john.smit" and "smith".

    before, after: as they are written, with signs or spaces between their pieces.
    """
    pieces = _PIECE.findall(before)
    starts = [at for at, piece in enumerate(pieces) if piece[0] not in " ._+-"]
    if not starts:
        return after

    def likeness(at: int) -> tuple[float, int]:
        replaced = "".join(pieces[at:])
        return SequenceMatcher(None, replaced, after[: len(replaced)]).ratio(), at

    ratio, at = max(map(likeness, starts))
    return "".join(pieces[: at if ratio >= _MIN_RETRACED else starts[-1]]) + after


def repaired_digits(before: str, after: str, group: int) -> str:
    """Return digits whose end a caller said again, from a digit that is right: "513" and "51408". Otherwise
    the first group of the new ones takes the place of as many. group: its length.
    """
    for at in range(len(before)):
        replaced = before[at:]
        equal = sum(one == other for one, other in zip(replaced, after, strict=False))
        if before[at] == after[:1] and equal >= _MIN_RETRACED * len(replaced):
            return before[:at] + after
    return before[: max(0, len(before) - group)] + after


def _phrase(phrases: Iterable[tuple[str, ...]], before: str = "") -> re.Pattern[str]:
    """Return the pattern of any of these phrases, the longest first, with the punctuation around it. before:
    a pattern of what may stand before a phrase.
    """
    texts = sorted((r"[\s,.]+".join(map(re.escape, phrase)) for phrase in phrases), key=len, reverse=True)
    return re.compile(rf"(?:^|[\s,.;]+){before}(?:{'|'.join(texts)})(?=[\s,.;!?]|$)", re.I)
