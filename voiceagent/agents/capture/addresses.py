"""Capture of postal addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from voiceagent.agents.capture.corrections import replace_similar
from voiceagent.agents.capture.symbols import Symbol, symbols_of, without_openings
from voiceagent.agents.capture.task import Circumstances, Heard, Task
from voiceagent.conversation.words import words_of

_STREET_TYPES = frozenset(
    (
        *("street", "st", "road", "rd", "avenue", "ave", "lane", "ln", "drive", "dr", "boulevard", "blvd"),
        *(
            "court",
            "ct",
            "place",
            "pl",
            "square",
            "way",
            "terrace",
            "close",
            "crescent",
            "highway",
            "parkway",
        ),
        *("row", "hill", "walk", "gardens", "grove", "circle", "trail", "alley", "mews"),
    )
)
_LETTERED = r"[a-z]{1,2}\d[a-z\d]?\s?\d[a-z]{2}|[a-z]\d[a-z]\s?\d[a-z]\d|\d{4}\s[a-z]{2}"
_POSTCODE = re.compile(rf"\b(\d{{5}}(?:-\d{{4}})?|{_LETTERED})\b", re.IGNORECASE)
"""Postcodes of the United States, Germany and Spain (five digits), the United Kingdom, Canada and the
Netherlands.
"""
_WITH_LETTERS = re.compile(rf"\b(?:{_LETTERED})\b", re.IGNORECASE)
_SPELLED_POSTCODE = re.compile(
    r"(?P<uk>[a-z]{1,2}\d[a-z\d]?)(?P<inward>\d[a-z]{2})|(?P<ca>[a-z]\d[a-z])(?P<unit>\d[a-z]\d)|(?P<nl>\d{4})(?P<end>[a-z]{2})",
    re.IGNORECASE,
)
"""The same in one piece, with the group before the space and the one after it."""
_UNIT = re.compile(r"(?:flat|apartment|apt|unit|suite|room|floor)\b|.*\bfloor$", re.IGNORECASE)
"""A part of an address within its house."""
_MIN_NAME = 4
"""Minimum letters of a name that was spelled; fewer are an abbreviation."""
_DIRECTIONS = ("north", "south", "east", "west")
_NO_OPENING = re.compile(r"\s*(?:am|im|an der|auf der)\b", re.IGNORECASE)
"""German words with which streets begin, and answers with a day, too."""
_MISSING = {
    "en": "And the town and the postcode?",
    "de": "Und der Ort und die Postleitzahl?",
    "es": "¿Y la ciudad y el código postal?",
}


@dataclass(frozen=True, slots=True)
class Address:
    """A postal address, as it was said, with capital initials.

    Attributes:
        street: Street with house number.
        town: Town.
        region: State or province; "" if none was said.
        postcode: Postcode.
    """

    street: str
    town: str
    region: str
    postcode: str

    def __str__(self) -> str:
        parts = (self.street, self.town, " ".join(filter(None, (self.region, self.postcode))))
        return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class PostalAddress(Task[Address]):
    """A postal address: street with house number, town and postcode."""

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[Address]:
        """Parse an address, or the part of it that is missing."""
        whole = ", ".join(filter(None, (draft, written_address(text, now.language))))
        found = _parted(whole)
        if found.street and found.town and found.postcode:
            return Heard(found, whole)
        if not re.search(r"\d", whole):
            return Heard(draft=draft)
        return Heard(draft=whole, prompt=_MISSING.get(now.language, _MISSING["en"]))

    def read_back(self, value: Address, now: Circumstances, careful: bool) -> str:
        """Return the address, the postcode digit by digit."""
        spoken = " ".join(value.postcode.replace(" ", "")).upper()
        return ", ".join(filter(None, (value.street, value.town, value.region, spoken)))

    def correct(self, value: Address, text: str, now: Circumstances) -> Address | None:
        """Return the address with another house number or postcode, or the part most like the one said."""
        said = written_address(text, now.language)
        again = _parted(said)
        if again.street and again.town and again.postcode:
            return again
        if again.postcode:
            return Address(value.street, value.town, value.region, again.postcode)
        number = re.fullmatch(r"\d+", said.strip(" ,"))
        if number and re.match(r"\d+", value.street):
            return Address(re.sub(r"^\d+", number[0], value.street), value.town, value.region, value.postcode)
        if again.street:
            return Address(again.street, value.town, value.region, value.postcode)
        changed = replace_similar(value.town.lower(), said.lower()) if said else None
        return (
            None if changed is None else Address(value.street, changed.title(), value.region, value.postcode)
        )


def written_address(text: str, language: str) -> str:
    """Return an address as it is written: figures for number words, letters joined, words with capitals.

    Commas stay, as they separate its parts.
    """
    plain = text if language == "de" and _NO_OPENING.match(text) else without_openings(text, language)
    written = list(_WITH_LETTERS.finditer(plain))
    if written and written[-1].start():  # a postcode that the recognizer wrote as one
        before, after = plain[: written[-1].start()], plain[written[-1].end() :]
        around = written_address(before, language), written_address(after, language)
        return ", ".join(filter(None, (around[0], written[-1][0].upper(), around[1])))
    parts = [part for part in re.split(r"[,;.]\s*", plain) if words_of(part)]
    return ", ".join(filter(None, (_written_part(symbols_of(part, language)) for part in parts)))


def _written_part(symbols: list[Symbol]) -> str:
    postcode, symbols = _spelled_postcode(symbols)
    words: list[str] = []
    kind, hundreds = "", False
    for symbol in symbols:
        joins = symbol.kind == kind and kind in ("letter", "digits")
        house = kind == "digits" and symbol.kind == "letter" and symbol.text in "abcd"  # "221 B"
        text = symbol.text if symbol.kind in ("digits", "letter") else symbol.text.capitalize()
        if hundreds and symbol.kind == "digits" and len(symbol.text) < 3:  # "one hundred twenty three"
            words[-1] = words[-1][: -len(symbol.text)] + symbol.text
        elif joins or house:
            words[-1] += symbol.text.upper() if house else symbol.text
        elif kind == "digits" and symbol.text == "hundred":
            words[-1] += "00"
            kind, hundreds = "digits", True
            continue
        elif symbol.kind != "sign":
            words.append(text)
        kind, hundreds = symbol.kind, False
    written = " ".join(_spelled_word(word) for word in words)
    return ", ".join(filter(None, (written, postcode)))


def _spelled_word(word: str) -> str:
    """Return spelled letters as they are written: "dc" is an abbreviation, longer ones are a name."""
    if word[:1].islower():
        return word.upper() if len(word) < _MIN_NAME else word.capitalize()
    return word


def _spelled_postcode(symbols: list[Symbol]) -> tuple[str, list[Symbol]]:
    """Return the postcode with letters that symbols end in, "" without one, and the symbols before it."""
    for at in range(len(symbols)):
        end = symbols[at:]
        if any(symbol.kind == "word" and len(symbol.text) > 2 for symbol in end):
            continue
        found = _SPELLED_POSTCODE.fullmatch("".join(symbol.text for symbol in end))
        if found:
            return " ".join(group.upper() for group in found.groups() if group), symbols[:at]
    return "", symbols


def _parted(whole: str) -> Address:
    """Return the parts of a written address; "" for those that are missing."""
    postcodes = list(_POSTCODE.finditer(whole))
    postcode = postcodes[-1] if postcodes and (postcodes[-1].start() or len(postcodes) > 1) else None
    alone = postcodes and not re.search(r"[^\W\d_]", whole)
    if alone:
        return Address("", "", "", postcodes[-1][0])
    rest = whole if postcode is None else f"{whole[: postcode.start()]}, {whole[postcode.end() :]}"
    parts = [part.strip() for part in rest.split(",") if part.strip(" ,")]
    street, others = _street(parts)
    town, *regions = others or [""]
    return Address(street, town, " ".join(regions), "" if postcode is None else postcode[0].upper())


def _street(parts: list[str]) -> tuple[str, list[str]]:
    """Return the street with its number, flat or house name, and the parts after it. Without a comma it ends
    with its type.
    """
    units = [part for part in parts if _UNIT.match(part)]
    unit_first = bool(units) and parts[0] == units[0]
    parts = [part for part in parts if part not in units]
    street, others = _named_street(parts)
    if not street:  # a house with a name instead of a number
        typed = [at for at, part in enumerate(parts) if part.split()[-1].lower() in _STREET_TYPES]
        if typed:
            street, others = ", ".join(parts[: typed[0] + 1]), parts[typed[0] + 1 :]
    whole = (*units, street) if unit_first else (street, *units)
    return ", ".join(whole) if street else "", others


def _named_street(parts: list[str]) -> tuple[str, list[str]]:
    """Return the street that has a number, and the other parts."""
    for at, part in enumerate(parts):
        tokens = part.split()
        if not any(token[0].isdigit() for token in tokens) or len(tokens) < 2:
            if at + 1 < len(parts) and part.isdigit():
                return _named_street([f"{part} {parts[at + 1]}", *parts[at + 2 :]])
            continue
        types = [index for index, token in enumerate(tokens) if token.lower() in _STREET_TYPES and index > 1]
        end = types[0] + 1 if types else len(tokens)
        end += end < len(tokens) and tokens[end].lower() in _DIRECTIONS  # "King Street West"
        if end < len(tokens):
            return " ".join(tokens[:end]), [" ".join(tokens[end:]), *parts[at + 1 :]]
        return part, [*parts[:at], *parts[at + 1 :]]
    return "", parts
