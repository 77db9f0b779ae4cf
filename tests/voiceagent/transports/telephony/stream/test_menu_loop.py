"""Menus that loop are noticed, and others are not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.transports.telephony.stream.menu_loop import (
    MAX_REFUSALS,
    MAX_REPEATS,
    MAX_SENT,
    KeyDecision,
    MenuLoop,
)

MAIN = "for orders press one, for everything else press two"
ORDERS = "please enter the number of your order"
words = st.sampled_from([MAIN, ORDERS, "", "good bye", "thank you for calling the shop"])


@given(steps=st.lists(st.tuples(words, st.sampled_from("123")), max_size=200))
def test_whatever_a_menu_says_the_keys_of_a_call_are_bounded(steps: list[tuple[str, str]]) -> None:
    menu = MenuLoop()
    decisions = [menu.decide(announcement, keys) for announcement, keys in steps]
    assert decisions.count(KeyDecision.SEND) <= MAX_SENT


def test_the_same_keys_for_the_same_announcement_end_the_call_at_last() -> None:
    menu = MenuLoop()
    decisions = [menu.decide(MAIN, "1") for _ in range(MAX_REPEATS + MAX_REFUSALS + 1)]
    expected = [KeyDecision.SEND] * MAX_REPEATS + [KeyDecision.REFUSE] * MAX_REFUSALS + [KeyDecision.HANG_UP]
    assert decisions == expected


def test_an_announcement_that_is_heard_a_little_differently_is_the_same() -> None:
    menu = MenuLoop()
    for heard in (MAIN, "for order press one for everything else press two"):
        assert menu.decide(heard, "1") is KeyDecision.SEND
    assert menu.decide("for orders press one for every thing else press two", "1") is KeyDecision.REFUSE


def test_a_loop_over_two_announcements_is_noticed() -> None:
    menu = MenuLoop()
    steps = [(MAIN, "1"), (ORDERS, "9")] * 3
    decisions = [menu.decide(*step) for step in steps]
    assert decisions[:4] == [KeyDecision.SEND] * 4
    assert decisions[4:] == [KeyDecision.REFUSE] * 2


def test_a_menu_of_the_same_form_with_other_words_is_another_one() -> None:
    menu = MenuLoop()
    other = "for billing press one, for returns press two"
    steps = [("for sales press one, for support press two", "1"), (other, "1")] * 2
    assert [menu.decide(*step) for step in steps] == [KeyDecision.SEND] * 4


def test_another_key_or_another_announcement_is_no_loop() -> None:
    menu = MenuLoop()
    steps = [(MAIN, "1"), (MAIN, "2"), (MAIN, "0"), (ORDERS, "1"), ("enter your PIN", "1")]
    assert [menu.decide(*step) for step in steps] == [KeyDecision.SEND] * 5


def test_after_a_refusal_another_key_is_sent() -> None:
    menu = MenuLoop()
    for _ in range(MAX_REPEATS + MAX_REFUSALS):
        menu.decide(MAIN, "1")
    assert menu.decide(MAIN, "2") is KeyDecision.SEND
