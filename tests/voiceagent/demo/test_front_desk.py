"""Times that the front desk's tools are called with, beside those that the caller has said."""

from __future__ import annotations

import pytest

from voiceagent.demo.front_desk import NotDone, heard, words_for


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (" half past six", "Wake me at half past six, please."),
        ("7:30", "At 7:30."),
        (" eight fifteen tonight", "A taxi for tonight at eight fifteen."),
        (" six in the evening", "A taxi in the evening at six."),
        (" seven tomorrow morning", "Tomorrow morning at seven."),
        (" seven", "At seven or seven thirty."),
        (" six o'clock", "Six o'clock."),
        (" noon", "At noon."),
        ("", "A taxi, please."),
    ],
)
def test_a_time_that_was_said_counts_wherever_its_part_of_the_day_was_said(time: str, said: str) -> None:
    assert heard(time, ["Hello.", said]) == time


@pytest.mark.parametrize(
    ("time", "said", "right"),
    [
        (" half past five p.m.", "Wake us at half past five tomorrow.", "half past five"),
        (" six in the evening", "A taxi at six.", "six"),
        (" five to five p.m.", "Wake me at five tomorrow.", "five"),
        (" twenty past four", "Wake us at twenty-five past four.", "twenty five past four"),
        (" quarter past seven", "At a quarter to seven.", "quarter to seven"),
        (" half past six", "Breakfast for two at six.", "six"),
        (" ten", "A taxi for half-past ten.", "half past ten"),
        ("half passed ten", "A taxi for half passed ten.", "half past ten"),
        ("5:30", "A taxi at five thirty.", "five thirty"),
        ("17:30", "A taxi at half past five.", "half past five"),
        ("now", "A taxi as soon as possible.", ""),
        (" 10", "At 10 to 7.", "10 to 7"),
        (" eight", "At seven or eight thirty tonight.", "eight thirty"),
        (" a quarter to seven", "At a quarter? pass seven to wake me.", "quarter past seven"),
    ],
)
def test_what_a_model_adds_to_a_time_or_miscopies_of_it_is_as_the_caller_said(
    time: str, said: str, right: str
) -> None:
    assert heard(time, [said]) == right


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (" nine", "I arrive at ten. Breakfast for two, please."),
        (" seven ten", "At seven, or seven thirty."),
        (" ten fifteen", "Breakfast for one at ten and fifteen."),
        ("8:30", "Half past five will do nicely."),
        ("early", "At nine."),
    ],
)
def test_a_time_that_was_not_said_and_is_no_only_one_of_its_hour_is_not_known(time: str, said: str) -> None:
    with pytest.raises(NotDone):
        heard(time, [said])


def test_results_of_another_form_have_no_words() -> None:
    assert words_for("set: a wake-up call at six") == "Certainly, I have set a wake-up call at six."
    assert words_for("noted: that a colleague will call you back") == ""
