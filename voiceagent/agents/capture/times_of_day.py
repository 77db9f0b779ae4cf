"""Times of day in a text, and as a voice says them: "half past three", "3:30 PM"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

from voiceagent.agents.capture.self_repairs import parse_meant
from voiceagent.agents.capture.task import Circumstances
from voiceagent.text_normalization.languages import word_set
from voiceagent.text_normalization.spoken_digits import number_at

_NOON = {
    "noon": 12,
    "noonish": 12,
    "midday": 12,
    "midnight": 0,
    "mittag": 12,
    "mitternacht": 0,
    "mediodía": 12,
    "medianoche": 0,
}
_MORNING = ("am", "morning", "morgens", "vormittags", "früh", "madrugada")
_BESIDE_HOUR = re.compile(
    r"\b(?:(?:a )?(?:(?P<half>half(?: an)?)|(?P<quarter>quarter(?: of)? an)) hour|"
    r"(?P<minutes>[\w-]+) minutes?) (?P<side>before|to|after|past) "
)
"""A time by its distance from an hour: "half an hour before midnight", "ten minutes after three"."""
_MISHEARD_EIGHT = re.compile(r"\bquarter[- ]t(?:ape|ight|ate)\b")
"""Text that recognizers write for "quarter to eight"."""
_MISHEARD_TEN = re.compile(r"\b(?:turn|tend|tin|tan|pen|hen)(?:s|ed)? to (?=\w)")
"""Text that recognizers write for "ten to"."""
_ROUND_MINUTES = r"\b(five|ten|twenty|twenty[- ]five|quarter|half|\d{1,2})"
_BESIDE_NOON = re.compile(rf"{_ROUND_MINUTES} (before|after) (?=noon\b|midnight\b)")
_OF_HOUR = re.compile(
    r"\b(five|ten|twenty|twenty[- ]five) of (?=(?:noon|midnight|[a-z]+|\d{1,2})(?:[.,?!]|$))"
)
"""Minutes before an hour, as Americans say it: "ten of eight"."""
_SIDES = {"before": "to", "to": "to", "after": "past", "past": "past"}
_HOURS_FROM = re.compile(
    r"(?<!half )(?<!half of )(?<!quarter )(?<!quarter of )\b"
    r"(?P<length>(?:an|one|two|three) hours?(?: and a half)?|one and a half hours|three quarters of an hour) "
    r"(?P<side>before|after|past) (?P<other>.+)"
)
"""A time by its distance of 45 minutes or more from another: "an hour before noon"."""
_AFTERNOON = ("pm", "afternoon", "evening", "night", "tonight", "nachmittags", "abends", "tarde", "noche")
_BEFORE_HOUR = ("at", "um", "las", "la", "gegen", "by", "around", "about", "after", "before", "until", "till")
_AFTER_HOUR = ("oclock", "uhr", "am", "pm", "hundred", "ish")
_COUNTED = re.compile(r"(?:day|week|month|year|hour|minute|night|guest|person)s?|people")
"""Nouns whose number is no hour: "about two weeks", "after five minutes"."""
_MEMBERS = re.compile(
    r"(?:day|week|month|year|hour|minute|night|guest|person|friend|kid|adult|colleague|couple|seat|chair)s|"
    r"people|children|of|personen|leute|gäste|kinder|freunde|erwachsene|stunden|tage|personas|amigos|niños"
)
"""Nouns whose number is given as a range that is none of times: "2 to 3 friends", "4 to 5 of us"."""
_DOTTED = re.compile(
    r"(?<![\d./])(?P<hour>[01]?\d|2[0-4])(?:h|\.(?=[0-5]\d\b(?![./]\d)))(?P<minute>[0-5]\d)\b"
    r"(?P<named>\s*(?:uhr|horas|h)\b)?"
)
_BEFORE_DOTTED = re.compile(r"\b(?:um|gegen|las|la)\s+$")
_MONTHS = 12
_FOUR_DIGITS = re.compile(
    r"(?P<before>^\W*|\b(?:at|by|until|till|around|about|after|before|um|gegen|las)\s+)?(?<![\d./-])"
    r"(?P<hour>[01]\d|2[0-4])(?P<minute>[0-5]\d)\b(?=(?P<named>\s*(?:hours|uhr|horas)\b)|\W*$)"
)
_AROUND_HOUR = word_set(
    "please maybe perhaps yes yeah ok okay well um uh er so say let lets s then sharp exactly is good fine "
    "great works perfect i d m like guess think make it thanks thank you would be for me if possible on "
    "today tomorrow monday tuesday wednesday thursday friday saturday sunday bitte vielleicht ja gut "
    "passt por favor"
)
"""Words next to which a bare number is still an hour: "nine please", "Friday nine"."""
_MINUTES_TO = ("5", "10", "20", "25")
"""Minutes that people name before "to" without the word. Other numbers up to 12 are hours there."""
_HOURS = 12
_DASHED = re.compile(r"(?<=:\d\d)\s*[-–]\s*(?=\d)")
"""The dash of "10:00-11:00"."""
_RANGES = {
    "en": (("to", "till", "until"), "from", "and", "between"),
    "de": (("bis",), "von", "und", "zwischen"),
}
"""Words between the ends of a range and the one that may open it; the same of the other form of a range."""
_FIRST_HOUR = 7
"""Without "am" or "pm", an hour before this one is in the afternoon."""


def find_time(text: str, now: Circumstances) -> time | None:
    """Return the time of day that a text names, corrected as the caller did, None if there is none."""
    return parse_meant(text, now.language, lambda part: _time_in(part, now))


def _time_in(text: str, now: Circumstances) -> time | None:
    if (found := _german_quarter(text, now) if now.language == "de" else None) is not None:
        return found
    if now.language == "en" and (far := _HOURS_FROM.search(text.lower())):
        return _time_from(far, now)
    tokens = _without_counts(_tokens(text, now.language), now.language)
    if now.language in _RANGES and _is_range(tokens, now.language):
        return None
    for at, token in enumerate(tokens):
        if token in _NOON and tokens[at - 1 : at] != ["del"]:  # "las doce menos diez del mediodía"
            return _around_noon(tokens, at, now.language)
    for at in range(len(tokens)):
        if (found := _time_at(tokens, at, now.language)) is not None:
            return found
    return None


def _time_from(distance: re.Match[str], now: Circumstances) -> time | None:
    other = _time_in(f"at {distance['other']}", now)
    if other is None:
        return None
    length, sign = distance["length"], -1 if distance["side"] == "before" else 1
    minutes = 60 * {"two": 2, "three": 3}.get(length.split()[0], 1) + 30 * ("half" in length)
    if "quarters" in length:
        minutes = 45
    return (datetime.combine(date.min + timedelta(1), other) + timedelta(minutes=sign * minutes)).time()


def _without_counts(tokens: list[str], language: str) -> list[str]:
    """Return the tokens without ranges that count something: "8 to 10 people"."""
    between = ("or", "oder", "o", "a", "to", "bis", "till", "until")
    for at in range(1, len(tokens) - 2):
        if tokens[at] not in between or not number_at(tokens, at - 1, language)[0]:
            continue
        end, used = number_at(tokens, at + 1, language)
        if end and _MEMBERS.fullmatch("".join(tokens[at + 1 + used : at + 2 + used])):
            return _without_counts([*tokens[: at - 1], *tokens[at + 2 + used :]], language)
    return tokens


def _around_noon(tokens: Sequence[str], at: int, language: str) -> time:
    """Return the time of a noon or midnight at an index, or of "ten to noon", "quarter past midnight"."""
    noon = _NOON[tokens[at]]
    until = [*tokens[:at], "12"]
    for begin in range(max(0, at - 4), at):
        minutes = number_at(until, begin, language)[0] and _past_or_to(until, begin, language)
        if (minutes or until[begin] in ("half", "quarter", "viertel")) and (
            found := _relative_time(until[begin:], 0, language)
        ):
            return time((found.hour + 12 - noon if found.hour < 12 else noon) % 24, found.minute)
    return time(noon)


def ends_day(text: str, now: Circumstances) -> bool:
    """Return True if a text names the midnight at the end of a day: "24:00", "midnight tonight"."""
    tokens = _tokens(text, now.language)
    night = "midnight" in tokens and not {"tonight", "night"}.isdisjoint(tokens)
    return night or "24:00" in tokens or re.search(r"\b24 uhr\b", text.lower()) is not None


def _is_range(tokens: Sequence[str], language: str) -> bool:
    """Return True if two hours are the ends of a range: "two to four", not "ten to four"."""
    between, opening, also_between, also_opening = _RANGES[language]
    hours = _with_marked_hours(tokens)
    for at in range(1, len(hours) - 1):
        if hours[at] not in (*between, also_between) or not (end := _hour_at(hours, at + 1, language)[0]):
            continue
        begin = next((one for one in range(at) if sum(_hour_at(hours, one, language)[1:]) == at - one), None)
        if begin is None or not (first := _hour_at(hours, begin, language)[0]):
            continue
        if begin and hours[begin - 1] == (also_opening if hours[at] == also_between else opening):
            return True
        hour_before = begin and _hour_at(hours, begin - 1, language)[0]  # "nine thirty to ten"
        minutes_to = language == "en" and not hour_before and _are_minutes_to(first, end)
        if hours[at] in between and not minutes_to:
            return True
    return False


def _with_marked_hours(tokens: Sequence[str]) -> list[str]:
    """Return the tokens with a colon in what can only be an hour: "5 pm", "two o'clock"."""
    marked: list[str] = []
    for token in tokens:
        if token not in ("am", "pm", "oclock"):
            marked.append(token)
        elif marked and ":" not in marked[-1]:
            marked[-1] += ":"
    return marked


def _hour_at(tokens: Sequence[str], at: int, language: str) -> tuple[str, int]:
    """Return the hour at an index, and its tokens; "" and 1 for another token."""
    if ":" in tokens[at]:
        return tokens[at], 1
    return ("12:", 1) if tokens[at] in _NOON else number_at(tokens, at, language)


def _are_minutes_to(first: str, hour: str) -> bool:
    """Return True if a number before "to" is one of minutes: "ten to four", "fifteen to three"."""
    whole, _, minutes = hour.partition(":")
    if ":" in first or minutes not in ("", "00"):
        return False
    return first in _MINUTES_TO or int(first) > _HOURS >= int(whole)


def _tokens(text: str, language: str) -> list[str]:
    """Return the words and figures of a text in lower case."""
    lower = re.sub(r"\b([ap])\.?\s?m\b\.?", r"\1m", text.lower()).replace("o'clock", "oclock")
    lower = _DASHED.sub(" to ", with_colons(lower, language))
    if language == "en":
        lower = _MISHEARD_TEN.sub("ten to ", _MISHEARD_EIGHT.sub("quarter to eight", lower))
        lower = _OF_HOUR.sub(
            r"\1 to ", _BESIDE_NOON.sub(lambda found: f"{found[1]} {_SIDES[found[2]]} ", lower)
        )
        lower = _BESIDE_HOUR.sub(lambda found: f"{_minutes_named(found)} {_SIDES[found['side']]} ", lower)
    tokens = re.findall(r"\d{1,2}:\d\d|\d+(?=[ap]m)|\d+(?!st|nd|rd|th|\d)|[^\W\d_]+", lower)
    if language != "en":  # "am" is a preposition in German
        tokens = [token for token in tokens if token not in ("am", "pm")]
    return _with_one(tokens) if language == "es" else tokens


def _minutes_named(found: re.Match[str]) -> str:
    return "30 minutes" if found["half"] else "quarter" if found["quarter"] else f"{found['minutes']} minutes"


def _with_one(tokens: Sequence[str]) -> list[str]:
    """Return the tokens with the number of "la una"."""
    before = ("", *tokens)
    return ["uno" if (word, one) == ("la", "una") else one for word, one in zip(before, tokens, strict=False)]


def with_colons(text: str, language: str) -> str:
    """Return a text in lower case with "8:30" for "8.30", "0830" and "8h30", unless it is a day or a year."""

    def dotted(found: re.Match[str]) -> str:
        named = found["named"] or _BEFORE_DOTTED.search(text[: found.start()]) or "h" in found[0]
        may_be_day = language != "en" and int(found["minute"]) <= _MONTHS
        if may_be_day and not named:  # "am 5.12. um 8 Uhr"
            return found[0]
        return f"{found['hour']}:{found['minute']}{found['named'] or ''}"

    def in_figures(found: re.Match[str]) -> str:
        begins = found["before"] is not None or found["hour"].startswith("0")
        if not (begins or found["named"]):  # "December 5th 2026"
            return found[0]
        return f"{found['before'] or ''}{found['hour']}:{found['minute']}"

    return _FOUR_DIGITS.sub(in_figures, _DOTTED.sub(dotted, text))


def _german_quarter(text: str, now: Circumstances) -> time | None:
    """Return the time of "Viertel nach sechs", "drei viertel sieben", "fünf vor halb neun"."""
    tokens = _tokens(text.replace("dreiviertel", "drei viertel"), now.language)
    plain = " ".join(_with_figures(tokens, now.language))
    if found := re.search(r"\b(\d+) (?:minuten )?(vor|nach) halb (\d+)\b", plain):
        minutes = 30 + int(found[1]) * (1 if found[2] == "nach" else -1)
        return _clock(_hour_before(found[3]), minutes, tokens)
    if found := re.search(r"\bviertel (nach|vor) (\d+)\b", plain):
        after = found[1] == "nach"
        return _clock(int(found[2]) if after else _hour_before(found[2]), 15 if after else 45, tokens)
    if found := re.search(r"\b(3 )?viertel (\d+)\b", plain):
        return _clock(_hour_before(found[2]), 45 if found[1] else 15, tokens)
    return None


def _with_figures(tokens: Sequence[str], language: str) -> list[str]:
    found, at = [], 0
    while at < len(tokens):
        figures, used = number_at(tokens, at, language)
        found.append(figures or tokens[at])
        at += used
    return found


def _time_at(tokens: Sequence[str], at: int, language: str) -> time | None:
    """Return the time that begins at a token. A bare number needs a word that makes it one."""
    if ":" in tokens[at]:
        hours, minutes_past = tokens[at].split(":")
        return _clock(int(hours), int(minutes_past), tokens)
    if tokens[at] in ("half", "quarter") or (
        number_at(tokens, at, language)[0] and _past_or_to(tokens, at, language)
    ):
        return _relative_time(tokens, at, language)
    if tokens[at] == "halb":
        hour = number_at(tokens, at + 1, language)[0] if at + 1 < len(tokens) else ""
        return _clock(_hour_before(hour), 30, tokens) if hour else None
    figures, used = number_at(tokens, at, language)
    if not figures or len(figures) > 2:
        return None
    minutes, more = _minutes_at(tokens, at + used, language)
    if minutes < 0:  # "las siete menos diez"
        return _clock(_hour_before(figures), 60 + minutes, tokens)
    before, end = tokens[at - 1] if at else "", at + used + more
    after = tokens[at + used] if at + used < len(tokens) else ""
    named = (before in _BEFORE_HOUR and not _COUNTED.fullmatch(after)) or after in _AFTER_HOUR
    closing = tokens[end] if more and end < len(tokens) else ""
    if not (
        named
        or closing in ("am", "pm", "hours", "uhr")
        or _is_part_of_day(tokens, at + used)
        or _is_part_of_day(tokens, end)  # "one thirty five in the afternoon"
        or sum(token not in _AROUND_HOUR for token in tokens) <= used + more
    ):
        return None
    return _clock(int(figures), minutes, tokens)


def _minutes_at(tokens: Sequence[str], at: int, language: str) -> tuple[int, int]:
    """Return the minutes that follow an hour, below 0 before it, and their tokens: "oh five", "y media"."""
    if at >= len(tokens):
        return 0, 0
    if tokens[at] in ("y", "menos") and at + 1 < len(tokens):
        named = {"media": "30", "cuarto": "15"}.get(tokens[at + 1])
        figures, used = (named, 1) if named else number_at(tokens, at + 1, language)
        count = int(figures) if figures and len(figures) < 3 else 0
        return (-count if tokens[at] == "menos" else count), used + 1
    if tokens[at] == "hundred":
        return 0, 1
    skipped = int(tokens[at] in ("oh", "o", "uhr") and at + 1 < len(tokens))
    minutes, used = number_at(tokens, at + skipped, language)
    return (int(minutes), used + skipped) if minutes and len(minutes) < 3 else (0, 0)


def _is_part_of_day(tokens: Sequence[str], at: int) -> bool:
    """Return True if a part of the day follows, as in "three in the afternoon"."""
    return any(token in (*_MORNING, *_AFTERNOON) for token in tokens[at : at + 4])


def _past_or_to(tokens: Sequence[str], at: int, language: str) -> bool:
    used = number_at(tokens, at, language)[1]
    following = [token for token in tokens[at + used : at + used + 2] if token not in ("minutes", "minuten")]
    return bool(following) and following[0] in ("past", "to", "till", "nach", "vor")


def _relative_time(tokens: Sequence[str], at: int, language: str) -> time | None:
    """Return the time of "half past three", "quarter to five", "ten past nine"."""
    if tokens[at] == "half" and number_at(tokens, min(at + 1, len(tokens) - 1), language)[0]:
        return _clock(int(number_at(tokens, at + 1, language)[0]), 30, tokens)  # "half seven", in Britain
    if tokens[at] in ("half", "quarter", "viertel"):
        minutes, used = (30 if tokens[at] == "half" else 15), 1
    else:
        figures, used = number_at(tokens, at, language)
        minutes = int(figures)
    at += used
    while at < len(tokens) and tokens[at] in ("minutes", "minuten"):
        at += 1
    if at + 1 >= len(tokens):
        return None
    hour = number_at(tokens, at + 1, language)[0]
    if not hour or minutes > 59:
        return None
    if tokens[at] in ("to", "of", "till", "vor"):
        return _clock(_hour_before(hour), 60 - minutes, tokens)
    return _clock(int(hour), minutes, tokens) if tokens[at] in ("past", "nach") else None


def _hour_before(hour: str) -> int:
    """Return the hour before one; before one o'clock it is twelve."""
    return int(hour) - 1 or 12


def _clock(hour: int, minute: int, tokens: Sequence[str]) -> time | None:
    """Return the time with the half of the day that the words name, or the likelier one."""
    if hour == 24 and minute == 0:
        return time(0)
    if not (0 <= hour < 24 and 0 <= minute < 60):
        return None
    if any(token in _AFTERNOON for token in tokens):
        if hour == 12 and "night" in tokens:
            return time(0, minute)
        hour += 12 if hour < 12 else 0
    elif any(token in _MORNING for token in tokens):
        hour %= 12
    elif 0 < hour < _FIRST_HOUR:
        hour += 12
    return time(hour, minute)


def spoken_time(clock: time, now: Circumstances) -> str:
    """Return a time for a voice: with "AM" or "PM" in English, else with 24 hours."""
    if now.language != "en":
        return f"{clock:%H:%M}" + (" Uhr" if now.language == "de" else "")
    return f"{clock.hour % 12 or 12}:{clock.minute:02} {'AM' if clock.hour < 12 else 'PM'}"
