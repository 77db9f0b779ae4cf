"""Days that are named by another day or by their place in a month, and times with all their minutes."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.agents.capture import Date, DateTime, Time
from voiceagent.agents.capture.task import Circumstances

NOW = Circumstances("en", datetime(2026, 11, 28, 10, 0))  # a Saturday
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("the day before Christmas", date(2026, 12, 24)),
        ("three days before Christmas", date(2026, 12, 22)),
        ("a week after Christmas", date(2027, 1, 1)),
        ("the Friday before Christmas", date(2026, 12, 18)),
        ("Monday after New Year's", date(2027, 1, 4)),
        ("the day after the 5th of January", date(2027, 1, 6)),
        ("the first Monday in March", date(2027, 3, 1)),
        ("the second Tuesday of next month", date(2026, 12, 8)),
        ("the last Friday of the month", date(2026, 12, 25)),  # November's was yesterday
        ("Thanksgiving", date(2027, 11, 25)),
        ("the day after Thanksgiving", date(2027, 11, 26)),
        ("Labor Day", date(2027, 9, 6)),
        ("Memorial Day", date(2027, 5, 31)),
        ("Independence Day", date(2027, 7, 4)),
        # no other day is named
        ("two days before the meeting", None),
        ("the fifth Monday in February", None),
        ("Friday after five", date(2026, 12, 4)),
        ("Tuesday after lunch", date(2026, 12, 1)),
    ],
)
def test_a_day_is_found_by_another_day(text: str, day: date | None) -> None:
    assert Date("").hear(text, "", NOW).value == day


@pytest.mark.parametrize(
    ("language", "text", "day"),
    [
        ("de", "am ersten Montag im März", date(2027, 3, 1)),
        ("de", "der letzte Freitag des nächsten Monats", date(2026, 12, 25)),
        ("de", "zwei Tage vor Silvester", date(2026, 12, 29)),
        ("de", "am Freitag vor Heiligabend", date(2026, 12, 18)),
        ("de", "Freitag vor zehn Uhr", date(2026, 12, 4)),
        ("es", "el primer lunes de marzo", date(2027, 3, 1)),
        ("es", "dos días antes de Navidad", date(2026, 12, 23)),
    ],
)
def test_a_day_is_found_by_another_day_in_other_languages(language: str, text: str, day: date) -> None:
    assert Date("").hear(text, "", Circumstances(language, NOW.now)).value == day


@given(days=st.integers(1, 60), side=st.sampled_from(["before", "after"]), weekday=st.integers(0, 6))
def test_days_and_weekdays_beside_another_day_are_where_they_say(days: int, side: str, weekday: int) -> None:
    other, sign = date(2027, 6, 15), 1 if side == "after" else -1
    by_count = Date("").hear(f"{days} days {side} June 15th", "", NOW).value
    by_weekday = Date("").hear(f"the {WEEKDAYS[weekday]} {side} June 15th", "", NOW).value
    assert by_count == other + sign * timedelta(days=days)
    assert by_weekday is not None
    assert by_weekday.weekday() == weekday
    assert 1 <= sign * (by_weekday - other).days <= 7


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("one thirty-five in the afternoon", time(13, 35)),
        ("seven twenty five in the evening", time(19, 25)),
        ("eleven fifty five at night", time(23, 55)),
        ("five before noon", time(11, 55)),
        ("twenty after noon", time(12, 20)),
        ("ten of eight", time(7, 50)),
        ("a table of ten of us", None),
    ],
)
def test_a_time_has_all_its_minutes(text: str, clock: time | None) -> None:
    assert Time("").hear(text, "", NOW).value == clock


def test_a_day_by_another_and_a_time_are_found_in_one_turn() -> None:
    heard = DateTime("").hear("the day after Thanksgiving at one thirty five in the afternoon", "", NOW)
    assert heard.value == datetime(2027, 11, 26, 13, 35)
