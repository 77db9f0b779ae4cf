from __future__ import annotations

import pytest

from voiceagent.bench.scoring import judge, says, spoken


def test_facts_are_compared_as_spoken_words():
    assert spoken("Check-out is at 11:00, for $30!") == "check out is at eleven for thirty dollars"
    assert says("It costs 120 dollars.", "one hundred and twenty")
    assert says("from 7 to 10:30", "ten thirty")
    assert not says("It is seventy.", "seven")


def test_one_alternative_of_a_fact_is_enough():
    assert says("It takes half an hour.", "thirty minutes|half an hour")


@pytest.mark.parametrize(
    ("answer", "missing", "forbidden"),
    [
        ("From 8 to 9.", (), ()),
        ("From eight.", ("nine",), ()),
        ("From eight to nine, but I don’t know.", (), ("don't know",)),
    ],
)
def test_an_answer_says_all_facts_and_nothing_forbidden(answer, missing, forbidden):
    verdict = judge(answer, ["eight", "nine"], ["don't know"])
    assert (verdict.missing, verdict.forbidden) == (missing, forbidden)
    assert verdict.right == (not missing and not forbidden)
