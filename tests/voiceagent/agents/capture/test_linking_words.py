"""Words that callers say around the parts of a value are none of it."""

from __future__ import annotations

from datetime import datetime

import pytest

from voiceagent.agents.capture import Code, Email, Name
from voiceagent.agents.capture.task import Circumstances

NOW = Circumstances("en", datetime(2026, 11, 28, 10, 0))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Carla, that's C A R L A, then the number one, at gmail dot com.", "carla1@gmail.com"),
        ("carla, C A R L A, and then the number one at gmail dot com.", "carla1@gmail.com"),
        ("carla and the number one at gmail dot com.", "carla1@gmail.com"),
        ("carla with the number twenty one at gmail dot com.", "carla21@gmail.com"),
        ("carla followed by 21 at gmail dot com.", "carla21@gmail.com"),
        ("carla, the digits two one, at gmail dot com.", "carla21@gmail.com"),
        ("carla, then a dot, then B, at gmail dot com.", "carla.b@gmail.com"),
        ("carla then the letter B at gmail dot com.", "carlab@gmail.com"),
        ("carla dot the letter B at gmail dot com.", "carla.b@gmail.com"),
        ("carla, an underscore, B, at gmail dot com.", "carla_b@gmail.com"),
        ("john smith, no dot, at gmail dot com.", "johnsmith@gmail.com"),
        ("number one fan at gmail dot com.", "number1fan@gmail.com"),
        ("the dot baker at gmail dot com.", "the.baker@gmail.com"),
        ("now dot and dot then at gmail dot com.", "now.and.then@gmail.com"),
        ("first initial J, last name smith, at gmail dot com.", "jsmith@gmail.com"),
        ("first name john dot last name smith at gmail dot com.", "john.smith@gmail.com"),
        ("my first name dot my last name, so john dot smith, at gmail dot com.", "john.smith@gmail.com"),
        ("sara, without an H, two, at gmail dot com.", "sara2@gmail.com"),
        ("Dylan dot Frost, like the weather at gmail dot com.", "dylan.frost@gmail.com"),
        ("H, then right, that s w-r-i-g-h-t, it's mail dot com.", "hwright@gmail.com"),  # "at gmail"
        ("Ella followed by 2004, etchmail.com.", "ella2004@gmail.com"),
        ("Paula underscored Grant at Shmale Dot Com", "paula_grant@gmail.com"),
        ("Billing at oakline dot net, so a.k.a. I'll write any.", "billing@oakline.net"),
        ("Office at the hill dot company", "office@thehill.company"),
        ("oh, two, b at gmail dot com", "02b@gmail.com"),
        ("E-l-l at 2, 0 at gmail dot com", "ella20@gmail.com"),
    ],
)
def test_what_joins_the_parts_of_an_address_is_none_of_it(text: str, address: str) -> None:
    assert Email("").hear(text, "", NOW).value == address


@pytest.mark.parametrize(
    "before",
    [
        "Om, ", "Oh, ", "Erm, it's ", "Uhm. ", "I think it's ", "Let me see, ", "Sure, no problem. It's ",
        "Try ", "My work email is ", "My emails ", "The best one is ", "That would be ",
    ],
)  # fmt: skip
def test_what_is_said_before_an_address_is_none_of_it(before: str) -> None:
    heard = Email("").hear(f"{before}john smith at gmail dot com. Got it?", "", NOW)
    assert heard.value == "johnsmith@gmail.com"


@pytest.mark.parametrize(
    ("language", "text", "address"),
    [
        ("de", "anna Punkt berg, dann die Zahl sieben, at gmail Punkt com", "anna.berg7@gmail.com"),
        ("de", "anna gefolgt von der Zahl einundzwanzig at gmx Punkt de", "anna21@gmx.de"),
        ("de", "meine Mailadresse ist anna, ein Punkt, berg at web Punkt de", "anna.berg@web.de"),
        ("de", "ähm, das wäre anna at web Punkt de", "anna@web.de"),
        ("es", "ana punto lopez y luego el número siete arroba gmail punto com", "ana.lopez7@gmail.com"),
        ("es", "ana, después un punto, lopez, arroba gmail punto com", "ana.lopez@gmail.com"),
        ("es", "creo que es ana arroba gmail punto com", "ana@gmail.com"),
        ("es", "mi dirección de correo es ana arroba gmail punto com", "ana@gmail.com"),
    ],
)
def test_german_and_spanish_have_such_words_too(language: str, text: str, address: str) -> None:
    assert Email("").hear(text, "", Circumstances(language, NOW.now)).value == address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("john smith, J O H N S M I T H, at gmail dot com", "johnsmith@gmail.com"),
        ("Priya Shah, P R I Y A, S H A H, at gmail dot com", "priyashah@gmail.com"),
        ("Ian McAllister, M C, A, double L, I, S, T, E, R, at gmail dot com", "ianmcallister@gmail.com"),
        ("john dot smith, J O H N dot S M I T H, at gmail dot com", "john.smith@gmail.com"),
        ("info at blue dash sky, B L U E dash S K Y, dot com.", "info@blue-sky.com"),
        ("info at B L U E dass S K Y dot com.", "info@blue-sky.com"),
        ("M. M. Michael Hart at gmail dot com", "mhart@gmail.com"),  # "M as in Michael"
    ],
)
def test_letters_take_the_place_of_all_that_they_spell(text: str, address: str) -> None:
    assert Email("").hear(text, "", NOW).value == address


@pytest.mark.parametrize("text", ["my first name dot last name at gmail dot com.", "at gmail dot com"])
def test_an_answer_with_nothing_but_a_domain_is_asked_for_the_rest(text: str) -> None:
    heard = Email("").hear(text, "", NOW)
    assert (heard.value, heard.draft, heard.prompt) == (None, "@gmail.com", NOW.words.prompts.spell_local)
    assert Email("").hear("J O H N", heard.draft, NOW).value == "john@gmail.com"


def test_a_spelled_name_corrects_one_with_a_hesitation_in_it() -> None:
    assert Email("").correct("omgordon@gmail.com", "G O R D O N", NOW) == "gordon@gmail.com"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Green, like the color.", "Green"),
        ("Francis Cole, Francis with an E.", "Frances Cole"),
        ("Rose like the flower, Baker.", "Rose Baker"),
        ("Hill, like the thing you climb.", "Hill"),
        ("Kavanagh, with a K. K, A, V, A, N, A, G, H.", "Kavanagh"),
        ("Katherine with a C A T H E R I N E", "Catherine"),
    ],
)
def test_what_a_name_is_compared_with_is_none_of_it(text: str, name: str) -> None:
    assert Name("").hear(text, "", NOW).value == name


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("A B, and then the numbers one two three", "AB123"),
        ("nine hundred X T", "900XT"),
        ("E two hundred and five", "E205"),
        ("E two hundred, five", "E2005"),
        ("K D twelve hundred", "KD1200"),
    ],
)
def test_a_code_has_its_hundreds(text: str, code: str) -> None:
    assert Code("").hear(text, "", NOW).value == code
