"""A caller who accepts a question has not answered it yet."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_world import POLICY, CallWorld
from turn_pauses import SETTINGS, pauses

from voiceagent.conversation.end_of_turn.acknowledgement import acknowledged
from voiceagent.conversation.end_of_turn.evidence import TurnEvidence
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.probability import SILENCES, judge

OPEN = [
    ("en", "What is your last name?"),
    ("en", "Jack, what was your last name, so that I can look you up?"),
    ("en", "Of course, I am sorry. When would you like to come?"),
    ("en", "How many people is it for?"),
    ("en", "Could you give me your name?"),
    ("en", "Can I have your order number, please?"),
    ("en", "May I ask who is calling?"),
    ("en", "Please tell me your phone number."),
    ("en", "How can I help you?"),
    ("de", "Wie ist Ihr Name?"),
    ("de", "K\u00f6nnen Sie mir bitte Ihre Telefonnummer sagen?"),
    ("de", "Wann m\u00f6chten Sie kommen?"),
    ("es", "\u00bfC\u00f3mo se llama?"),
    ("es", "\u00bfMe puede decir su apellido?"),
    ("es", "\u00bfPara cu\u00e1ntas personas?"),
]
CLOSED = [
    ("en", "Would you like breakfast?"),
    ("en", "Is that what you wanted?"),
    ("en", "Is this the number where we can reach you?"),
    ("en", "What about Friday at ten?"),
    ("en", "How does that sound?"),
    ("en", "How was your stay?"),
    ("en", "What else can I do for you?"),
    ("en", "Is there anything else I can help you with?"),
    ("en", "I have Miller, which is spelled with two Ls, right?"),
    ("en", "And your address is ann@example.com, is that correct?"),
    ("en", "Please say yes or no."),
    ("en", "When you arrive, will you need a parking space?"),
    ("en", "Shall I tell you when the taxi comes?"),
    ("de", "M\u00f6chten Sie Fr\u00fchst\u00fcck?"),
    ("de", "Was halten Sie von Freitag?"),
    ("es", "\u00bfQuiere desayuno?"),
    ("es", "\u00bfQu\u00e9 tal el viernes?"),
]
ACCEPTED = {"en": "Sure, of course.", "de": "Ja, gerne.", "es": "S\u00ed, claro."}


@pytest.mark.parametrize(("code", "asked"), OPEN)
def test_yes_does_not_answer_an_open_question(code: str, asked: str) -> None:
    assert acknowledged(ACCEPTED[code], asked, language_of(code)) == "question"


@pytest.mark.parametrize(("code", "asked"), CLOSED)
def test_yes_answers_any_other(code: str, asked: str) -> None:
    assert acknowledged(ACCEPTED[code], asked, language_of(code)) is None


@pytest.mark.parametrize("said", ["Sure.", "Yeah, sure.", "Um, yes.", "Okay. Thank you.", "Oh, that's fine."])
def test_what_accepts_is_no_answer(said: str) -> None:
    assert acknowledged(said, "What is your last name?", language_of("en")) == "question"


@pytest.mark.parametrize(
    "said",
    ["", "No.", "Smith.", "Sure, it's Smith.", "Yes, two.", "Friday.", "No, thank you.", "Okay, goodbye."],
)
def test_what_says_anything_else_is_one(said: str) -> None:
    assert acknowledged(said, "What is your last name?", language_of("en")) is None


@pytest.mark.parametrize(
    ("code", "said"),
    [
        *(("en", said) for said in ("Perfect.", "Okay, great. Thank you.", "Got it.", "Oh, I see.", "Sure.")),
        *(("de", said) for said in ("Super, danke.", "Ja, das passt.")),
        *(("es", said) for said in ("Estupendo, gracias.", "Vale, muy bien.")),
    ],
)
def test_a_statement_is_taken_note_of(code: str, said: str) -> None:
    stated = {"en": "I will tell you what we have.", "de": "Ihr Zimmer ist fertig.", "es": "Está lista."}
    assert acknowledged(said, stated[code], language_of(code)) == "statement"


@pytest.mark.parametrize(
    "said", ["Perfect, and when is breakfast?", "No.", "Thank you, goodbye.", "Room two."]
)
def test_what_says_more_than_that_does_not(said: str) -> None:
    assert acknowledged(said, "Your room is ready.", language_of("en")) is None


def test_nothing_acknowledges_an_agent_that_has_said_nothing() -> None:
    assert acknowledged("Okay.", "", language_of("en")) is None


def test_nothing_is_known_of_other_languages() -> None:
    assert acknowledged("Sure.", "What is your last name?", None) is None


@pytest.mark.parametrize("eagerness", ["low", "auto", "high"])
def test_it_waits_as_for_a_turn_that_certainly_continues(eagerness: str) -> None:
    evidence = TurnEvidence("Sure.", "Could you give me your name?", acknowledges=True)
    decision = judge(evidence, language_of("en"), eagerness)  # type: ignore[arg-type]
    assert (decision.rule, decision.silence_s) == ("acknowledgement", SILENCES[eagerness].open_s)  # type: ignore[index]


def test_after_a_statement_it_has_the_pauses_of_a_long_turn() -> None:
    said, stated = "Perfect.", "Your room is ready."
    alone = judge(TurnEvidence(said, stated), language_of("en"))
    decision = judge(TurnEvidence(said, stated, acknowledges=True), language_of("en"))
    assert alone.silence_s == SILENCES["auto"].certain_s
    assert (decision.rule, decision.silence_s) == ("probability", pytest.approx(0.8, abs=0.01))


def asked_by_the_agent(question: str, **policy: bool) -> CallWorld:
    """Return a call whose agent has asked this."""
    world = CallWorld(SETTINGS, replace(POLICY, language="en", **policy))
    world.say("Hello.")
    world.play_out(world.make(question))
    return world


def test_in_a_call_the_agents_question_decides() -> None:
    for asked, rule in (("What is your last name?", "acknowledgement"), ("Is it for today?", "probability")):
        world = asked_by_the_agent(asked)
        _, decision = pauses(world, "Sure.", 9.0)
        assert decision.rule == rule


def test_logs_of_earlier_builds_replay_as_they_were() -> None:
    world = asked_by_the_agent("When would you like to come?", waits_after_acknowledgement=False)
    _, decision = pauses(world, "Sure.", 9.0)
    assert decision.rule == "probability"
