"""Words of the callers of captured_values.py about a value that was read back wrong. Pure."""

from __future__ import annotations

import re

from voiceagent.agents.capture.email_domains import PROVIDERS
from voiceagent.agents.capture.languages import capture_language

SPOKEN_SIGNS = {".": "dot", "_": "underscore", "-": "dash", "'": "apostrophe", " ": "space", "+": "plus"}
INITIALS = ("aol", "gmx", "bbc", "ucl", "dcu", "uol", "tcd", "nhs", "wp", "ug", "ac", "ne")
"""Names in domains that people say letter by letter."""
OWN_EXAMPLES = (
    *("apple", "boy", "cat", "dog", "easy", "fox", "george", "harry", "india", "jack", "king", "love"),
    *("mother", "nobody", "orange", "peter", "queen", "robert", "sugar", "tommy", "under", "victor"),
    *("william", "x-ray", "yellow", "zebra"),
)
"""An example of each letter by people who do not know the ICAO alphabet."""
DOUBTFUL = frozenset("bcdfgmnpstvz")
"""Letters for which such people give an example unasked."""
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def spoken_domain(domain: str) -> str:
    """Return a domain as people say it: initials and the ending of a country letter by letter."""
    labels = domain.split(".")
    said = [
        " ".join(label.upper()) if label in INITIALS or (len(label) == 2 and at) else label
        for at, label in enumerate(labels)
    ]
    said = ["co" if label == "C O" else "me" if label == "M E" else label for label in said]
    return " dot ".join(" ".join(map(in_words, label)) if label.isdigit() else label for label in said)


def in_words(digit: str) -> str:
    """Return the word for a digit; other characters as they are."""
    return DIGITS[int(digit)] if digit.isdigit() else digit


def in_groups(number: str) -> str:
    """Return a number in groups of three, the last one of up to four digits; a card's in groups of four."""
    plus, digits = ("plus ", number[1:]) if number.startswith("+") else ("", number)
    size, longest = (4, 4) if len(digits) > 12 else (3, 4)
    groups = []
    while len(digits) > longest:
        groups.append(digits[:size])
        digits = digits[size:]
    return plus + ", ".join(" ".join(map(in_words, group)) for group in (*groups, digits) if group) + "."


def example(letter: str, habit: int) -> str:
    """Return the caller's word for a letter: every second caller knows the ICAO alphabet."""
    if habit % 2:
        return next(word for word in OWN_EXAMPLES if word[0] == letter)
    return next(word for word, named in capture_language("en").alphabet.items() if named == letter)


def spelled(kind: str, value: str, habit: int) -> str:
    """Return all of a value, as a caller spells it who was asked to."""
    if kind in ("phone number", "order number", "card"):
        return in_groups(value)
    local, at_sign, domain = value.lower().partition("@")
    said = ", ".join(spelled_character(one, habit) for one in local)
    return f"{said}, at {spoken_domain(domain)}." if at_sign else f"{said}."


def spelled_domain(domain: str, habit: int) -> str:
    """Return a domain as a caller spells it who was asked to: that of a provider is said."""
    name, _, _ = domain.partition(".")
    _, dot, rest = spoken_domain(domain).partition(" dot ")
    if domain in PROVIDERS or name in INITIALS:
        return spoken_domain(domain)
    return ", ".join(spelled_character(one, habit) for one in name) + dot + rest


def spelled_character(one: str, habit: int) -> str:
    """Return a letter with or by its example, or the word of a digit or sign."""
    if not one.isalpha():
        return SPOKEN_SIGNS.get(one, in_words(one))
    if habit % 2:
        return f"{one.upper()} for {example(one, habit)}" if one in DOUBTFUL else one.upper()
    return example(one, habit)


