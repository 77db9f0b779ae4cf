"""Ordinal numbers, in the form that the surrounding words require: "am dritten Mai", "segunda planta"."""

from __future__ import annotations

import re

from voiceagent.text_normalization.agreement import noun_gender
from voiceagent.text_normalization.languages import Language, find_language, word_set
from voiceagent.text_normalization.numbers import in_words
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before

_GERMAN_EN = word_set(
    "am vom zum beim im dem den des zur ab seit bis einem einen einer meinem meinen meiner ihrem "
    "ihren ihrer unserem unseren unserer deinem deinen jedem jeden dieser diesem diesen keinem keinen"
)
"""German words before an ordinal that ends in -en; "der" is among them after a preposition."""
_GERMAN_E = word_set("der die das diese dieses eine meine deine ihre unsere keine jede jedes jeder welche")
_GERMAN_ER = word_set("ein mein dein ihr unser kein")
_ADVERBS = word_set("spätestens frühestens einschließlich voraussichtlich etwa circa")
_PREPOSITIONS = word_set(
    "in auf an zu bei mit von aus nach seit ab vor hinter neben über unter während wegen"
)
_COUNTED_IN_ORDER = (
    "Etage|Stock|Stockwerk|OG|UG|Obergeschoss|Untergeschoss|Klasse|Mal|Mahnung|Rate|Reihe|Gang|Platz|Tag|Woche|"
    "Jh|Jhd|Quartal|Halbjahr|Geburtstag|Stunde|Person|Advent|Weihnachtstag|Weihnachtsfeiertag|Feiertag|Jahrhundert|Liga|"
    "Sinfonie|Symphonie|Auflage|Staffel|Folge|Spieltag|Spielminute|Weltkrieg|Semester|Lektion|Schritt|Bezirk|Halbzeit|"
    "Termin|Versuch|Runde|Kind|Nacht|Monat|Jahr|Hand|Straße|Kapitel|Teil|Stufe|Spur|Wahl"
)
"""German nouns after a number with a full stop that make it an ordinal, even without an article."""
_GERMAN = find_language("de")
_GERMAN_MONTH = "|".join([*_GERMAN.months, *(rf"{short}\." for short in _GERMAN.short_months)])
SENTENCE_OPENERS = word_set(
    "ich wir sie er es das der die den dem ein eine bis bitte danke möchten haben kann können soll "
    "sollen ist sind passt wie was wann wo wer um dann da dort gerne gern vielen auf in am im und "
    "oder aber ja nein natürlich alles für mit nach von vor zu zum zur darf dürfen hat wenn falls so "
    "ihr ihre mein meine unser unsere"
)
"""German words that start a new sentence after "am 3."; a noun would continue it."""
_EARLIER = re.compile(r"\d{1,2}\.\s?(?:bis|und|oder|,|-|–|/)?\s?(?:zum\s)?$")
_SPANISH_LETTERS = {
    "º": "o",
    "ª": "a",
    "er": "o",
    "o": "o",
    "a": "a",
    "ra": "a",
    "ro": "o",
    "do": "o",
    "da": "a",
}


def german_ordinal(number: int, before: str, noun: str, language: Language) -> str | None:
    """Return a German ordinal in the form that the text before it and the noun after it require."""
    stem = in_words(number, language, "ordinal")
    return f"{stem.removesuffix('e')}{_german_ending(before, noun, language)}" if stem else None


def _german_ending(before: str, noun: str, language: Language) -> str:
    while earlier := _EARLIER.search(before):
        before = before[: earlier.start()]
        if not before.strip():
            break
    words = [word for word in re.findall(r"\w+", before.lower()) if word not in _ADVERBS][-2:]
    last = words[-1] if words and not re.search(r"[,.;:!?]\s*$", before) else ""
    if last in _GERMAN_EN or (last == "der" and words[0] in _PREPOSITIONS):
        return "en"
    if last in _GERMAN_E:
        return "e"
    gender = noun_gender(noun, language)
    return {"f": "e", "n": "es", "m": "er"}["m" if noun in _GERMAN.months or not noun else gender]


