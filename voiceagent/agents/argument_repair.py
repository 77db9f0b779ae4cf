"""Arguments of a tool in another form than its schema allows, read where only one value can be meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from voiceagent.text_normalization.languages import find_language
from voiceagent.text_normalization.numbers import in_words

_LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pt")
_LARGEST_IN_WORDS = 100
_WRAPPERS = ("arguments", "parameters", "args", "input")
_QUOTED = re.compile(r"'([^']*)'")
_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_TIME = re.compile(r"(\d{1,2})(?:[:.](\d\d))?\s*([ap])?\.?(?:m\b\.?)?", re.IGNORECASE)
_NOON = 12
_NUMBERS = ("int_parsing", "float_parsing")
_TIMES = ("time_parsing",)
_CHOICES = ("literal_error", "enum")


def repair(given: Any, errors: Sequence[Any], fields: Collection[str], optional: Collection[str]) -> Any:
    """Return the arguments with all errors repaired that can be, or None if none can.

    given: the parsed JSON. errors: pydantic's. fields: names of the arguments. optional: those that may be
    left out; null stands for that, as many models write all of them.
    """
    if isinstance(given, dict) and len(given) == 1 and fields and not given.keys() & set(fields):
        (name, inner), *_ = given.items()
        return inner if name in _WRAPPERS and isinstance(inner, dict) else None
    repaired = False
    for error in errors:
        holder = _holder(given, error["loc"])
        if holder is None:
            continue
        place = error["loc"][-1]
        if error["input"] is None and error["loc"][0] in optional and len(error["loc"]) == 1:
            del holder[place]
            repaired = True
        elif (value := _repaired(error)) is not None:
            holder[place] = value
            repaired = True
    return given if repaired else None


def _holder(given: Any, loc: Sequence[int | str]) -> Any:
    """Return the object or list that has the value at this place; None if there is none."""
    holder = None
    for part in loc:
        holder = given
        places = given if isinstance(given, dict) else range(len(given)) if isinstance(given, list) else ()
        if part not in places:
            return None
        given = given[part]
    return holder


def _repaired(error: Any) -> Any:
    """Return the value that is meant; None if that is not certain."""
    kind, value = error["type"], error["input"]
    if kind == "list_type" and not isinstance(value, dict):
        return [value]
    if kind == "string_type" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return None
    if kind in _CHOICES:
        return _choice(value, _QUOTED.findall(error["ctx"]["expected"]))
    if kind in _NUMBERS:
        value = _without_unit(value.strip(), str(error["loc"][-1]))
        grouped = _GROUPED.fullmatch(value)
        return value.replace(",", "") if grouped else _numbers_by_words().get(value.casefold(), _whole(value))
    return _time(value) if kind in _TIMES else None


def _without_unit(value: str, name: str) -> str:
    """Return a number without a word after it that is the argument's name: "2 nights" for `nights`."""
    number, _, unit = value.rpartition(" ")
    own = {part.casefold().removesuffix("s") for part in (name, *name.split("_"))}
    return number if number and unit.casefold().removesuffix("s") in own else value


def _whole(value: str) -> int | None:
    return int(value) if value.isdecimal() else None


def _choice(value: str, allowed: Sequence[str]) -> str | None:
    """Return the allowed value of the same letters and figures."""
    alike = [each for each in allowed if _letters(each) == _letters(value)]
    return alike[0] if len(alike) == 1 else None


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _time(value: str) -> str | None:
    """Return a time of the day as HH:MM: of "9:30", "7 pm", "7:15 p.m."."""
    found = _TIME.fullmatch(value.strip())
    if found is None or not (found[2] or found[3]):
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if found[3].lower() == "p" else 0)
    return f"{hour:02}:{minute:02}"


@cache
def _numbers_by_words() -> dict[str, int]:
    """Return the numbers up to 100 by their words in all languages, except words of two numbers."""
    numbers: dict[str, set[int]] = {}
    for language in map(find_language, _LANGUAGES):
        for number in range(_LARGEST_IN_WORDS + 1):
            if words := in_words(number, language):
                numbers.setdefault(words.casefold(), set()).add(number)
    return {words: meant.pop() for words, meant in numbers.items() if len(meant) == 1}
