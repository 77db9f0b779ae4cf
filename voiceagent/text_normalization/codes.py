"""Codes, references, card and account numbers: figures one by one, letters spelled."""

from __future__ import annotations

import re

from voiceagent.text_normalization.code_labels import has_number_sign, label_of
from voiceagent.text_normalization.languages import Language, word_set
from voiceagent.text_normalization.numbers import digit_words, in_words, number_words
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before

MAX_NUMBER = 9
"""Maximum number of figures of a quantity."""
_RUN = re.compile(r"\d+|[^\W\d_]+|[^\w]+|_+")
_LETTERS_AND_FIGURES = re.compile(
    r"[A-Z]{1,4}\d{3,}|(?=[A-Z\d]{5,}$)(?:[A-Z]+\d+[A-Z]+\d*|\d+[A-Z]+\d+[A-Z]*)+"
)
_SEAT = re.compile(r"(\d{1,3})([A-Z])")
"""A seat, a gate or a room, which after its label is no amount: "seat 31L" has no liters."""
_SEATS_BEFORE = re.compile(
    r"\b(?:seats?|gates?|platforms?|sitz(?:e|platz|plätze)?|gleis|asientos?|sièges?|posto|posti|stoel|assento)"
    r"(?:\W?[ ](?:is|are|ist|sind|es|son|est|sont))?[ ](?:\d{1,3}[A-Z],?[ ](?:(?:and|und|y|et)[ ])?)*$",
    re.IGNORECASE,
)
"""Labels of seats and the like, also of several, and seats named before."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_VOWELS = frozenset("aeiouyäöüáéíóúàèìòùâêîôû")
_CONSONANTS = re.compile(r"[^aeiouyäöüáéíóúàèìòùâêîôû]{4,}|q(?!u)")


def spell(text: str, language: Language, zero: str = "") -> str | None:
    """Return a code figure by figure and letter by letter; signs between groups become pauses.

    Letters that form a word are not spelled: "SAVE15" is "SAVE fifteen". zero: the word for 0.
    """
    parts: list[str] = []
    word = False
    for run in _RUN.findall(text):
        if run.isdecimal():
            words = number_words(run, language) if word and len(run) < 3 else digit_words(run, language)
            if words is None:
                return None
            parts.append(_with_zero(words, language, zero))
        elif run[0].isalpha():
            parts.append(run if (word := is_word(run)) else " ".join(run.upper()))
        elif "." in run or "/" in run or "_" in run:
            parts.append(language.signs.get(run.strip(), ""))
        elif parts:
            parts[-1] += ","
    return " ".join(part for part in parts if part)


def _with_zero(words: str, language: Language, zero: str) -> str:
    nought = in_words(0, language) or ""
    return re.sub(rf"\b{nought}\b", zero, words) if zero else words


def is_word(letters: str) -> bool:
    """Return True if letters can be spoken as a word: "SAVE", but not "QXZT"."""
    lower = letters.lower()
    return len(lower) > 3 and bool(_VOWELS & set(lower)) and not _CONSONANTS.search(lower)


def _read_code(match: re.Match[str], language: Language) -> str | None:
    """Read letters and figures that their label or their form marks as a code."""
    code = match[0]
    digits = sum(character.isdecimal() for character in code)
    letters = sum(character.isalpha() for character in code)
    before, labels = text_before(match), language.labels
    if letters and _LETTERS_AND_FIGURES.fullmatch(code):
        return spell(code, language)
    place = _SEAT.fullmatch(code)
    if digits < 2 and letters < 4 and not place:
        return None
    if not letters and digits > MAX_NUMBER:
        return spell(code, language)
    kind = label_of(before, text_after(match, 70), language)
    if place:
        is_seat = kind == "place" or _SEATS_BEFORE.search(before)
        return f"{number_words(place[1], language)} {place[2]}" if is_seat else None
    if kind == "distant" and _YEAR.fullmatch(code):
        return None
    if kind == "place":
        if letters or (labels and digits < labels.place_digits):
            return None
        return _spell_place(code, language)
    at_least = {"code": 2, "reference": 3, "distant": 4, "use": 5}.get(
        kind or "", 4 if has_number_sign(before) else MAX_NUMBER + 1
    )
    return spell(code, language) if digits >= at_least else None


def _spell_place(code: str, language: Language) -> str | None:
    """Return the words for a room or a flight, or for the first and the last of several: "204-206"."""
    zero = "oh" if language.code == "en" else ""
    parts = [
        number_words(part, language) if re.fullmatch(r"[1-9]0?00", part) else spell(part, language, zero)
        for part in re.split(r"[ -]", code)
    ]
    return f" {language.signs['–']} ".join(filter(None, parts))


def _read_letters(match: re.Match[str], language: Language) -> str | None:
    """Spell capital letters after a label that form no word: "your reference is QXZTPL"."""
    if is_word(match[0]) or label_of(text_before(match), "", language) not in ("code", "reference"):
        return None
    return " ".join(match[0])


def _read_letters_and_figures(match: re.Match[str], language: Language) -> str | None:
    """Read "LH 1234" after a label, as flights are written."""
    if label_of(text_before(match), text_after(match, 20), language) is None:
        return None
    return spell(match[0].replace(" ", ""), language)


def _read_section(match: re.Match[str], language: Language) -> str | None:
    """Read the number of a law or a form before its letters: "401(k)", "501(c)(3)"."""
    return _spell_place(match[0], language)


def _read_form(match: re.Match[str], language: Language) -> str | None:
    """Read the number of a tax form in two halves: "Form 1099-MISC"."""
    if not re.search(r"\b[Ff]orms?[ ]$", text_before(match, 8)) and not re.match("1099-", match[0]):
        return None
    halves = (number_words(half, language) for half in (match[1][:2], match[1][2:]))
    return f"{' '.join(filter(None, halves))}{match[2].replace('-', ' ')}"


def _read_status(match: re.Match[str], language: Language) -> str | None:
    """Read the number of an error: "error 404", "HTTP 503"."""
    named = re.search(r"\b(?:error|http|status)(?: code)?:?[ ]$", text_before(match, 16), re.IGNORECASE)
    return _spell_place(match[0], language) if named else None


def _read_british_postcode(match: re.Match[str], language: Language) -> str:
    """Read "NW1 6XE"."""
    return ", ".join(filter(None, (spell(part, language) for part in match.groups())))


_TOWNS = word_set(
    "Berlin Hamburg München Köln Frankfurt Stuttgart Düsseldorf Leipzig Dortmund Essen Bremen Dresden "
    "Nürnberg Duisburg Bochum Wuppertal Bielefeld Bonn Münster Mannheim Karlsruhe Augsburg Wiesbaden Aachen "
    "Gelsenkirchen Mönchengladbach Braunschweig Kiel Chemnitz Magdeburg Freiburg Krefeld Mainz Lübeck Erfurt "
    "Oberhausen Rostock Kassel Hagen Potsdam Saarbrücken Ludwigshafen Oldenburg Osnabrück Leverkusen "
    "Heidelberg Darmstadt Solingen Regensburg Paderborn Ingolstadt Offenbach Fürth Ulm Würzburg Heilbronn "
    "Pforzheim Wolfsburg Göttingen Koblenz Bremerhaven Erlangen Trier Jena Siegen Konstanz Cottbus Hannover"
)
_SHORT_TOWNS = word_set("Wien Graz Linz Salzburg Innsbruck Klagenfurt Zürich Genf Basel Bern Luzern Lausanne")
"""Towns of Austria and Switzerland, whose postcodes have four figures."""


def _read_german_postcode(match: re.Match[str], language: Language) -> str | None:
    """Read the postcode before a large town; before other words a number may be an amount."""
    code, town = match.groups()
    known = _TOWNS if len(code) == 5 else _SHORT_TOWNS
    return spell(code, language) if town in known and not _YEAR.fullmatch(code) else None


_MASK = rule(r"(?:[xX]{3,4}[ -]?){1,5}(?=\d{3,4}\b)", lambda match, _: "")
"""Marks for hidden figures: "XXXX-XXXX-4242"."""
_GROUP = r"[A-Z]{0,4}\d++(?:[A-Z]{1,4}\d*+)?+|[A-Z]{1,4}+"
RULES: tuple[Rule, ...] = (
    _MASK,
    rule(r"(\d{4,5})(?=[ ]([A-ZÄÖÜ][a-zäöüß]+))", _read_german_postcode, "de"),
    rule(
        r"[A-ZÄÖÜ]{1,3}-[A-Z]{1,2}[ ]\d{1,4}[EH]?(?!\w)",
        lambda match, language: spell(match[0].replace("-", " - ").replace(" ", ","), language),
        "de",
    ),
    rule(r"([A-Z]{1,2}\d[A-Z\d]?)[ ](\d[A-Z]{2})(?!\w)", _read_british_postcode, "en"),
    rule(
        r"[A-Z]{2}\d{2}(?:[ ]?[\dA-Z]{4}){3,7}(?:[ ]?[\dA-Z]{1,3})?(?!\w)",
        lambda match, language: spell(match[0], language),
    ),
    rule(
        r"\d{4}(?:[ -]\d{4}){2,3}(?:[ -]\d{1,3})?(?![\w-])", lambda match, language: spell(match[0], language)
    ),
    rule(r"\d{3}(?=\([a-z]{1,3}\))", _read_section, "en"),
    rule(r"(\d{4})(-[A-Z]{1,5}\b|)(?![\w-]|[.,]\d)", _read_form, "en"),
    rule(
        r"[1-5]\d\d(?![^\W_]|[.,:/%-]\w|[%]|[ ](?:ms|s|m|kg|users|times|percent|people)\b)",
        _read_status,
        "en",
    ),
    rule(r"\d{3,}+(?:[ -]\d{2,}+){0,8}+(?![^\W_]|%|[.,:/]\d|[ -]\d|-\w)", _read_code),
    rule(r"\d{2}(?:[ -]\d{2,}+){1,8}+(?![^\W_]|%|[.,:/]\d|[ -]\d)", _read_code),
    rule(r"\d{2}(?![^\W_]|%|[.,:/-]\d|[ ]?[%€$£°])", _read_code),
    rule(
        rf"(?=[A-Z-]{{0,12}}\d|\d{{1,12}}[A-Z-])(?:{_GROUP})(?:-(?:{_GROUP})){{0,8}}+(?![^\W_]|%|[.,:/-]\w)",
        _read_code,
    ),
    rule(r"(?=[^\W_]{0,24}\d)[^\W_]{1,40}+(?:-[^\W_]{1,20}+){0,6}+(?![^\W_]|%|[.,:/@-]\w)", _read_code),
)
"""Rules for codes that begin with a figure, or with letters before figures."""
LETTER_RULES: tuple[Rule, ...] = (
    _MASK,
    rule(r"[A-Z]{2,3}[ ]\d{2,8}(?![^\W_]|[.,:/]\d)", _read_letters_and_figures),
    rule(r"[A-Z]{4,8}(?![\w'’-])", _read_letters),
)
