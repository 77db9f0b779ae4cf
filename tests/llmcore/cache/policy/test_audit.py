from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.cache.policy.audit import (
    AGREES,
    LOOK_UPS,
    MIN_AUDITS,
    WINDOW,
    AuditWindow,
    HitWindow,
    Switch,
    agreement,
)


def test_the_same_words_agree_whatever_the_embedding_says():
    assert agreement("Breakfast is at seven.", "Breakfast is at seven.", 0.0) == 1.0


@pytest.mark.parametrize(
    ("stored", "fresh"),
    [
        ("Breakfast is from seven to ten.", "Breakfast is from six to nine."),
        ("Yes, for 15 dollars.", "Yes, for 25 dollars."),
        ("We are closed on Monday.", "We are closed on Tuesday."),
        ("Yes, there is a pool.", "No, there is no pool."),
    ],
)
def test_replies_that_contradict_each_other_do_not_agree_however_alike(stored, fresh):
    assert agreement(stored, fresh, 0.99) == 0.0


def test_a_reply_may_say_more_than_the_other():
    assert agreement("From seven to ten.", "From seven to ten, for 15 dollars.", 0.9) >= AGREES


def test_other_words_without_the_same_meaning_do_not_agree():
    assert agreement("The manager sends his love.", "Parking is in the garage.", 0.3) < AGREES


@given(st.text(max_size=60), st.text(max_size=60), st.floats(-1, 1))
def test_agreement_is_a_part_of_one(stored, fresh, cosine):
    assert 0.0 <= agreement(stored, fresh, cosine) <= 1.0


def test_the_cache_stops_when_too_few_of_the_latest_audits_agree():
    window = AuditWindow(floor=0.8)
    assert not any(window.add(True) for _ in range(WINDOW))
    verdicts = [window.add(False) for _ in range(5)]
    assert verdicts == [False, False, False, False, True], "16 of 20 are just enough, 15 are not"


def test_few_audits_are_no_verdict():
    window = AuditWindow(floor=1.0)
    assert [window.add(False) for _ in range(MIN_AUDITS)] == [False] * (MIN_AUDITS - 1) + [True]


def test_after_the_verdict_the_window_begins_anew():
    window = AuditWindow(floor=0.5)
    assert [window.add(False) for _ in range(2 * MIN_AUDITS)].count(True) == 2


@given(st.lists(st.booleans(), max_size=60), st.floats(0.1, 1.0))
def test_a_cache_whose_answers_all_agree_is_never_stopped(agreed, floor):
    window = AuditWindow(floor)
    assert not any(window.add(True) for _ in agreed)


def test_a_cache_that_answers_too_few_look_ups_is_stopped():
    window = HitWindow(min_hits=0.1)
    enough = [window.add(n < LOOK_UPS // 10) for n in range(LOOK_UPS)]
    assert not any(enough)
    assert window.add(False), "the oldest hit has left the window"
    assert not any(window.add(False) for _ in range(LOOK_UPS - 1)), "it begins anew"


@given(st.lists(st.booleans(), max_size=2 * LOOK_UPS))
def test_a_cache_that_need_answer_nothing_is_never_stopped(hits):
    window = HitWindow(min_hits=0.0)
    assert not any(window.add(hit) for hit in hits)


def test_the_switch_is_off_for_a_while_and_says_why():
    switch = Switch()
    assert switch.why_off(0.0) == ""
    switch.turn_off("audit", 10.0)
    assert (switch.why_off(9.9), switch.why_off(10.0)) == ("audit", "")


def test_a_shorter_absence_does_not_end_a_longer_one():
    switch = Switch()
    switch.turn_off("audit", 300.0)
    switch.turn_off("entries", 5.0)
    assert switch.why_off(100.0) == "audit"
