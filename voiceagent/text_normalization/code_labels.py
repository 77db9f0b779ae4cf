"""Labels that show that figures are a code or a number to dial: words before and after the figures.

The search goes from the figures backwards. It skips words that may stand between a label and its number
("is", "your", "ending in"), and ends at a label or at a word that is neither.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from voiceagent.text_normalization.languages import Labels, Language, word_set

Label = Literal["code", "reference", "place", "distant", "use"]
"""Kinds of labels. Figures are read one by one if there are enough of them: after a "code" from two figures,
after a "reference" from three, after a label at a distance ("distant") from four, after "use" from five,
after a "place" (a room, a flight) from `place_digits`, where English reads zero as "oh".
"""

_VERBS_OF_BEING = word_set("is are was be reads ist sind lautet es son era será est è é : =")
"""Words before a code if its label has an attribute: "the code for the front door is 4821"."""
_VERBS_OF_USE = word_set(
    "use say nutzen verwenden benutzen nennen sagen use usa utilice utiliza diga indique utilisez "
    "usi utilizzi gebruik"
)
"""Verbs before a code, and before shorter numbers of other things."""
_MAX_UNKNOWN_WORDS = 5
"""Maximum length of a label's attribute, in words."""
_MAX_WORDS = 12
"""Maximum number of words searched backwards: "the code that we have just sent to your phone: 482913"."""
_TOKEN = re.compile(r"(?:n\.º|[^\W\d_]+(?:['’-][^\W\d_]+)*)|[.!?…]+(?=\s)|:|=|\d+|[º°#%€$£]")
_MASK = re.compile(r"(?:[•xX]|\*(?=[*\s-])){3,}[\s*-]*$|[•xX]{2,}[\s-]*$|(?:^|\s)(?:\.{2,}|…)\s?$")
"""Marks for hidden figures: "•••• 4242", "xxxx-4242"."""
_SIGN = re.compile(r"(?:\#|№|\bNo\.|\bNr\.|n\.º|nº)[\s*_]*$")
_COPULAS = re.compile(
    r"\W{0,4}\s*(?:is|was|will be|as|ist|lautet|als|es|será|como|est|è|é)\s+(?P<rest>[^.,;!?\n]{1,60})",
    re.IGNORECASE,
)


_EARLIER = re.compile(
    r"(?<![\d.,])(?:\#?[A-Z]{0,3}\d+[A-Z]?"
    r"(?:,[ ]|,?[ ](?:and|or|to|through|und|oder|bis|y|o|a|et|ou|à|e|of|en|tot)[ ]))+$"
)
"""Codes of a list before the last one: "Rooms 204, 206 and "."""
_MANY = re.compile(r"[ ][a-z]{3,}s\b")
_WORDS_TOO = ("ha", "mi")
"""Units that are Spanish words: "el pedido 4512 ha llegado"."""


def label_of(before: str, after: str, language: Language) -> Label | None:
    """Return the kind of label of the figures between two pieces of text, None without a label."""
    labels = language.labels
    if labels is None:
        return None
    if _MASK.search(before[-24:]):
        return "code"
    if labels.counted.match(after) or _unit_after(language).match(after):
        return None
    if not _MANY.match(after) and (earlier := _EARLIER.search(before, max(0, len(before) - 40))):
        before = before[: earlier.start()]
    return _walk_back(before, labels) or _label_after(after, labels)


@cache
def _unit_after(language: Language) -> re.Pattern[str]:
    """Return the pattern of a unit after figures that are measured: "the room is 850 sq. ft."; letters alone
    may belong to a code.
    """
    units = (re.escape(unit) for unit in sorted(language.units, key=len, reverse=True))
    several = "|".join(u for u in units if re.search(r"[^\W\d_].?[^\W\d_]", u) and u not in _WORDS_TOO)
    return re.compile(rf"[ ](?:{several or '(?!)'})(?!\w)")


def _kind(labels: Labels, word: str) -> Label | None:
    word = re.sub(r"['’]s$", "", word)
    compound = any(word.endswith(ending) and word != ending for ending in labels.endings)
    if compound or word in labels.codes:
        return "code"
    if word in labels.references:
        return "reference"
    return "place" if word in labels.places else None


def _walk_back(before: str, labels: Labels) -> Label | None:
    refers_back = before.rstrip(" *_`\"“„«'")[-1:] == "\n"
    loose = says = False
    unknown = 0
    written = _TOKEN.findall(before)[-_MAX_WORDS:]
    tokens = [token.lower() for token in written]
    for steps, token in enumerate(reversed(tokens)):
        if token[0] in ".!?…":
            if not refers_back and not _is_abbreviation(tokens[: -steps - 1], labels):
                return None
            continue
        if len(token) > 1 and written[-1 - steps].isupper() and steps and not _kind(labels, token):
            continue  # "Text HOME to 741741"
        kind = _kind(labels, token)
        if kind and not loose and not unknown:
            named = tokens[-steps - 2] if kind == "reference" and steps + 2 <= len(tokens) else ""
            return "place" if named in labels.places else kind  # "room number"
        if kind == "code":
            return "distant"
        if token in _VERBS_OF_USE and steps < 3:
            return "use"
        if token in labels.verbs and steps < 4:
            return "reference"
        refers_back = refers_back or token in labels.back
        loose = loose or token in labels.loose
        says = says or token in _VERBS_OF_BEING
        if token not in labels.between and token not in labels.loose and token not in "#º°:=":
            unknown += 1
        if unknown > (_MAX_UNKNOWN_WORDS if says else 0):
            return None
    return None


def _is_abbreviation(tokens: list[str], labels: Labels) -> bool:
    """Return True if a full stop belongs to the label before it: "tel.", "ext."."""
    return (
        bool(tokens)
        and (len(tokens[-1]) < 5 or tokens[-1].endswith("nr"))
        and _kind(labels, tokens[-1]) is not None
    )


def _label_after(after: str, labels: Labels) -> Label | None:
    """Return the label after the figures, as in "482913 is your login code"."""
    found = _COPULAS.match(after)
    if not found:
        return None
    words = re.findall(r"[^\W\d_]+", found["rest"].lower())[:5]
    if not words or words[0] not in labels.between:
        return None
    return "code" if any(_kind(labels, word) == "code" for word in words) else None


def has_number_sign(before: str) -> bool:
    """Return True if the text ends in a sign for "number", as in "#4821"."""
    return _SIGN.search(before[-8:]) is not None
