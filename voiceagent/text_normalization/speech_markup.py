"""Speech markup: SSML, stage directions, ellipses."""

from __future__ import annotations

import re
from functools import cache

from voiceagent.text_normalization.codes import spell
from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before

_ENGLISH_ENDINGS = r"(?:s|es|ing|ly|ter|ed|ling)?"
_MAX_DIRECTION = 60
_SENTENCE_START = re.compile(r"(?:^|[.!?…:\n>\"”)*])\s*$")


@cache
def _first_words(language: Language) -> re.Pattern[str]:
    words = map(_english_forms, language.directions) if language.code == "en" else language.directions
    return re.compile(rf"(?:{'|'.join(words) or '(?!)'})\b", re.IGNORECASE)


def _english_forms(word: str) -> str:
    """Return a pattern of a word's forms: "nod" and "nodding", "smile" and "smiling"."""
    return rf"{word}{_ENGLISH_ENDINGS}|{word.removesuffix('e')}(?:ing|ed|ily)|{word}{word[-1]}(?:ing|ed)"


def _read_starred(match: re.Match[str], language: Language) -> str | None:
    """Drop "*laughs softly*", but keep emphasis: "*really* good"."""
    words, after = match["words"], text_after(match, 3)
    if _is_direction(words, language):
        return " "
    starts = len(match["mark"]) == 1 and _SENTENCE_START.search(text_before(match, 12))
    alone = words[0].islower() and bool(re.match(r"\s*(?:[A-ZÀ-Þ¿¡]|$)", after)) and " " in words
    return " " if starts and alone and words[-1] not in ".,!?" else None


def _is_direction(words: str, language: Language) -> bool:
    """Return True if words between marks are a stage direction: a manner of speaking, or a sound."""
    first = _first_words(language).match(words)
    if first is None or len(words.split()) > 6:
        return False
    if language.code != "en" or len(words.split()) == 1:
        return first[0].lower() != "se" or any(word in words for word in ("ríe", "sonríe", "aclara", "rie"))
    return re.match(r"(?:\w+[ ])?\w+(?:s|ing|ly)\b|pause\b|sound\b", words) is not None


def _read_bracketed(match: re.Match[str], language: Language) -> str | None:
    words = match["words"]
    if not (_is_direction(words, language) or _is_audio_tag(match)):
        return None
    stands_alone = _SENTENCE_START.search(text_before(match, 12)) or re.match(
        r"\s*(?:[A-ZÀ-Þ¿¡.,!?]|$)", text_after(match, 3)
    )
    return " " if stands_alone or match[0][0] == "[" else None


def _is_audio_tag(match: re.Match[str]) -> bool:
    """Return True for a manner of speaking in square brackets before a sentence: "[mischievously] Hi"."""
    starts = _SENTENCE_START.search(text_before(match, 12))
    followed = re.match(r"\s*[A-ZÀ-Þ¿¡]", text_after(match, 3))
    words = re.fullmatch(r"[a-z]+(?:[ ][a-z]+){0,2}", match["words"])
    return match[0][0] == "[" and bool(starts and followed and words)


def _read_spelled(match: re.Match[str], language: Language) -> str | None:
    return spell(match["text"], language)


RULES: tuple[Rule, ...] = (
    rule(
        r"<say-as\b[^<>]{0,80}interpret-as\s?=\s?[\"'](?:characters|spell-out|verbatim|digits|telephone)[\"'][^<>]{0,80}>"
        r"(?P<text>[^<>]{1,80})</say-as>",
        _read_spelled, flags=re.IGNORECASE,
    ),
    rule(r"<sub\b[^<>]{0,40}alias\s?=\s?[\"'](?P<alias>[^<>\"']{1,80})[\"'][^<>]{0,40}>[^<>]{0,80}</sub>",
         lambda match, _: match["alias"].strip() or " ", flags=re.IGNORECASE),
    rule(r"<!--(?:(?!-->)[^\n]){0,200}-->|<\|[\w-]{1,40}\|>", lambda match, _: " "),
    rule(r"<spell>(?P<text>[^<>]{1,80})</spell>", _read_spelled),
    rule(r"</?[A-Za-z][\w:-]{0,30}(?:\s+[\w:-]{1,30}\s?=\s?(?:\"[^\"<>]{0,200}\"|'[^'<>]{0,200}'))*\s*/?>",
         lambda match, _: " "),
    rule(
        rf"(?P<mark>\*{{1,3}}|_)(?P<words>[^\W_](?:[^*_\n]{{0,{_MAX_DIRECTION}}}[\w.!?])?)(?P=mark)(?!\w)",
        _read_starred,
    ),
    rule(
        rf"[(\[]{{1,2}}(?P<words>[^\W_][^()\[\]\n]{{0,{_MAX_DIRECTION}}})[)\]]{{1,2}}(?!\()",
        _read_bracketed,
    ),
)  # fmt: skip
ELLIPSIS = re.compile(r"(?:\.[ ]?){2,}\.|\.{2,}|…+")
"""Ellipsis, which some voices do not read as a pause."""


def pause_of_ellipsis(text: str, end: int) -> str:
    """Return the mark to speak in place of an ellipsis that ends at `end`."""
    following = re.match(r"[\s\"'”’»)\]*_]*(.?)", text[end : end + 12])
    character = following[1] if following else ""
    if character in ".,!?;:" and character:
        return ""
    return "," if character.islower() or character.isdigit() else "."
