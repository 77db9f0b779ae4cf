"""End-of-turn probability, and the silence that it requires."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.end_of_turn.evidence import TurnEvidence
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.probability import DICTATED, SILENCES, WEIGHTS, judge, silence_s

ENGLISH = language_of("en")
PHONE = "What is your phone number?"
VOCABULARY = ("where", "can", "i", "park", "if", "the", "um", "yes", "555", "b")
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=12)
MARKS = st.sampled_from(("", ",", ".", "?"))
TEXTS = st.builds(lambda words, mark: " ".join(words).capitalize() + mark, WORDS, MARKS)


def probability(text: str, agent: str = "", pauses: int = 0, confidence: float | None = None) -> float:
    return judge(TurnEvidence(text, agent, pauses, confidence), ENGLISH).probability


@pytest.mark.parametrize(
    "text",
    [
        "How much is a room?",
        "Is there a pool?",
        "Turn on the light in the kitchen.",
        "What's the weather like?",
    ],
)
def test_a_whole_question_is_waited_for_half_a_second_at_most(text: str) -> None:
    assert judge(TurnEvidence(text), ENGLISH).silence_s <= 0.5


@pytest.mark.parametrize("text", ["Yes.", "Yes please.", "Two thirty pm.", "2:30 p.m.", "Six.", "No."])
def test_a_short_answer_is_waited_for_400_ms_at_most(text: str) -> None:
    assert judge(TurnEvidence(text), ENGLISH).silence_s <= 0.4


ANSWERS = ["Coffee.", "Seven.", "London.", "Yeah.", "On Friday."]


@pytest.mark.parametrize("text", ANSWERS)
def test_who_was_asked_answers_with_few_words(text: str) -> None:
    assert judge(TurnEvidence(text, "What would you like?"), ENGLISH).silence_s <= 0.45
    assert probability(text, "What would you like?") > probability(text, "Here you are.")


@pytest.mark.parametrize("text", ["So.", "Um, the.", "I think.", "With my."])
def test_nobody_answers_with_the_beginning_of_a_sentence(text: str) -> None:
    assert judge(TurnEvidence(text, "What would you like?"), ENGLISH).silence_s > 1.0


@pytest.mark.parametrize("text", ANSWERS)
def test_an_offer_asks_for_nothing_in_particular(text: str) -> None:
    assert probability(text, "How can I help you?") == probability(text, "Here you are.")


def test_the_dots_of_an_abbreviation_end_no_sentence() -> None:
    with_dots = "At 2:30 p.m. on Friday."
    assert judge(TurnEvidence(with_dots), ENGLISH) == judge(TurnEvidence("At 2:30 pm on Friday."), ENGLISH)


@pytest.mark.parametrize(
    "text",
    [
        "I would like to book a",
        "Can I get a room for",
        "I need a room, um",
        "How much is the",
        "Do you have a swimming pool or.",
        "Can I have breakfast in my?",
        "We are two adults and.",
    ],
)
def test_what_nobody_ends_with_goes_on(text: str) -> None:
    assert judge(TurnEvidence(text), ENGLISH).silence_s > 0.9


@pytest.mark.parametrize(
    "text",
    [
        "Where are you from?",
        "Who do I talk to?",
        "What is it for?",
        "What does it come with?",
        "Which platform does it leave from?",
        "Do you know who I should talk to?",
        "That's what I was looking for.",
    ],
)
def test_who_asks_may_end_with_a_preposition(text: str) -> None:
    assert judge(TurnEvidence(text), ENGLISH).silence_s <= 0.5


@pytest.mark.parametrize(
    "text",
    [
        "Wake up.",
        "Please hang up.",
        "Put me through.",
        "I need to log in.",
        "I want to sign up.",
        "I have to hang up.",
        "Take it off.",
        "The alarm went off.",
    ],
)
def test_a_verb_may_end_with_its_particle(text: str) -> None:
    assert judge(TurnEvidence(text), ENGLISH).silence_s <= 0.6


@pytest.mark.parametrize("text", ["John.", "Peter.", "Thomas."])
def test_a_given_name_may_be_the_whole_answer(text: str) -> None:
    assert judge(TurnEvidence(text, "What's your name?"), ENGLISH).silence_s <= DICTATED.even_s


@pytest.mark.parametrize("text", ["I want to pay.", "Can I return it?", "I need to cancel."])
def test_who_wants_to_do_something_need_not_say_with_what(text: str) -> None:
    assert judge(TurnEvidence(text), ENGLISH).silence_s <= 0.7


@pytest.mark.parametrize(
    "text",
    ["Is it far?", "Is it safe?", "How long does it take?", "When do you close?", "I'd like to order one."],
)
def test_a_short_question_or_a_pronoun_is_whole(text: str) -> None:
    assert judge(TurnEvidence(text), ENGLISH).silence_s <= 0.5


@pytest.mark.parametrize(
    "text",
    [
        "I'd like to speak to.",
        "I need a room for.",
        "I'm calling about.",
        "I want to sign up for.",
        "Can you turn on the.",
        "I'd like to pay for.",
        "What time do you.",
        "Which bus should I.",
    ],
)
def test_the_same_words_leave_open_what_they_do_not_end(text: str) -> None:
    assert judge(TurnEvidence(text), ENGLISH).silence_s > 0.7


@pytest.mark.parametrize("text", ["Hello.", "Good morning.", "Okay.", "So."])
def test_what_leads_up_to_something_is_not_over(text: str) -> None:
    assert probability(text) < 0.4


def test_a_condition_is_open_until_its_main_clause_comes() -> None:
    assert probability("If I arrive late,") < 0.3
    assert probability("If I arrive late, can I still have dinner?") > 0.6


@pytest.mark.parametrize("verb", ["is", "are", "does", "can"])
def test_a_question_when_something_is_is_no_condition(verb: str) -> None:
    asked = judge(TurnEvidence(f"When {verb} breakfast?"), ENGLISH)
    told = judge(TurnEvidence("When we arrive on Friday,"), ENGLISH)
    assert "open condition" not in dict(asked.witnesses)
    assert "open condition" in dict(told.witnesses)


def test_a_number_is_open_until_as_long_as_asked_for() -> None:
    assert probability("555", PHONE) < 0.2
    assert probability("555 123", PHONE) < 0.2
    assert probability("555 123 4567", PHONE) > 0.8


def test_digits_that_are_spoken_count_as_those_that_are_written() -> None:
    assert probability("five five five one two three", PHONE) < 0.2
    assert probability("five five five one two three four five six seven", PHONE) > 0.8


def test_without_words_of_the_language_the_turn_model_decides() -> None:
    unsure, over, open_ = (
        judge(TurnEvidence("el", probability=p), None).probability for p in (None, 0.95, 0.05)
    )
    assert open_ < unsure < over


def test_the_decision_says_what_it_was_made_of() -> None:
    decision = judge(TurnEvidence("Where can I park", pauses=2, confidence=0.4), ENGLISH)
    logit = sum(nats for _, nats in decision.witnesses)
    assert decision.probability == pytest.approx(1 / (1 + math.exp(-logit)))
    assert {"bias", "ends", "asks", "pauses", "doubt"} <= {name for name, _ in decision.witnesses}
    assert {name for name, _ in decision.witnesses} <= WEIGHTS.keys()


@given(TEXTS, st.integers(0, 5), st.floats(0, 1), st.floats(0, 1))
def test_more_pauses_and_more_doubt_never_make_it_likelier(
    text: str, pauses: int, more: float, less: float
) -> None:
    certain, doubtful = max(more, less), min(more, less)
    assert probability(text, "", pauses + 1) <= probability(text, "", pauses)
    assert probability(text, confidence=doubtful) <= probability(text, confidence=certain)


@given(TEXTS, st.floats(0, 1), st.floats(0, 1))
def test_the_surer_the_turn_model_the_likelier_the_end(text: str, one: float, other: float) -> None:
    low, high = (judge(TurnEvidence(text, probability=p), ENGLISH).probability for p in sorted((one, other)))
    assert low <= high


def test_the_sound_of_digits_says_nothing_of_a_number() -> None:
    for text in ("555 123", "555 123 4567"):
        told = {judge(TurnEvidence(text, PHONE, probability=p), ENGLISH) for p in (None, 0.02, 0.98)}
        assert len(told) == 1


def test_a_sound_that_is_complete_says_less_of_who_tells_than_of_who_asks() -> None:
    asks, tells = (
        dict(judge(TurnEvidence(text, probability=0.95), ENGLISH).witnesses)["sound"]
        for text in ("Where can I park?", "So then we went to the market.")
    )
    assert asks > 2 * tells
    asks, tells = (
        dict(judge(TurnEvidence(text, probability=0.1), ENGLISH).witnesses)["sound"]
        for text in ("Where can I park?", "So then we went to the market.")
    )
    assert asks == tells < 0


@given(TEXTS, st.sampled_from(sorted(SILENCES)))
def test_the_silence_stays_within_its_range(text: str, eagerness) -> None:
    silences = SILENCES[eagerness]
    assert (
        silences.certain_s - 1e-9
        <= judge(TurnEvidence(text), ENGLISH, eagerness).silence_s
        <= silences.open_s
    )


@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from(sorted(SILENCES)), st.floats(0, 1))
def test_a_likelier_end_is_never_waited_for_longer(one: float, other: float, eagerness, asks: float) -> None:
    low, high = sorted((one, other))
    assert silence_s(high, SILENCES[eagerness], asks) <= silence_s(low, SILENCES[eagerness], asks) + 1e-9


@given(st.floats(0.01, 0.99), st.sampled_from(sorted(SILENCES)))
def test_who_asks_is_waited_for_less_where_he_may_go_on_and_as_long_where_he_seems_to_have_ended(
    over: float, eagerness
) -> None:
    asked, told = silence_s(over, SILENCES[eagerness], 1.0), silence_s(over, SILENCES[eagerness])
    assert asked == told if over > 0.5 else asked <= told


@pytest.mark.parametrize(
    "text",
    ["Brew me a light rows,", "I'd like a triple shot large,"],
)
def test_a_request_whose_end_is_misheard_is_not_waited_for_as_a_story_is(text: str) -> None:
    asked = judge(TurnEvidence(text), ENGLISH)
    told = silence_s(asked.probability, SILENCES["auto"])
    assert asked.silence_s < told - 0.05


WHOLE = "Give me a dark roast coffee"


def test_nobody_is_surely_over_behind_a_comma() -> None:
    over, more = (judge(TurnEvidence(WHOLE + mark, probability=0.99), ENGLISH) for mark in (".", ","))
    assert over.silence_s == SILENCES["auto"].certain_s
    assert more.silence_s >= SILENCES["auto"].even_s


def test_a_comma_that_was_taken_back_is_waited_behind_for_a_little() -> None:
    over, wavers = (
        judge(TurnEvidence(f"{WHOLE}.", probability=0.99, before=before), ENGLISH)
        for before in (f"{WHOLE}?", f"{WHOLE},")
    )
    assert over.silence_s == SILENCES["auto"].certain_s < wavers.silence_s < SILENCES["auto"].even_s
    assert over.witnesses == wavers.witnesses


def test_who_talks_at_length_may_pause_whatever_he_seems_to_ask() -> None:
    told = "I thought it was not my idea and so we had a long problem with not finding out why it was"
    said = (f"Can I {WHOLE.lower()}?", f"{told}. Can I park here?", f"{told}. {told}. Can I park here?")
    silences = [judge(TurnEvidence(text, probability=0.99), ENGLISH).silence_s for text in said]
    assert (
        silences[0] == SILENCES["auto"].certain_s < silences[1] < silences[2] == pytest.approx(0.8, abs=0.01)
    )


def test_who_is_hardly_understood_may_pause_whatever_he_seems_to_ask() -> None:
    silences = [
        judge(TurnEvidence(text, confidence=confidence, probability=0.99), ENGLISH).silence_s
        for text, confidence in (
            (f"{WHOLE}.", 0.8),
            (f"{WHOLE}.", 0.6),
            (f"{WHOLE}.", 0.45),
            ("Coffee, please.", 0.45),
        )
    ]
    clear, unsure, hardly, brief = silences
    assert clear == brief == SILENCES["auto"].certain_s < unsure < hardly == pytest.approx(0.8, abs=0.01)


STORY = "So then we went to the market and it was closed."
STORY_S = 1.0


def test_long_story_may_pause_however_complete_it_seems() -> None:
    long = " ".join([STORY] * 3)
    said = (STORY, long, f"{long} Can I have a table for two?")
    silences = [judge(TurnEvidence(text, probability=0.99), ENGLISH).silence_s for text in said]
    short, told, asked = silences
    assert max(short, asked) < told == pytest.approx(STORY_S, abs=0.01)


@given(TEXTS, st.floats(0, 1), st.sampled_from(sorted(SILENCES)))
def test_caller_who_was_answered_too_early_never_waits_less(text: str, sound: float, eagerness) -> None:
    first, resumed = (
        judge(TurnEvidence(text, probability=sound, resumed=resumed), ENGLISH, eagerness).silence_s
        for resumed in (False, True)
    )
    assert first <= resumed + 1e-9


@pytest.mark.parametrize(("text", "told"), [(STORY, True), ("Where can I park?", False)])
def test_caller_who_was_answered_too_early_may_pause_in_a_story(text: str, told: bool) -> None:
    first, resumed = (
        judge(TurnEvidence(text, probability=0.99, resumed=resumed), ENGLISH).silence_s
        for resumed in (False, True)
    )
    assert resumed == (pytest.approx(STORY_S, abs=0.01) if told else first)


def test_a_comma_does_not_hold_up_a_number_that_is_whole() -> None:
    said = [judge(TurnEvidence(f"555 123 4567{mark}"), ENGLISH).silence_s for mark in (".", ",")]
    assert said == [SILENCES["auto"].certain_s] * 2


@given(st.text(max_size=80), st.text(max_size=80))
def test_whatever_is_heard_is_judged(text: str, agent: str) -> None:
    assert 0 < judge(TurnEvidence(text, agent), ENGLISH).probability < 1


def test_a_language_of_which_nothing_is_known_has_no_table() -> None:
    assert language_of("xx") is None
