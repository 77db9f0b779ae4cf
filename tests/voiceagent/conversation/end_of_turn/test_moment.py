"""A caller who asks for a moment gets one."""

from __future__ import annotations

import pytest

from voiceagent.conversation.end_of_turn.evidence import TurnEvidence
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.moment import asks_for_moment, without_moments
from voiceagent.conversation.end_of_turn.probability import MOMENT_S, judge
from voiceagent.conversation.words import sentences_of


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "Hold on."),
        ("en", "One moment, please."),
        ("en", "Just a second."),
        ("en", "Wait a minute."),
        ("en", "Can you hold on?"),
        ("en", "Um, let me check."),
        ("en", "Okay, give me just a minute to find it."),
        ("en", "Hold on. Let me get my card."),
        ("en", "I'd like to pay. Hang on."),
        ("de", "Einen Moment bitte."),
        ("de", "Augenblick, ich hole meine Karte."),
        ("es", "Un momento, por favor."),
        ("es", "Espere un segundo."),
    ],
)
def test_a_moment_is_asked_for(code: str, said: str) -> None:
    assert asks_for_moment(sentences_of(said), language_of(code))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", ""),
        ("en", "Yes, please."),
        ("en", "Hold on, is breakfast included?"),
        ("en", "Wait, what does it cost?"),
        ("en", "Let me see the menu."),
        ("en", "Let me get a latte."),
        ("en", "A second pillow, please."),
        ("en", "It takes a minute."),
        ("en", "Hold on. When is breakfast?"),
        ("de", "Ja bitte."),
        ("es", "Espere, \u00bfcu\u00e1nto cuesta?"),
    ],
)
def test_who_asks_for_something_else_asks_for_none(code: str, said: str) -> None:
    assert not asks_for_moment(sentences_of(said), language_of(code))


def test_of_a_language_that_nobody_knows_words_of_nothing_is_known() -> None:
    assert not asks_for_moment(sentences_of("Hold on."), None)
    assert without_moments(sentences_of("One moment."), None) == ["one", "moment"]


@pytest.mark.parametrize("agent", ["", "What is your phone number?", "What's your name?"])
def test_who_asks_for_a_moment_is_waited_for(agent: str) -> None:
    for eagerness in ("low", "high"):
        assert judge(TurnEvidence("One moment.", agent), language_of("en"), eagerness).silence_s == MOMENT_S


def test_a_number_behind_it_has_its_own_digits_alone() -> None:
    said, agent = "One moment. It's nine four one oh seven.", "What is your zip code?"
    assert judge(TurnEvidence(said, agent), language_of("en")).silence_s <= 0.3
