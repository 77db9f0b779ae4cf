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
_POSTCODE = re.compile(r"\b(\d{5}(?:-\d{4})?|[a-z]{1,2}\d[a-z\d]?\s?\d[a-z]{2})\b", re.IGNORECASE)
"""Postcodes of the United States, Germany and Spain (five digits), and of the United Kingdom."""
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
    parts = [part for part in re.split(r"[,;.]\s*", without_openings(text, language)) if words_of(part)]
    return ", ".join(filter(None, (_written_part(symbols_of(part, language)) for part in parts)))


def _written_part(symbols: list[Symbol]) -> str:
    words: list[str] = []
    kind = ""
    for symbol in symbols:
        joins = symbol.kind == kind and kind in ("letter", "digits")
        text = symbol.text if symbol.kind == "digits" else symbol.text.capitalize()
        if joins:
            words[-1] += symbol.text
        elif symbol.kind != "sign":
            words.append(text)
        kind = symbol.kind
    return " ".join(words)


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
    """Return the street with its number, and the parts after it. Without a comma it ends with its type."""
    for at, part in enumerate(parts):
        tokens = part.split()
        if not any(token[0].isdigit() for token in tokens) or len(tokens) < 2:
            if at + 1 < len(parts) and part.isdigit():
                return _street([f"{part} {parts[at + 1]}", *parts[at + 2 :]])
            continue
        types = [index for index, token in enumerate(tokens) if token.lower() in _STREET_TYPES and index > 1]
        if types and types[0] + 1 < len(tokens):
            return " ".join(tokens[: types[0] + 1]), [" ".join(tokens[types[0] + 1 :]), *parts[at + 1 :]]
        return part, [*parts[:at], *parts[at + 1 :]]
    return "", parts