def correction(kind: str, value: str, read: str, habit: int) -> str:
    """Return the caller's words about a value that was read back wrong; "No." if more than one part is."""
    value, read = value.lower(), read.lower()
    part = None
    if kind == "e-mail":
        (local, _, domain), (read_local, _, read_domain) = value.partition("@"), read.partition("@")
        if local == read_local:
            return about_domain(domain, read_domain, habit)
        if domain == read_domain:
            part = about_text(local, read_local, habit) or about_words(local, read_local, habit)
    elif kind == "name":
        part = about_text(value, read, habit) or about_words(value, read, habit)
    elif kind == "code":
        part = about_text(value, read, habit)
    elif kind != "card":
        part = about_digits(value, read, habit)
    return part or "No."


def about_domain(domain: str, read: str, habit: int) -> str:
    """Return words about a wrong domain, or about its ending alone. A name that is no provider is spelled."""
    (name, _, ending), (read_name, _, read_ending) = domain.partition("."), read.partition(".")
    if name != read_name and domain not in PROVIDERS:
        _, dot, rest = spoken_domain(domain).partition(" dot ")
        return f"No, at {', '.join(SPOKEN_SIGNS.get(one, in_words(one.upper())) for one in name)}{dot}{rest}."
    if name != read_name:
        return f"No, at {spoken_domain(domain)}."
    said, refused = (spoken_domain(f"x.{one}").partition(" dot ")[2] for one in (ending, read_ending))
    return f"Not dot {refused}, dot {said}." if habit % 2 else f"No, it's dot {said}."


def about_words(value: str, read: str, habit: int) -> str | None:
    """Return words about the only wrong word of a name or an address, spelled after it was said."""
    words, read_words = (re.split(r"[ ._+-]", text) for text in (value, read))
    wrong = [one for one, other in zip(words, read_words, strict=False) if one != other]
    if len(words) != len(read_words) or len(words) == 1 or len(wrong) != 1:
        return None
    letters = ", ".join(SPOKEN_SIGNS.get(one, in_words(one.upper())) for one in wrong[0])
    return f"No, {wrong[0].title()}, {letters}." if habit % 2 else f"No, it's {letters}."


def about_text(value: str, read: str, habit: int) -> str | None:
    """Return words about the only wrong letter, a letter that is doubled or is not, or a missing sign."""
    wrong = [at for at, (one, other) in enumerate(zip(value, read, strict=False)) if one != other]
    if len(value) == len(read) and len(wrong) == 1 and value[wrong[0]].isalpha():
        return about_letter(value, read, wrong[0], habit)
    for at in range(1, len(value)):
        if value[at] == value[at - 1] and value[:at] + value[at + 1 :] == read:
            letter = value[at].upper()
            return f"Yes, but with two {letter}'s." if habit % 2 else f"No, with double {letter}."
    for at in range(1, len(read)):
        if read[at] == read[at - 1] and read[:at] + read[at + 1 :] == value:
            return f"No, only one {read[at].upper()}."
    if value.replace("-", " ") == read.replace("-", " "):
        return "No, with a hyphen."
    return None


def about_letter(value: str, read: str, at: int, habit: int) -> str:
    """Return words about the only wrong letter, in one of four ways."""
    letter, place = value[at].upper(), sum(one.isalnum() for one in value[:at])
    if habit % 4 == 2 and place < len(ORDINALS):
        return f"No, the {ORDINALS[place]} letter is {letter}."
    if habit % 4 == 3 and read[at].isalpha():
        return f"{letter}, not {read[at].upper()}."
    return f"No, {letter} {'for' if habit % 2 else 'as in'} {example(letter.lower(), habit)}."


def about_digits(value: str, read: str, habit: int) -> str | None:
    """Return words about the only wrong digit, or about the last four digits."""
    if len(value) != len(read):
        return None
    wrong = [at for at, (one, other) in enumerate(zip(value, read, strict=True)) if one != other]
    if habit % 2 == 0 and len(wrong) == 1 and read.count(read[wrong[0]]) == 1:
        return f"No, {in_words(value[wrong[0]])}, not {in_words(read[wrong[0]])}."
    if min(wrong) >= len(value) - 4 and len(value) > 6:
        return f"No, it ends in {' '.join(map(in_words, value[-4:]))}."
    return None
