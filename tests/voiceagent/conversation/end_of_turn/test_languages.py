"""German and Spanish callers are waited for as English ones are, by the words of these languages."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from voiceagent.conversation.end_of_turn.evidence import TurnEvidence, observe
from voiceagent.conversation.end_of_turn.language import TurnEndLanguage, language_of
from voiceagent.conversation.end_of_turn.probability import SILENCES, EndOfTurn, judge, silence_s

PHONE = tomllib.loads(Path(__file__).with_name("phone_sentences.toml").read_text("utf-8"))
QUESTION = {"de": "Was darf es sein?", "es": "¿Qué desea?"}
OFFER = {"de": "Wie kann ich Ihnen helfen?", "es": "¿En qué puedo ayudarle?"}


def language(code: str) -> TurnEndLanguage:
    known = language_of(code)
    assert known is not None
    return known


def judged(code: str, text: str, agent: str = "", sound: float | None = None) -> EndOfTurn:
    return judge(TurnEvidence(text, agent, probability=sound), language(code))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("de", "Was kostet ein Zimmer?"),
        ("de", "Haben Sie einen Pool?"),
        ("de", "Schalte das Licht in der Küche an."),
        ("de", "Wie wird das Wetter morgen?"),
        ("es", "¿Cuánto cuesta una habitación?"),
        ("es", "¿Hay una piscina?"),
        ("es", "Enciende la luz de la cocina."),
        ("es", "¿Qué tiempo hace?"),
    ],
)
def test_a_whole_question_is_waited_for_half_a_second_at_most(code: str, text: str) -> None:
    assert judged(code, text).silence_s <= 0.5


@pytest.mark.parametrize(
    ("code", "text"),
    [
        *(("de", text) for text in ("Was kostet das?", "Wo ist das?", "Wann ist das?", "Ich nehme das.")),
        ("es", "Quiero cancelar."),
    ],
)
def test_a_pronoun_or_a_verb_alone_may_end_a_sentence(code: str, text: str) -> None:
    assert judged(code, text).silence_s <= 0.6


@pytest.mark.parametrize(
    ("code", "text"),
    [
        *(
            ("de", text)
            for text in ("Ja.", "Nein.", "Ja, bitte.", "Sechs.", "Um halb drei.", "Morgen Abend.")
        ),
        *(
            ("es", text)
            for text in ("Sí.", "No.", "Sí, por favor.", "Seis.", "A las tres y media.", "Mañana.")
        ),
    ],
)
def test_a_short_answer_is_waited_for_400_ms_at_most(code: str, text: str) -> None:
    assert judged(code, text).silence_s <= 0.4


@pytest.mark.parametrize(
    ("code", "text"),
    [
        *(("de", text) for text in ("Spanisch.", "Sieben.", "Nach Berlin.", "Am Freitag.", "Ein Bier.")),
        *(("es", text) for text in ("Café.", "Siete.", "A Madrid.", "El viernes.", "Una cerveza.")),
    ],
)
def test_who_was_asked_answers_with_few_words(code: str, text: str) -> None:
    answered = judged(code, text, QUESTION[code])
    assert answered.silence_s <= 0.5
    assert answered.probability >= judged(code, text).probability
    assert judged(code, text, OFFER[code]) == judged(code, text)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        *(("de", text) for text in ("Also.", "Ähm, der.", "Ich glaube.", "Mit meinem.")),
        *(("es", text) for text in ("Pues.", "Eh, el.", "Creo que.", "Con mi.")),
    ],
)
def test_nobody_answers_with_the_beginning_of_a_sentence(code: str, text: str) -> None:
    assert judged(code, text, QUESTION[code]).silence_s > 0.9


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("de", "Ich möchte einen"),
        ("de", "Kann ich ein Zimmer für"),
        ("de", "Ich brauche ein Zimmer, ähm"),
        ("de", "Haben Sie ein Schwimmbad und ein."),
        ("de", "Kann ich das Frühstück in meinem?"),
        ("de", "Wir sind zwei Erwachsene und."),
        ("es", "Quisiera reservar una"),
        ("es", "Necesito una habitación para"),
        ("es", "Necesito una habitación, eh"),
        ("es", "¿Tienen piscina o?"),
        ("es", "¿Puedo desayunar en mi?"),
        ("es", "Somos dos adultos y."),
    ],
)
def test_what_nobody_ends_with_goes_on(code: str, text: str) -> None:
    assert judged(code, text).silence_s >= 0.7


@pytest.mark.parametrize(
    ("whole", "cut"),
    [
        ("Machen Sie das Licht aus.", "Machen Sie das"),
        ("Stellen Sie mich bitte durch.", "Stellen Sie mich"),
        ("Holen Sie uns am Flughafen ab?", "Holen Sie uns am"),
        ("Kann ich den Termin verschieben?", "Kann ich den"),
        ("Kann ich mein Auto über Nacht abstellen?", "Kann ich mein Auto über Nacht"),
        ("Ich rufe Sie morgen an.", "Ich rufe Sie"),
    ],
)
def test_a_german_sentence_ends_with_its_particle_or_verb(whole: str, cut: str) -> None:
    assert judged("de", whole).silence_s <= 0.5
    assert judged("de", cut).silence_s >= 0.7


@pytest.mark.parametrize(
    ("code", "text"),
    [
        *(("de", text) for text in ("Hallo.", "Guten Morgen.", "Okay.", "Also.", "Ich habe eine Frage.")),
        *(("es", text) for text in ("Hola.", "Buenos días.", "Vale.", "Pues.", "Tengo una pregunta.")),
    ],
)
def test_what_leads_up_to_something_is_not_over(code: str, text: str) -> None:
    assert judged(code, text).probability < 0.42


@pytest.mark.parametrize(
    ("code", "condition", "whole"),
    [
        ("de", "Wenn ich spät ankomme", "Wenn ich spät ankomme, kann ich dann noch essen?"),
        ("de", "Falls das Zimmer nicht frei ist", "Falls das Zimmer nicht frei ist, nehme ich das andere."),
        ("es", "Si llego tarde", "Si llego tarde, ¿puedo cenar todavía?"),
        ("es", "Si no hay habitaciones libres", "Si no hay habitaciones libres, llámeme por favor."),
        ("es", "Si la habitación es muy cara", "Si la habitación es muy cara, prefiero la otra."),
    ],
)
def test_a_condition_is_open_until_its_main_clause_comes(code: str, condition: str, whole: str) -> None:
    assert "open condition" in observe(TurnEvidence(condition), language(code))
    assert "open condition" not in observe(TurnEvidence(whole), language(code))
    assert judged(code, whole).silence_s <= 0.5


def test_a_question_mark_tells_where_the_words_of_a_question_are_those_of_a_statement() -> None:
    asks, tells = (
        observe(TurnEvidence(text), language("es")) for text in ("¿Hay una piscina?", "Hay una piscina.")
    )
    assert asks["asks"] > tells["asks"]
    assert asks["tells"] < tells["tells"]


WHOLE = {"de": "Ich hätte gern ein Zimmer für zwei Nächte", "es": "Quisiera reservar una mesa para cuatro"}


@pytest.mark.parametrize("code", ["de", "es"])
def test_nobody_is_surely_over_behind_a_comma(code: str) -> None:
    over, more = (judged(code, WHOLE[code] + mark, sound=0.99) for mark in (".", ","))
    assert over.silence_s == SILENCES["auto"].certain_s
    assert more.silence_s >= SILENCES["auto"].even_s


@pytest.mark.parametrize("code", ["de", "es"])
def test_who_talks_at_length_may_pause_whatever_he_seems_to_ask(code: str) -> None:
    said = f"{WHOLE[code]}. " * 5 + f"{WHOLE[code]}."
    assert judged(code, said, sound=0.99).silence_s == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("code", "longer", "sooner"), [("de", 8, 0), ("es", 5, 0)])
def test_of_sentences_on_the_phone_few_are_waited_for_and_hardly_a_beginning_is_cut(
    code: str, longer: int, sooner: int
) -> None:
    waits = {
        kind: [judged(code, text).silence_s for text in PHONE[code][kind].split("\n") if text]
        for kind in PHONE[code]
    }
    assert sum(wait > 0.6 for wait in waits["whole"]) <= longer
    assert sum(wait < 0.24 for wait in waits["open"]) <= sooner


def test_spoken_digits_are_a_number() -> None:
    ended, goes_on = (
        judged("de", f"Meine Nummer ist null eins sieben{more}") for more in (" zwei drei vier fünf", "")
    )
    assert ended.silence_s < 0.4 < goes_on.silence_s


def test_nobody_asks_in_a_language_whose_requests_nobody_collected() -> None:
    judgement = judge(TurnEvidence("Haben Sie einen"), replace(language("de"), asks=None))
    assert judgement.silence_s == silence_s(judgement.probability, SILENCES["auto"])
