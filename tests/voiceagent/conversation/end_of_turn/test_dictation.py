"""Dictation is waited for as long as groups pause, and no longer than until it is complete."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.end_of_turn.dictation import (
    asks_for_number,
    dictation,
    number_completeness,
)
from voiceagent.conversation.end_of_turn.evidence import TurnEvidence
from voiceagent.conversation.end_of_turn.language import TurnEndLanguage, language_of
from voiceagent.conversation.end_of_turn.probability import judge
from voiceagent.conversation.words import sentences_of

PHONE = "Sure. What is your phone number?"
ZIP = "And your zip code, please?"
ACCOUNT = "What is your account number?"
GROUPS_PAUSE_S = 1.5
"""So long at most, between two groups."""


def english() -> TurnEndLanguage:
    known = language_of("en")
    assert known is not None
    return known


def silence_s(text: str, agent: str, by_code: tuple[int, ...] | None = None) -> float:
    return judge(TurnEvidence(text, agent, dictation=by_code), english()).silence_s


@pytest.mark.parametrize(
    "said", ["555", "Five, five, five.", "555. 123.", "forty two", "My number is five", "Nine.", "One way."]
)
def test_a_group_of_a_number_is_waited_for_longer_than_groups_pause(said: str) -> None:
    assert silence_s(said, PHONE) > GROUPS_PAUSE_S + 0.2


@pytest.mark.parametrize(
    ("said", "agent"),
    [
        ("555 123 4567", PHONE),
        ("Five five five. One, two, three. Four, five, six, seven.", PHONE),
        ("555, double one 2, 3456.", PHONE),
        ("Five five five one two three forty five sixty seven", PHONE),
        ("Five five five won too three for five six seven.", PHONE),
        ("It's 94107.", ZIP),
        ("nine four one oh seven", ZIP),
        ("94107 1234 5", ZIP),
    ],
)
def test_a_whole_number_is_not_waited_for(said: str, agent: str) -> None:
    assert silence_s(said, agent) <= 0.3


@pytest.mark.parametrize(
    ("said", "agent"),
    [
        ("Sixty one three twelve six one twelve", PHONE),  # "six three one"
        ("Five five five one two three way five six seven.", PHONE),
        ("94107 3", ZIP),
    ],
)
def test_a_number_in_which_a_digit_was_misheard_is_not_waited_for_as_a_group_is(
    said: str, agent: str
) -> None:
    assert 0.8 < judge(TurnEvidence(said, agent, pauses=2), english()).silence_s < 1.4


@pytest.mark.parametrize(
    ("said", "agent", "pauses"),
    [
        ("555 123", PHONE, 1),
        ("55 51 23 45", PHONE, 3),
        ("Ninety four. Ten.", ZIP, 1),  # "seven" follows
        ("Five. Five. Five. One. Two. Three. Four. Five. Six.", PHONE, 8),
    ],
)
def test_behind_what_may_be_a_group_of_it_the_next_one_is_waited_for(
    said: str, agent: str, pauses: int
) -> None:
    assert judge(TurnEvidence(said, agent, pauses=pauses), english()).silence_s > GROUPS_PAUSE_S + 0.2


def test_a_zip_code_may_go_on_to_its_longer_form() -> None:
    assert silence_s("94107. 12", ZIP) > GROUPS_PAUSE_S
    assert silence_s("94107. 1234.", ZIP) <= 0.3


@pytest.mark.parametrize(
    "agent",
    [
        "What's your phone number?",
        "Please tell me your phone number.",
        "Okay, just give me your telephone number.",
    ],
)
def test_a_number_is_asked_for_by_a_question_or_a_request(agent: str) -> None:
    assert dictation(agent, None, english()) in {(10, 11), (11, 10)}


@pytest.mark.parametrize(
    "agent",
    [
        "Your phone number is saved.",
        "I can give you the number.",
        "I will tell them your phone number.",
        "What's your phone number? I'll wait.",
        "Please wait.",
        "",
    ],
)
def test_who_only_talks_of_a_number_asks_for_none(agent: str) -> None:
    assert dictation(agent, None, english()) is None


def test_what_the_agents_code_says_goes_before_its_words() -> None:
    assert dictation(PHONE, (6,), english()) == (6,)
    assert dictation(PHONE, (6,), None) == (6,)
    assert silence_s("123 456", PHONE, (6,)) <= 0.3


@pytest.mark.parametrize("said", ["4", "1234", "12. 345."])
def test_a_number_of_which_nobody_knows_how_long_it_is_may_go_on(said: str) -> None:
    for pause_s in (0.0, 0.3):
        evidence = TurnEvidence(said, ACCOUNT, pauses=int(pause_s > 0), longest_pause_s=pause_s)
        assert judge(evidence, english()).silence_s > GROUPS_PAUSE_S


@pytest.mark.parametrize("said", ["12345678", "One two three. Four five six.", "123, 45, 67.", "123 456 789"])
def test_once_it_may_be_whole_a_caller_is_waited_for_longer_than_he_has_paused(said: str) -> None:
    pauses_s = (0.3, 0.5, 0.7)
    evidences = [TurnEvidence(said, ACCOUNT, pauses=2, longest_pause_s=pause_s) for pause_s in pauses_s]
    silences = [judge(evidence, english()).silence_s for evidence in evidences]
    assert all(silence > 2 * pause_s for silence, pause_s in zip(silences, pauses_s, strict=True))
    assert silences[0] < GROUPS_PAUSE_S
    assert silences == sorted(silences)


def test_who_pauses_for_long_within_such_a_number_is_waited_for_as_for_any_group() -> None:
    evidence = TurnEvidence("1234 5678", ACCOUNT, pauses=1, longest_pause_s=1.4)
    assert judge(evidence, english()).silence_s > GROUPS_PAUSE_S + 0.2


def test_who_says_such_a_number_without_a_pause_is_waited_for_less() -> None:
    for by_code in (None, ()):
        assert 0.8 < silence_s("One two three four five six seven eight.", ACCOUNT, by_code) < 1.2


def test_a_number_whose_length_is_known_has_no_end_before_it() -> None:
    evidence = TurnEvidence("555 123 45", PHONE, pauses=2, longest_pause_s=0.3)
    assert judge(evidence, english()).silence_s > GROUPS_PAUSE_S


@pytest.mark.parametrize(
    ("said", "agent", "code"),
    [
        ("1234. That's it.", ACCOUNT, "en"),
        ("One two three four, that's all, thanks.", ACCOUNT, "en"),
        ("555 1234. That's my number.", PHONE, "en"),
        ("1234. Das war's.", "Wie ist Ihre Kundennummer?", "de"),
        ("1234. Eso es todo.", "¿Cuál es su número de cuenta?", "es"),
    ],
)
def test_who_says_that_it_is_all_is_not_waited_for(said: str, agent: str, code: str) -> None:
    assert judge(TurnEvidence(said, agent, pauses=1), language_of(code)).silence_s <= 0.3
    assert judge(TurnEvidence("1234.", agent, pauses=1), language_of(code)).silence_s > GROUPS_PAUSE_S


@pytest.mark.parametrize(
    "said",
    [
        "Please wake me up at 6:30.",
        "Do you have a table at 8:30?",
        "Can you connect me to room two oh four.",
        "Which gate has flight 815?",
        "How do I get to highway 101?",
        "What happened in 1989?",
    ],
)
def test_an_hour_a_year_or_the_number_of_a_room_in_a_request_is_no_group_of_a_longer_one(said: str) -> None:
    assert silence_s(said, "") < 0.4


@pytest.mark.parametrize("said", ["6:30.", "At 6:30.", "It's 312.", "312.", "Three one two.", "About 200."])
def test_few_digits_answer_a_question_that_wants_none_dictated(said: str) -> None:
    for agent in ("When shall I wake you?", "Which room are you in?", "What is your room number?"):
        assert silence_s(said, agent) < 0.4


@pytest.mark.parametrize(
    "said",
    [
        "555",
        "555?",
        "My number is 555.",
        "Can you call me at five five five.",
        "Can you check order number 4812.",
        "Could you look up my account, it's 1234.",
        "How much do I owe for 41 11 22?",
    ],
)
def test_what_may_be_the_first_group_of_a_number_is_waited_for_though_nobody_asked(said: str) -> None:
    for agent in ("", "How can I help you?"):
        assert silence_s(said, agent) >= GROUPS_PAUSE_S


@pytest.mark.parametrize("said", ["I do not know it.", "Can we do that in two minutes, please?"])
def test_who_says_something_else_dictates_no_number(said: str) -> None:
    assert silence_s(said, ZIP) < 1.0


def test_a_yes_is_no_number() -> None:
    assert silence_s("Yes.", "Is that your phone number?") < 1.0


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.data())
def test_a_number_is_whole_wherever_its_sentences_are_cut(digits: list[int], data: st.DataObject) -> None:
    cuts = data.draw(st.sets(st.integers(0, len(digits) - 1)))
    text = "".join(f"{digit}{'. ' if at in cuts else ' '}" for at, digit in enumerate(digits))
    whole = number_completeness(sentences_of(text), (10, 11), len(cuts), english()) == "whole"
    assert whole == (len(digits) >= 10)


@pytest.mark.parametrize(
    "agent",
    [
        *(PHONE, ZIP, "For how many people?", "Sure. What time do you arrive?", "Tell me your phone number."),
        *("What is your room number?", "Please tell me your table number.", "What is your account number?"),
        *("How old are you?", "Please tell me how many there are."),
    ],
)
def test_who_is_asked_for_a_number_is_expected_to_say_one(agent: str) -> None:
    assert asks_for_number(agent, None, english())


@pytest.mark.parametrize(
    "agent",
    [
        *("", "What is your name?", "How can I help you?", "We have many rooms.", "What kind of room?"),
        *("What is your confirmation number?", "May I have your name and room number?"),
    ],
)
def test_who_is_asked_for_something_else_is_not(agent: str) -> None:
    assert not asks_for_number(agent, None, english())


def test_a_name_is_dictated_though_a_short_number_is_asked_for_with_it() -> None:
    assert dictation("May I have your name and room number?", None, english()) == ()


def test_the_agents_code_may_ask_for_a_number_and_for_a_name() -> None:
    assert asks_for_number("Please go on.", (4, 6), None)
    assert not asks_for_number("For how many people?", (), english())


@pytest.mark.parametrize(
    ("language", "agent"),
    [
        ("de", "Für wie viele Personen?"),
        ("de", "Wie ist Ihre Zimmernummer?"),
        ("de", "Wie ist die Nummer Ihres Zimmers?"),
        ("es", "¿A qué hora?"),
        ("es", "¿Cuál es su número de habitación?"),
    ],
)
def test_numbers_are_asked_for_in_other_languages_too(language: str, agent: str) -> None:
    assert asks_for_number(agent, None, language_of(language))


SPELL = "Can you spell your last name for me?"


@pytest.mark.parametrize("said", ["M. I. L. L.", "M-i-l-l-e-r.", "W, e, b", "It's Anna Miller, M I L L E R."])
def test_who_spells_is_waited_for_longer_than_he_has_paused(said: str) -> None:
    evidences = [TurnEvidence(said, SPELL, pauses=3, longest_pause_s=pause_s) for pause_s in (0.0, 0.4, 1.0)]
    silences = [judge(evidence, english()).silence_s for evidence in evidences]
    assert silences == [1.0, pytest.approx(1.2), 1.8]


@pytest.mark.parametrize("said", ["It's Anna Miller.", "Miller.", "Sure.", "M."])
def test_who_has_not_spelled_yet_what_he_was_asked_to_is_waited_for(said: str) -> None:
    assert silence_s(said, SPELL) > GROUPS_PAUSE_S + 0.2


@pytest.mark.parametrize(
    "agent", ["What's your name?", "I will spell it for you.", "Thank you for spelling it.", ""]
)
def test_who_was_not_asked_to_spell_is_not_waited_for_as_if_he_did(agent: str) -> None:
    assert silence_s("It's Anna Miller.", agent) < 1.0


@pytest.mark.parametrize(
    ("language", "agent"),
    [("de", "Können Sie den Namen buchstabieren?"), ("es", "¿Me puede deletrear su apellido?")],
)
def test_letters_are_asked_for_in_other_languages_too(language: str, agent: str) -> None:
    known = language_of(language)
    silences = [judge(TurnEvidence(said, agent), known).silence_s for said in ("Weber.", "W E B E R.")]
    assert silences == [1.8, 1.0]
