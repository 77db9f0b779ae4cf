"""When a pause is taken for the end of a turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.end_of_turn import END_OF_TURN_WORDS, SILENCES, TurnEvidence, completeness

ENGLISH = END_OF_TURN_WORDS["en"]
TOLD = "Breakfast is from seven to ten."
ASKED = "Gladly. Which room would you like?"
OFFERED = "The Lakeside Bakery, how can I help you?"


def judge(text: str, probability: float | None = None, agent: str = TOLD, falls: bool | None = None) -> str:
    return completeness(TurnEvidence(text, agent, probability, falls), ENGLISH)


@pytest.mark.parametrize("text", ["How much is a room?", "is there a pool", "yes", "a table for two please"])
def test_a_whole_sentence_is_complete(text: str):
    assert judge(text) == "complete"


@pytest.mark.parametrize("text", ["I would like to book a", "I need a room and, um", "is it more than"])
def test_a_word_that_nobody_ends_with_is_unfinished(text: str):
    assert judge(text) == "unfinished"


@pytest.mark.parametrize("text", ["i'd like a room for", "where are you from", ""])
def test_a_word_that_people_rarely_end_with_is_unsure(text: str):
    assert judge(text) == "unsure"


def test_a_condition_is_unfinished_until_its_main_clause_comes():
    assert judge("If I arrive late,") == "unfinished"
    assert judge("if i arrive late can i still have dinner") == "complete"


def test_a_dictated_number_is_unfinished_until_it_may_be_whole():
    assert judge("my number is five five five") == "unfinished"
    assert judge("my number is five five five one two three four") == "complete"


def test_a_count_is_no_dictated_number():
    assert judge("a room for two") == "complete"


def test_the_turn_model_makes_a_whole_sentence_unsure_but_never_unfinished():
    assert judge("and so my fellow americans", probability=0.05) == "unsure"
    assert judge("and so my fellow americans", probability=0.5) == "unsure"


def test_the_turn_model_cannot_complete_what_the_words_deny():
    assert judge("I would like to book a", probability=0.99) == "unfinished"


def test_without_words_of_the_language_the_model_decides():
    assert completeness(TurnEvidence("el", "", 0.1), None) == "unsure"
    assert completeness(TurnEvidence("el", ""), None) == "complete"


def test_without_words_of_the_language_the_punctuation_counts():
    assert completeness(TurnEvidence("Quiero una", ""), None) == "unsure"
    assert completeness(TurnEvidence("Buenos días,", ""), None) == "unfinished"


@pytest.mark.parametrize(
    "text", ["If I come late, so,", "I am coming by car,", "We are two and...", "It is…"]
)
def test_a_comma_or_dots_at_the_end_are_unfinished(text: str):
    assert judge(text) == "unfinished"


def test_a_recognizer_that_punctuates_and_did_not_makes_it_less_certain():
    assert judge("How much is a room") == "unsure"
    assert judge("Where are you from") == "unfinished"
    assert judge("how much is a room") == "complete"


def test_a_closing_quote_hides_no_full_stop():
    assert judge('What is a "suite?"') == "complete"


@pytest.mark.parametrize("text", ["Hello.", "Good morning.", "hi there"])
@pytest.mark.parametrize("agent", ["", OFFERED, ASKED, TOLD])
def test_a_greeting_alone_leads_up_to_something(text: str, agent: str):
    assert judge(text, agent=agent) == "preliminary"


@pytest.mark.parametrize("text", ["Not the morning.", "Don't harming.", "Okay."])
def test_a_few_words_that_ask_nothing_lead_up_to_something(text: str):
    assert judge(text, agent="") == judge(text, agent=TOLD) == "preliminary"


@pytest.mark.parametrize("text", ["Yes.", "Two nights.", "No."])
def test_a_few_words_may_be_an_answer(text: str):
    assert judge(text, agent=ASKED) == judge(text, agent=OFFERED) == "complete"


@pytest.mark.parametrize("text", ["Breakfast?", "A taxi, please.", "Where is it?"])
def test_a_few_words_that_ask_are_complete(text: str):
    assert judge(text, agent="") == "complete"


def test_without_punctuation_a_few_words_may_be_a_question():
    assert judge("and on sundays") == "complete"


@pytest.mark.parametrize("text", ["I am coming by car.", "My flight leaves at six.", "We are two adults."])
@pytest.mark.parametrize("agent", ["", OFFERED, TOLD])
def test_a_statement_leads_up_to_a_question(text: str, agent: str):
    assert judge(text, agent=agent) == "preliminary"
    assert judge(text, agent=agent, falls=False) == "preliminary"


@pytest.mark.parametrize("text", ["We are two adults.", "Good morning.", "Lights on."])
def test_where_the_voice_falls_it_may_be_all(text: str):
    assert judge(text, falls=True) == "unsure"


@pytest.mark.parametrize("text", ["I am coming by car.", "We are two adults."])
def test_a_statement_may_be_the_answer_to_what_the_agent_asked(text: str):
    assert judge(text, agent=ASKED) == "unsure"


def test_a_statement_behind_a_wish_adds_to_it():
    assert judge("I'd like a room. We are two adults.") == "complete"


def test_the_turn_model_has_a_word_on_a_statement():
    assert judge("I am coming by car.", probability=0.1) == "unfinished"
    assert judge("I am coming by car.", probability=0.5) == "preliminary"
    assert judge("I am coming by car.", probability=0.9) == "unsure"


def test_a_question_mark_makes_a_rare_last_word_complete():
    assert judge("Where are you from?") == "complete"
    assert judge("Can I have breakfast in my?") == "unfinished"


def test_only_the_last_sentence_counts():
    assert judge("Good morning. I am coming by car. Where can I park?") == "complete"
    assert judge("Good morning. I am coming by car.") == "preliminary"
    assert judge("Is there a pool? I am coming by car.") == "complete"


@pytest.mark.parametrize(
    "text", ["I'd like a double room.", "I see, what is the price?", "My key doesn't work."]
)
def test_a_wish_a_question_or_a_complaint_is_complete(text: str):
    assert judge(text) == "complete"


@pytest.mark.parametrize("text", ["I might like to leave the next six.", "It is like that.", "Okay."])
def test_words_that_were_hardly_understood_do_not_end_a_turn_soon(text: str):
    assert completeness(TurnEvidence(text, TOLD, confidence=0.4), ENGLISH) == "preliminary"
    assert completeness(TurnEvidence(text, TOLD, confidence=0.4, falls=True), ENGLISH) == "preliminary"
    assert completeness(TurnEvidence(text, TOLD, confidence=0.4, probability=0.9), ENGLISH) == "unsure"


def test_doubt_of_the_words_makes_nothing_more_complete():
    assert completeness(TurnEvidence("I would like a", TOLD, confidence=0.4), ENGLISH) == "unfinished"
    assert completeness(TurnEvidence("Show me the rooms.", TOLD, confidence=0.9), ENGLISH) == "complete"


def test_a_question_is_one_however_it_was_understood():
    assert completeness(TurnEvidence("Can I power my kite?", TOLD, confidence=0.4), ENGLISH) == "complete"


@given(st.sampled_from(sorted(SILENCES)))
def test_less_certainty_is_never_a_shorter_silence(eagerness):
    silences = SILENCES[eagerness]
    degrees = ("complete", "unsure", "preliminary", "unfinished")
    lengths = [silences[degree] for degree in degrees]
    assert lengths == sorted(lengths) and lengths[0] >= 0.2 and lengths[-1] <= 1.5