def continues_after_ordinal(sentence: str, following: str) -> bool:
    """Return True if a German sentence that ends in a number and a full stop continues with `following`."""
    if following[:1].islower() or following[:1].isdigit():
        return True
    if (
        re.fullmatch(rf"(?:{_GERMAN_MONTH}|{_COUNTED_IN_ORDER})\.?", following)
        or following.rstrip(".") in _GERMAN.months
    ):
        return True
    words = re.findall(r"\w+", sentence.lower())[-3:-1]
    led = bool(words) and words[-1] in (_GERMAN_EN | _GERMAN_E | _GERMAN_ER) - {"die", "das"}
    return led and following.lower() not in SENTENCE_OPENERS


def _read_german(match: re.Match[str], language: Language) -> str | None:
    after = text_after(match, 30)
    following = re.match(
        r"\s?(?:(?P<until>bis|und|oder|[-–/,])\s?(?:zum\s)?\d{1,2}\.|(?P<word>[^\W\d_]+))", after
    )
    before, number = text_before(match, 40), int(match["number"])
    if following and following["until"]:
        later = re.search(r"\d{1,2}\.\s?(?P<word>[^\W\d_]+)", after)
        return german_ordinal(number, before, later["word"] if later else "", language)
    word = following["word"] if following else ""
    if word and continues_after_ordinal(before + match[0], word):
        if word[0].islower() and not re.search(r"[^\W\d_]\s+$", before):
            return None  # a list number
        noun = next(iter(re.findall(r"\b[A-ZÄÖÜ]\w*", after)), "")
        return german_ordinal(number, before, noun, language)
    ends = re.search(r"\b(?:am|vom|zum|den|dem)\s$", before)
    ordinal = german_ordinal(number, before, "", language) if ends else None
    return f"{ordinal}." if ordinal else None


def _read_english(match: re.Match[str], language: Language) -> str | None:
    return in_words(int(re.sub(r"\D", "", match["amount"])), language, "ordinal")


def _read_romance(match: re.Match[str], language: Language) -> str | None:
    words = in_words(int(match["amount"]), language, "ordinal")
    if words is None:
        return None
    feminine = _SPANISH_LETTERS.get(match["mark"], "o") == "a"
    if feminine:
        return re.sub(r"o\b", "a", words)
    shortened = language.code == "es" and re.match(
        r"\s(?!(?:de|y|o|izq|dcha)\b)[a-zñáéíóú]", text_after(match, 6)
    )
    return re.sub(r"(primer|tercer)o$", r"\1", words) if shortened else words


def _read_french(match: re.Match[str], language: Language) -> str | None:
    mark = match["mark"].removesuffix("s")
    if mark in ("re", "ère"):
        return "première"
    if mark in ("nd", "nde"):
        return f"second{mark.removeprefix('nd')}"
    return in_words(int(match["amount"]), language, "ordinal")


def _read_ordinal(match: re.Match[str], language: Language) -> str | None:
    return in_words(int(match["amount"]), language, "ordinal")


_ITALIAN_ORDERED = "|".join([*find_language("it").months, "piano", "posto", "giorno", "turno", "classe"])
RULES: tuple[Rule, ...] = (
    rule(r"(?P<amount>\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)\b", _read_english, "en"),
    rule(r"(?P<amount>\d{1,3})(?P<mark>ers?|res?|es?|èmes?|ères?|nde?s?)\b", _read_french, "fr"),
    rule(r"(?P<amount>\d{1,3})(?:e|de|ste)\b", _read_ordinal, "nl"),
    rule(r"(?P<amount>\d{1,3})\.?(?P<mark>[ºª]|er\b|o\b|a\b|ra\b|ro\b|do\b|da\b)", _read_romance, "es", "pt"),
    rule(r"(?P<amount>\d{1,3})\.?(?P<mark>[ºª])", _read_romance, "it"),
    rule(rf"(?P<amount>\d{{1,2}})°(?=[ ](?:{_ITALIAN_ORDERED})\b)", _read_ordinal, "it"),
    rule(r"(?P<number>\d{1,2})\.(?!\d)", _read_german, "de"),
)  # fmt: skip
