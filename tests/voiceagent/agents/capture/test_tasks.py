"""Values that tasks find in transcripts, as recognizers write them."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.agents.capture import (
    Amount,
    Card,
    Choice,
    Circumstances,
    Code,
    Date,
    DateTime,
    Email,
    Heard,
    Name,
    PhoneNumber,
    PostalAddress,
    Task,
    Time,
    YesNo,
)
from voiceagent.agents.capture.corrections import spell_out
from voiceagent.agents.capture.email import is_address
from voiceagent.agents.capture.numbers import passes_luhn
from voiceagent.agents.capture.symbols import symbols_of

NOW = Circumstances("en", datetime(2026, 11, 28, 10, 0))
GERMAN = Circumstances("de", datetime(2026, 11, 28, 10, 0))
SPANISH = Circumstances("es", datetime(2026, 11, 28, 10, 0))
VALID_CARD = "4242424242424242"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("John dot Smith at gmail dot com.", "john.smith@gmail.com"),
        ("Kate Dart Wilson at yahoo dot com.", "kate.wilson@yahoo.com"),
        ("My email is dart at gmail dot com", "dart@gmail.com"),
        ("It's John.smith at gmail.com", "john.smith@gmail.com"),
        ("Dave at mail dot com.", "dave@gmail.com"),
        ("john.smith@gmail.com", "john.smith@gmail.com"),
        (
            "My email is mary underscore jones 99 at yahoo dot co dot UK, thank you.",
            "mary_jones99@yahoo.co.uk",
        ),
        ("J-O-N at web.de", "jon@web.de"),
        ("J. O. N. dot S. at hotmail dot com", "jon.s@hotmail.com"),
        ("John, J O N, at gmail dot com", "jon@gmail.com"),
        ("Juliett Oscar November at gmail dot com", "jon@gmail.com"),
        ("mike at gmail dot com", "mike@gmail.com"),
        ("B as in boy, o, b at g mail dot com", "bob@gmail.com"),
        ("B for my, o, m for nobody, at gmail dot com", "bon@gmail.com"),  # "boy", and "n for nobody"
        ("double a, four two at example dot org", "aa42@example.org"),
        ("sales plus news at my-shop dot io", "sales+news@my-shop.io"),
        ("anna dash maria at t-online.de", "anna-maria@t-online.de"),
        ("bob at gmail", "bob@gmail.com"),
        ("bob at g-mail.com", "bob@gmail.com"),
        # as recognizers write it
        ("T. Baker at gmail dot com", "t.baker@gmail.com"),
        ("J. O. H. N. at gmail.com", "john@gmail.com"),
        ("Bravo dot Charlie, Alpha Romeo, Tango, Echo Romeo, at Yahoo dot com.", "b.carter@yahoo.com"),
        ("India, Eco, November, Not, Papa, Echo, at Out look, Not, Com.", "ien.pe@outlook.com"),
        ("Daniel at heart mail not come.", "daniel@hotmail.com"),
        ("Tom Hill at web dot D.", "tomhill@web.de"),
        ("Victor Romeo 2. Aticloud.com.", "vr2@icloud.com"),
        ("Victor Romeo at Yahoo Dotco Dot Uk.", "vr@yahoo.co.uk"),
        ("Alexandria too, at e cloud dot com.", "alexandria2@icloud.com"),
        ("Sales for at hotmail dotcom.", "sales4@hotmail.com"),
        ("Echo X-ray Uniform Mike at gmail dot com", "exum@gmail.com"),
        ("Charlie Hotel Alpha November. Lima at gmail.com", "chan.l@gmail.com"),
        ("Charlie. Hotel. Alpha. Lima at gmail.com", "chal@gmail.com"),
        ("Charlie Hotel. Alpha, November, Lima at gmail.com", "chanl@gmail.com"),
        ("Charlie Hotel Alpha November. At gmail.com.", "chan@gmail.com"),
        ("Sierra Mike Alpha. Kilo Lima dot Tango at gmx.de", "sma.kl.t@gmx.de"),
        ("Papa Kilo dot Lima at g m x dot d e", "pk.l@gmx.de"),
        ("Tom at e.com", "tom@e.com"),
        ("Mike dot k a r at gmail dot com", "mike.kar@gmail.com"),
        ("M four M, a, r, S-4 sugar, at gmail dot com", "mars@gmail.com"),  # "M for mother"
        ("B, e, and for nobody, at gmail dot com", "ben@gmail.com"),
        ("C4 cat, o, d, y, at gmail dot com", "cody@gmail.com"),
        ("D4 George, r-u-b4 boy at gmail dot com", "grub@gmail.com"),
        ("T for tommy, oh, m for mother at gmail dot com", "tom@gmail.com"),
        ("A, two, oh, b at gmail dot com", "a20b@gmail.com"),
        ("Bob 42.outlook.com", "bob42@outlook.com"),  # "at" was not heard
        ("Bob forty two and outlook dot com", "bob42@outlook.com"),
        ("Artie artoutlook.com", "artie@outlook.com"),
        ("helpdesk at bright path, all one word, dot org.", "helpdesk@brightpath.org"),
        ("office at lakeside vets, that's one word, dot com", "office@lakesidevets.com"),
        ("S dot O'Connor, without the apostrophe, at gmail dot com", "s.oconnor@gmail.com"),
        ("Nina Dotberg at gmail dot com", "nina.berg@gmail.com"),
        ("Hello, at Green Lantern Dot, I O.", "hello@greenlantern.io"),  # no greeting
        ("Hello, it's hello at red lion dot com", "hello@redlion.com"),
        ("Hello, at gmail dot com, it's bob smith", "bobsmith@gmail.com"),
        ("lena at gmx dot at", "lena@gmx.at"),
        ("Hi, it's Anna at gmail dot com", "anna@gmail.com"),
        ("Wendy Dot Lee, L. I. U. at me dot com.", "wendy.liu@me.com"),
        ("Amy Dotson at gmail dot com", "amydotson@gmail.com"),  # a name
        ("J. C for cat, W. One nine at gmail dot com", "jcw19@gmail.com"),
        ("Nina at gmx dot b e", "nina@gmx.de"),
        ("bob at rocket mail dot com", "bob@rocketmail.com"),
        # the letters spell a word that stands further back
        ("Elin dot Berg, E L I N, at online dot N O", "elin.berg@online.no"),
        ("Ana dot mire, m e r, at web dot d e", "ana.mer@web.de"),
        ("J P dot Martin at free dot F R", "jp.martin@free.fr"),
        # self-corrections
        ("Tim, no sorry, Tom dot Hill, at gmail dot com", "tom.hill@gmail.com"),
        ("john dot smit, I mean smith, at gmail dot com", "john.smith@gmail.com"),
        ("Nora dot Quinn, Q U double N, I mean Q U I double N, at posteo dot net", "nora.quinn@posteo.net"),
        ("john at gmail dot com, no wait, yahoo dot com", "john@yahoo.com"),
        ("john at gmail dot com, sorry, at yahoo dot com", "john@yahoo.com"),
    ],
)
def test_an_email_address_is_found_in_spoken_forms(text: str, address: str) -> None:
    assert Email("").hear(text, "", NOW).value == address


@pytest.mark.parametrize(
    "text",
    [
        "I'm not sure.", "Why do you need that?", "Maybe later.", "I forgot it.", "None of your business.",
        "I have to look at my phone.", "I am at work.", "Absolutely not.", "Do I have to?", "Let me think.",
    ],
)  # fmt: skip
def test_a_doubt_or_refusal_is_no_part_of_an_email_address(text: str) -> None:
    assert Email("").hear(text, "", NOW) == Heard()
    later = Email("").hear(text, "john@", NOW)
    assert (later.value, later.draft) == (None, "john@")


@pytest.mark.parametrize(
    ("language", "text"),
    [("de", "Das weiß ich nicht sicher."), ("es", "No estoy seguro."), ("de", "Warum denn?")],
)
def test_a_doubt_is_no_part_of_an_email_address_in_other_languages(language: str, text: str) -> None:
    assert Email("").hear(text, "", Circumstances(language, NOW.now)) == Heard()


@pytest.mark.parametrize("text", ["John Smith", "will", "J O H N", "sunflower 42", "It's Anna."])
def test_a_name_or_letters_begin_an_email_address(text: str) -> None:
    assert Email("").hear(text, "", NOW).draft.endswith("@")


def test_an_email_address_may_come_in_two_turns() -> None:
    first = Email("").hear("john dot smith", "", NOW)
    assert (first.value, first.draft, first.prompt) == (
        None,
        "john.smith@",
        "And what comes after the at sign?",
    )
    assert Email("").hear("gmail dot com", first.draft, NOW).value == "john.smith@gmail.com"
    assert Email("").hear("at gmail dot com", first.draft, NOW).value == "john.smith@gmail.com"


@pytest.mark.parametrize(
    ("now", "text", "address"),
    [
        (GERMAN, "anton berta punkt müller ät web punkt de", "ab.müller@web.de"),
        (GERMAN, "B wie Berta, O, B at gmx punkt de", "bob@gmx.de"),
        (SPANISH, "juan punto perez arroba gmail punto com", "juan.perez@gmail.com"),
        (SPANISH, "b de barcelona, o, b arroba yahoo punto es", "bob@yahoo.es"),
    ],
)
def test_an_email_address_is_found_in_other_languages(now: Circumstances, text: str, address: str) -> None:
    assert Email("").hear(text, "", now).value == address


@pytest.mark.parametrize(
    ("address", "text", "corrected"),
    [
        ("dob@gmail.com", "B as in boy", "bob@gmail.com"),
        ("dod@gmail.com", "B as in boy", None),  # there are two letters that it may be
        ("mark48@gmail.com", "C as in charlie", "marc48@gmail.com"),
        ("b.short@geeks.de", "at jx dot d e", "b.short@gmx.de"),
        ("bob@gmail.com", "at gmail dot org", "bob@gmail.org"),
        ("dave@yahoo.com", "at mail dot com", "dave@mail.com"),
        ("dave@mail.com", "at mail dot com", "dave@gmail.com"),
        ("dan@gmail.com", "B as in boy", "ban@gmail.com"),
        ("nike@gmail.com", "it's M as in Mike", "mike@gmail.com"),
        ("bob@gmail.com", "it's dot org", "bob@gmail.org"),
        ("bob@shop.co.uk", "dot com", "bob@shop.co.com"),
        ("bob@gmail.com", "it's at yahoo dot com", "bob@yahoo.com"),
        ("bob@gmail.com", "yahoo", "bob@yahoo.com"),
        ("jon.smith@gmail.com", "S M Y T H", "jon.smyth@gmail.com"),
        ("jon@gmail.com", "john at gmail dot com", "john@gmail.com"),
        ("bob@gmail.com", "V, not B", None),  # there are two
        ("bat@gmail.com", "V, not B", "vat@gmail.com"),
        ("scot@gmail.com", "with double t", "scott@gmail.com"),
        ("bob5@gmail.com", "nine, not five", "bob9@gmail.com"),
        ("sara@gmail.com", "the second letter is O", "sora@gmail.com"),
        ("bob@gmail.com", "what is the weather", None),
        ("bob@gmail.com", "not dot com, dot org", "bob@gmail.org"),
        ("bob@shop.com", "not dot com, dot co dot uk", "bob@shop.co.uk"),
        ("bob@gmail.com", "dot org, not dot com", "bob@gmail.org"),
        ("scot@gmail.com", "yes, but with two T's", "scott@gmail.com"),
        ("phillip@gmail.com", "only one L", "philip@gmail.com"),
        ("dan@gmail.com", "not D, B", "ban@gmail.com"),
        ("merry_jones@yahoo.com", "Mary, M A R Y", "mary_jones@yahoo.com"),
        ("john_smith@gmail.com", "it's a dot, not an underscore", "john.smith@gmail.com"),
        ("john.smith@gmail.com", "without the dot", "johnsmith@gmail.com"),
        ("bob@gmail.com", "bob forty two", "bob42@gmail.com"),
        ("dying.murphy@gmail.com", "it's D I A N E", "diane.murphy@gmail.com"),  # a piece, not a part of one
        ("johnatan.lee@gmail.com", "T H A N", "johnathan.lee@gmail.com"),
        ("bills@mapleygrove.net", "m a p l e grove dot net", "bills@maplegrove.net"),
        ("anna.marsh@gmail.com", "H. A. N. N. A. H.", "hannah.marsh@gmail.com"),
        ("sophia@gmail.com", "it's S. Oh, F. I. A.", "sofia@gmail.com"),
        ("jan@harvor.com", "B as in boy", "jan@harbor.com"),
        ("dan@brightpath.org", "B as in boy", "ban@brightpath.org"),  # P is as like, but the name is likelier
    ],
)
def test_an_email_address_is_corrected_in_part(address: str, text: str, corrected: str | None) -> None:
    assert Email("").correct(address, text, NOW) == corrected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My name is Siobhan S-I-O-B-H-A-N.", "Siobhan"),
        ("Sara without an H", "Sara"),
        ("Sarah without an H", "Sara"),
        ("Stefan with a PH", "Stephan"),
        ("Jon with an H", "John"),
        ("Tomas with an H", "Thomas"),
        ("Shudon S-i-o-b-h-a-n", "Siobhan"),
        ("S M I T H", "Smith"),
        ("John Smith, S M Y T H", "John Smyth"),
        ("Anna, A N N A, Meier, M E I E R", "Anna Meier"),
        ("o'hara", "O'Hara"),
        ("Smith-Jones", "Smith-Jones"),
        ("double you, a, y, n, e", "Wayne"),
        ("William H Gates", "William H Gates"),
        ("Oscar Romero", "Oscar Romero"),  # "Romeo" nearly
        ("Mike Charles", "Mike Charles"),
        ("Sierra Mike India Tango Hotle", "Smith"),
        ("I think that you should really know that by now", None),
        ("M C P H E E", "McPhee"),
        ("O'Brien. O, apostrophe, B, R, I, E, N.", "O'Brien"),
        ("Oh Brian, O, apostrophe, B R I E N", "O'Brien"),  # as recognizers write it
        ("O'Brien, O B R I E N", "O'Brien"),  # the sign was said and not spelled
        ("O, haram, o, apostrophe, h, a, r, a.", "O'Hara"),
        ("El-Masri. E, L, dash, M, A, S, R, I.", "El-Masri"),
        ("De Souza. D, E, space, S, O, U, Z, A.", "De Souza"),
        ("Fitzgerald. F, I, T, Z, then G, E, R, A, L, D.", "Fitzgerald"),
        ("John Smith. J O H N S M Y T H", "John Smyth"),  # one row of letters for both words
        ("Anne Dubois, and Dubois is D U B O I S", "Anne Dubois"),
        ("Pieter van der Meer. That's P, I, E, T, E, R, van der, M, E, E, R.", "Pieter Van Der Meer"),
        ("Mary-Kate Evans, with a hyphen", "Mary-Kate Evans"),
        ("Mary Kate Evans, with a hyphen", "Mary-Kate Evans"),
        ("Smith Jones, hyphenated", "Smith-Jones"),
        ("C, a, s, t, i, double l, l, o", "Castillo"),  # no name has three
        ("Catherine with a K, Blythe, B L Y T H E", "Katherine Blythe"),
        ("Steven with a P H, and Clark with an E", "Stephen Clarke"),
        ("Phillip with one L", "Philip"),
        ("Katherine with a C A T H E R I N E", "Catherine"),  # no remark, but letters
        ("Sarah Cooper, sorry", "Sarah Cooper"),
        ("My first name is Tom and my last name is Hill", "Tom Hill"),
        ("Last name Hill, first name Tom", "Tom Hill"),
        ("It's Anna, A N N A, surname's Berg, B E R G", "Anna Berg"),
        ("Ann with a knee", "Anne"),  # "an E", as recognizers write it
        ("Peterson with an E", "Petersen"),
        ("Sarah Conner, sorry, Connor", "Sarah Connor"),
    ],
)
def test_a_name_is_the_letters_that_spell_it(text: str, name: str | None) -> None:
    assert Name("").hear(text, "", NOW).value == name


@pytest.mark.parametrize(
    ("name", "text", "corrected"),
    [
        ("Smith", "with a Y", "Smyth"),
        ("Dan", "B as in boy", "Ban"),
        ("John Smith", "Smyth, S M Y T H", "John Smyth"),
        ("Brian", "Ryan", "Ryan"),
        ("Ana", "double N", "Anna"),
        ("Smidh", "T. M. Tango.", "Smith"),  # "T as in tango", as recognizers write it
        ("Smidh", "T. M. Kilo", "Tmk"),
        ("Patbirg", "E as in echo", "Patberg"),  # of all places of an E, that which makes a name
        ("Corpenter", "as an alpha", "Carpenter"),  # "A as in alpha", as recognizers write it
        ("Corpenter", "it is a alpha", "Carpenter"),
        ("Ball", "A as in alpha", None),  # no place is likelier than another
        ("Wilson", "yes, but with two L's", "Willson"),
        ("Phillip", "only one L", "Philip"),
        ("Clark", "with an E", "Clarke"),
        ("Catherine", "with a K", "Katherine"),
        ("Smith Jones", "it's hyphenated", "Smith-Jones"),
        ("Anne Marie Dubois", "with a hyphen", "Anne-Marie Dubois"),
        ("Obrien", "with an apostrophe", "O'Brien"),
        ("Smith-Jones", "without a hyphen", "Smith Jones"),
        ("Banb", "D, not B", "Band"),  # of two places, that which makes a name
        ("Bob Featherstone", "it's Rob", "Rob Featherstone"),
        ("Tim Montgomery", "that's wrong", None),
        ("Peter Hall", "It's Doctor Hill.", "Peter Hill"),
        ("Brown", "It's Browne with an E", "Browne"),
        ("Kathryn Hill", "Catherine with a C", "Catherine Hill"),
        ("Castilllo", "only one out", None),  # "one L", as recognizers write it, and no other name
    ],
)
def test_a_name_is_corrected_in_part(name: str, text: str, corrected: str | None) -> None:
    assert Name("").correct(name, text, NOW) == corrected


def test_a_phone_number_grows_over_turns() -> None:
    task = PhoneNumber("")
    first = task.hear("five five five, oh one two", "", NOW)
    assert (first.value, first.draft) == (None, "555012")
    assert task.hear("thirty four, fifty six", first.draft, NOW).value == "5550123456"
    assert task.hear("plus four nine, one seven one, 1 2 3 4 5 6 7", "", NOW).value == "+491711234567"


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("five one three, sorry, five one four oh eight", "51408"),
        ("seven two zero, no sorry, seven two oh four four", "72044"),
        ("5 5 3, I mean 4, 0 8", "55408"),
        ("7 1 2, no wait, 7 1 3 4 5", "71345"),
        ("55123, no, 55124", "55124"),
        ("five five one two three, no, two four", "55124"),
    ],
)
def test_digits_that_are_said_again_replace_the_wrong_ones(text: str, digits: str) -> None:
    assert PhoneNumber("", lengths=(5,)).hear(text, "", NOW).value == digits


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("B for Bravo, X, seven four nine two", "BX7492"),
        ("It's S W one A, one A A", "SW1A1AA"),
        ("LS1 4AP.", "LS14AP"),  # as recognizers write it
        ("double A seven", "AA7"),
        ("A B dash 1 2 3", "AB123"),
        ("I don't know it", None),
    ],
)
def test_a_code_has_letters_and_digits(text: str, code: str | None) -> None:
    assert Code("").hear(text, "", NOW).value == code


def test_a_dot_joined_to_a_name_is_one_only_behind_another_part() -> None:
    assert Email("").hear("anna Dotberg at gmail dot com", "", NOW).value == "anna.berg@gmail.com"
    assert Email("").hear("dotberg@gmail.com", "", NOW).value == "dotberg@gmail.com"


@pytest.mark.parametrize("domain", ["acme.com", "ace.com", "home.com", "drive.com", "skylab.com"])
def test_a_domain_that_has_a_short_providers_name_in_it_is_its_own(domain: str) -> None:
    task = Email("")
    assert task.hear(f"bob at {domain}", "", NOW).value == f"bob@{domain}"
    assert task.correct("bob@acne.com", f"at {domain}", NOW) == f"bob@{domain}"
    assert task.hear("bob at jmx dot de", "", NOW).value == "bob@gmx.de"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Smith, first name John", "John Smith"),
        ("Tom is my first name and Hill is my last name", "Tom Hill"),
        ("Hill is my last name and Tom is my first name", "Tom Hill"),
        ("Sure thing. First name Tom, last name Hill", "Tom Hill"),
        ("First and last name? Tom Hill", "Tom Hill"),
        ("my full name is Tom Hill", "Tom Hill"),
        ("first name Tom, middle initial J, last name Hill", "Tom J Hill"),
        ("The name's Hill", "Hill"),
    ],
)
def test_labels_of_a_name_are_none_of_it(text: str, name: str) -> None:
    assert Name("").hear(text, "", NOW).value == name


@pytest.mark.parametrize(
    ("name", "text", "corrected"),
    [
        ("Tom Hill", "last name Hall", "Tom Hall"),
        ("Tom Hill", "the surname is H U L L", "Tom Hull"),
        ("Tom Hill", "my first name is Tim and my last name is Hall", "Tim Hall"),
        ("Tom Hill", "but the first name is Bartholomew", "Bartholomew Hill"),
        ("Tom Lee Hill", "middle name Lea", "Tom Lea Hill"),
        ("Hill", "last name Hall", "Hall"),
        ("Tom Hill", "the last name is Dr. Hall", "Tom Hall"),
        ("Hill", "my first name is Tom", "Tom Hill"),
        ("Tom Hil", "the last name has two L's", "Tom Hill"),
        ("Tom Hill", "T I M H I L L", "Tim Hill"),
        ("Tom Hill", "the last name is wrong", None),
    ],
)
def test_a_part_of_a_name_is_corrected_by_its_label(name: str, text: str, corrected: str | None) -> None:
    assert Name("").correct(name, text, NOW) == corrected


def test_a_code_is_spelled_by_words_among_digits_and_may_begin_anew() -> None:
    task = Code("", lengths=(5,))
    assert task.hear("Kilo, Tango, eight, two, November.", "", NOW).value == "KT82N"
    assert task.hear("K T eight", "KT82", NOW).draft == "KT8"
    assert Code("", lengths=(7,)).hear("Ec 4v, 5bj.", "", NOW).value == "EC4V5BJ"
    assert Code("", lengths=(7,)).hear("It is 4v, 5bj.", "", NOW).draft == "4V5BJ"


@pytest.mark.parametrize(
    ("text", "now"),
    [("and A B 1 2", NOW), ("The AB12", NOW), ("und A B 1 2", GERMAN), ("con A B 1 2", SPANISH)],
)
def test_a_small_word_beside_a_group_is_no_part_of_a_code(text: str, now: Circumstances):
    assert Code("", lengths=(7,)).hear(text, "", now).draft == "AB12"
    assert Code("", lengths=(7,)).hear(text, "BX7", now).value == "BX7AB12"


@pytest.mark.parametrize(("draft", "text"), [("ABC", "and 1 2 3"), ("", "the 1 2 3"), ("", "not 1 2 3")])
def test_words_beside_a_code_are_none_of_its_letters(draft: str, text: str) -> None:
    assert Code("", lengths=(6,)).hear(text, draft, NOW).draft == f"{draft}123"


def test_a_whole_code_or_group_in_place_of_a_similar_one_keeps_the_length() -> None:
    assert Code("").correct("M11AE", "N1 1AE", NOW) == "N11AE"
    assert PhoneNumber("").correct("4155552671", "2672", NOW) == "4155552672"
    assert PhoneNumber("").correct("4155552671", "four one six", NOW) == "4165552671"


def test_a_code_of_known_length_comes_in_groups_and_is_corrected() -> None:
    task = Code("", lengths=(6,))
    first = task.hear("B X", "", NOW)
    assert (first.value, first.draft) == (None, "BX")
    assert task.hear("7 4 9 2", first.draft, NOW).value == "BX7492"
    assert task.hear("7 4 9 2 1", first.draft, NOW).fault
    assert task.correct("DX7492", "B for Bravo", NOW) == "BX7492"
    assert task.correct("BX7499", "the last one is two", NOW) == "BX7492"
    assert task.correct("BX7492", "A X 7 4 9 2", NOW) == "AX7492"


def test_a_whole_value_that_is_said_again_takes_the_place_of_a_part() -> None:
    assert PhoneNumber("", lengths=(10,)).hear("555 012 3456", "55501", NOW).value == "5550123456"
    assert PhoneNumber("", lengths=(10,)).hear("23456", "55501", NOW).value == "5550123456"
    assert Card("").hear("4242 4242 4242 4242", "42424", NOW).value == VALID_CARD
    assert Code("", lengths=(6,)).hear("B X 7 4 9 2", "X7492", NOW).value == "BX7492"


def test_a_turn_that_begins_with_no_corrects_the_digits_before_it() -> None:
    assert PhoneNumber("").hear("no, 555-0124", "5550123", NOW).value == "5550124"
    assert Card("").hear("no, 5788", "45395787", NOW).draft == "45395788"


def test_a_phone_number_of_seven_digits_may_go_on() -> None:
    heard = PhoneNumber("").hear("555 0123", "", NOW)
    assert (heard.value, heard.open) == ("5550123", True)
    assert not PhoneNumber("", lengths=(7,)).hear("555 0123", "", NOW).open


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("nine, not four", "5550123956"),
        ("it ends in 99", "5550123499"),
        ("it begins with 666", "6660123456"),
        ("the third digit is eight", "5580123456"),
        ("666 777 8888", "6667778888"),
    ],
)
def test_a_phone_number_is_corrected_in_part(text: str, corrected: str) -> None:
    assert PhoneNumber("").correct("5550123456", text, NOW) == corrected


@pytest.mark.parametrize("text", ["B as in boy", "no, it's T as in Tom", "with a V", "B, not 3"])
@pytest.mark.parametrize("task", [PhoneNumber(""), Card("")], ids=["phone", "card"])
def test_a_letter_corrects_no_digit(task: PhoneNumber | Card, text: str) -> None:
    """The letter sounds like a digit of the number, whose place it must not take."""
    assert task.correct("5550123456", text, NOW) is None


def test_a_row_of_equal_digits_in_a_card_may_have_one_too_many() -> None:
    task = Card("")
    assert task.hear("4012 8888 88888 1881", "", NOW).value == "4012888888881881"
    assert task.hear("4012 8888 88888 1882", "", NOW).fault
    assert task.hear("4242 4242 4242 4242 4", "", NOW).fault


def test_a_card_with_a_wrong_digit_is_refused() -> None:
    task = Card("")
    assert task.private
    with pytest.raises(TypeError):
        Card("", private=False)  # type: ignore[call-arg]
    assert task.hear("4242 4242 4242 4242", "", NOW).value == VALID_CARD
    assert task.hear("4242 4242 4242 4243", "", NOW).fault
    assert task.read_back(VALID_CARD, NOW, careful=False) == "4 2 4 2"
    assert task.hear("3782 822463 10005", "", NOW).value == "378282246310005"


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("twenty five dollars and fifty cents", "25.5"),
        ("not three hundred, four hundred", "400"),
        ("four hundred, not three hundred", "400"),
        ("three hundred, no, two hundred", "200"),
        ("no more than fifty", "50"),
        ("three oh five", "3.05"),
        ("$25.50", "25.50"),
        ("one thousand two hundred and five", "1205"),
        ("1,200 dollars", "1200"),
        ("a hundred and five", "105"),
        ("twelve hundred", "1200"),
        ("three and a half", "3.5"),
        ("two point five", "2.5"),
        ("fifty cents", "0.5"),
        ("two million", "2000000"),
        ("twelve ninety nine", "12.99"),
        ("three quid fifty", "3.5"),
        ("a dollar fifty", "1.5"),
        ("5k", "5000"),
        ("one and a half thousand", "1500"),
        ("half a million", "500000"),
        ("a couple of hundred", "200"),
        ("minus five", "-5"),
        ("between fifty and a hundred", None),
        ("not so much", None),
    ],
)
def test_an_amount_is_found_in_words_and_figures(text: str, amount: str | None) -> None:
    assert Amount("").hear(text, "", NOW).value == (None if amount is None else Decimal(amount))


def test_a_whole_amount_is_read_back_without_decimals() -> None:
    task = Amount("", unit="dollars")
    for text in ("1.5k", "one and a half thousand"):
        amount = task.hear(text, "", NOW).value
        assert amount is not None
        assert task.read_back(amount, NOW, careful=False) == "1500 dollars"


def test_an_amount_out_of_bounds_is_refused() -> None:
    task = Amount("", minimum=Decimal(10), maximum=Decimal(100), unit="dollars")
    assert "200 dollars" in task.hear("two hundred", "", NOW).fault
    assert task.hear("two hundred", "", NOW).value is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("tomorrow", date(2026, 11, 29)),
        ("Monday, no, Tuesday.", date(2026, 12, 1)),
        ("Monday, sorry, I mean Tuesday.", date(2026, 12, 1)),
        ("Not Monday, Tuesday.", date(2026, 12, 1)),
        ("Tuesday, not Monday.", date(2026, 12, 1)),
        ("Tuesday, no problem.", date(2026, 12, 1)),
        ("Not before Friday.", date(2026, 12, 4)),
        ("last Friday", None),
        ("Tuesday the week after next", date(2026, 12, 8)),
        ("twenty fifth of December", date(2026, 12, 25)),
        ("nineteen eighty five, March third", date(2027, 3, 3)),
        ("the day after tomorrow", date(2026, 11, 30)),
        ("next Friday", date(2026, 12, 4)),
        ("on Saturday", date(2026, 12, 5)),
        ("May 3rd", date(2027, 5, 3)),
        ("the third of May", date(2027, 5, 3)),
        ("December the twenty first", date(2026, 12, 21)),
        ("March 14, 2028", date(2028, 3, 14)),
        ("3/14/2028", date(2028, 3, 14)),
        ("a week on Tuesday", date(2026, 12, 8)),
        ("Tuesday week", date(2026, 12, 8)),
        ("a week from Friday", date(2026, 12, 11)),
        ("the Friday after next", date(2026, 12, 11)),
        ("Friday of next week", date(2026, 12, 4)),
        ("in ten days", date(2026, 12, 8)),
        ("in two weeks", date(2026, 12, 12)),
        ("a fortnight today", date(2026, 12, 12)),
        ("a week tomorrow", date(2026, 12, 6)),
        ("in a month", date(2026, 12, 28)),
        ("the 3rd of next month", date(2026, 12, 3)),
        ("next month on the third", date(2026, 12, 3)),
        ("the last day of the month", date(2026, 11, 30)),
        ("the 15th", date(2026, 12, 15)),
        ("Friday the 4th", date(2026, 12, 4)),
        ("the 2nd would be fine", date(2026, 12, 2)),
        # an ordinal that counts something else
        ("the first appointment on Monday", date(2026, 11, 30)),
        ("on second thought, Friday", date(2026, 12, 4)),
        ("the third one, on Tuesday", date(2026, 12, 1)),
        ("Monday at 8.30", date(2026, 11, 30)),  # no 30th of August
        ("on Christmas Eve", date(2026, 12, 24)),
        ("New Year's Day", date(2027, 1, 1)),
        ("14.3.2028", date(2028, 3, 14)),
        ("next weekend", None),
        ("whenever you may like", None),
        ("February 30th", None),
    ],
)
def test_a_day_is_found(text: str, day: date | None) -> None:
    assert Date("").hear(text, "", NOW).value == day


def test_a_birthday_has_a_year() -> None:
    task = Date("", past=True)
    assert task.hear("May third nineteen eighty seven", "", NOW).value == date(1987, 5, 3)
    assert task.hear("the 3rd of May 1987", "", NOW).value == date(1987, 5, 3)
    assert task.hear("the 3rd of May eighty seven", "", NOW).value == date(1987, 5, 3)
    assert task.hear("3/14/87", "", NOW).value == date(1987, 3, 14)
    assert task.hear("yesterday", "", NOW).value == date(2026, 11, 27)


def test_a_birthday_without_a_year_is_asked_for_it() -> None:
    task = Date("", past=True)
    first = task.hear("the 3rd of May", "", NOW)
    assert (first.value, first.prompt) == (None, "And in which year?")
    assert task.hear("nineteen eighty seven", first.draft, NOW).value == date(1987, 5, 3)


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("at three", time(15)),
        ("at three, no, at four", time(16)),
        ("not at three, at four", time(16)),
        ("nine please", time(9)),
        ("let's say nine thirty", time(9, 30)),
        ("9 sharp", time(9)),
        ("two people", None),
        ("3 pm", time(15)),
        ("3 p.m.", time(15)),
        ("at half past nine in the morning", time(9, 30)),
        ("quarter to five", time(16, 45)),
        ("ten past nine", time(9, 10)),
        ("nine thirty", time(9, 30)),
        ("15:30", time(15, 30)),
        ("noon", time(12)),
        ("eight o'clock in the evening", time(20)),
        ("half seven", time(7, 30)),
        ("half seven in the evening", time(19, 30)),
        ("quarter of six", time(17, 45)),
        ("eight oh five", time(8, 5)),
        ("fifteen hundred hours", time(15)),
        ("0800", time(8)),
        ("8.30", time(8, 30)),
        ("24:00", time(0)),
        ("twelve at night", time(0)),
        ("just after nine", time(9)),
        ("December 24", None),
        ("December the fifth 2026", None),  # a year
        ("12/05/2026", None),
        ("about ten people", None),
        ("about two weeks from Monday at ten", time(10)),
        ("two to four", None),  # a range
        ("from two to four pm", None),
        ("from ten till six", None),
        ("between 9 and 11 am", None),
        ("between 10:00 and 11:00", None),
        ("2pm to 4pm", None),
        ("9 a.m. to 5 p.m.", None),
        ("2:30 to 3:30", None),
        ("10:00-11:30", None),
        ("two o'clock to three o'clock", None),
        ("from noon till three", None),
        ("nine to noon", None),
        ("fourteen to sixteen", None),
        ("nine thirty to ten", None),
        ("ten to six", time(17, 50)),
        ("fifteen to three", time(14, 45)),
        ("ten minutes to five pm", time(16, 50)),
        ("five to 4 pm", time(15, 55)),
        ("two minutes to four", time(15, 58)),
        ("never", None),
    ],
)
def test_a_time_is_found(text: str, clock: time | None) -> None:
    assert Time("").hear(text, "", NOW).value == clock


@pytest.mark.parametrize("text", ["von 14 bis 16 Uhr", "zwischen zwei und vier", "neun bis zehn Uhr"])
def test_a_range_of_times_is_none_in_german(text: str) -> None:
    assert Time("").hear(text, "", GERMAN).value is None


def test_day_and_time_may_come_apart_and_change_apart() -> None:
    task = DateTime("")
    first = task.hear("next Friday", "", NOW)
    assert (first.value, first.prompt) == (None, "At what time?")
    assert task.hear("at three", first.draft, NOW).value == datetime(2026, 12, 4, 15)
    assert task.hear("tomorrow at half past nine", "", NOW).value == datetime(2026, 11, 29, 9, 30)
    assert task.hear("Monday at three, no, at four", "", NOW).value == datetime(2026, 11, 30, 16)
    assert task.hear("Friday, not before 5", "", NOW).value == datetime(2026, 12, 4, 17)
    assert task.hear("Friday nine", "", NOW).value == datetime(2026, 12, 4, 9)
    assert task.hear("tomorrow at 24:00", "", NOW).value == datetime(2026, 11, 30)
    assert task.hear("midnight tonight", "", NOW).value == datetime(2026, 11, 29)
    assert task.hear("tomorrow at midnight", "", NOW).value == datetime(2026, 11, 29)
    corrected = task.correct(datetime(2026, 12, 4, 15), "at four", NOW)
    assert corrected == datetime(2026, 12, 4, 16)
    assert task.read_back(datetime(2026, 12, 4, 15), NOW, careful=False) == "Friday, December 4, 3:00 PM"


@pytest.mark.parametrize(
    ("now", "text", "found"),
    [
        (GERMAN, "am dritten Mai um halb vier", datetime(2027, 5, 3, 15, 30)),
        (GERMAN, "morgen um 9 Uhr", datetime(2026, 11, 29, 9)),
        (SPANISH, "mañana a las nueve", datetime(2026, 11, 29, 9)),
        (GERMAN, "Dienstag in einer Woche um fünf vor halb neun", datetime(2026, 12, 8, 8, 25)),
        (GERMAN, "in zwei Wochen um Viertel nach neun", datetime(2026, 12, 12, 9, 15)),
        (GERMAN, "heute in acht Tagen um drei viertel neun", datetime(2026, 12, 5, 8, 45)),
        (GERMAN, "am dritten um 24 Uhr", datetime(2026, 12, 4, 0)),
        (GERMAN, "am 12.05. um 8 Uhr", datetime(2027, 5, 12, 8)),
        (GERMAN, "am Montag um 8.10 Uhr", datetime(2026, 11, 30, 8, 10)),
        (GERMAN, "am Montag, 8.30.", datetime(2026, 11, 30, 8, 30)),
        (GERMAN, "der erste Termin am Montag um neun", datetime(2026, 11, 30, 9)),
        (SPANISH, "pasado mañana a las nueve y media", datetime(2026, 11, 30, 9, 30)),
        (SPANISH, "en dos semanas a las nueve menos cuarto", datetime(2026, 12, 12, 8, 45)),
    ],
)
def test_day_and_time_are_found_in_other_languages(now: Circumstances, text: str, found: datetime) -> None:
    assert DateTime("").hear(text, "", now).value == found


def test_an_address_has_street_town_and_postcode() -> None:
    task = PostalAddress("")
    whole = task.hear("It's 12 Main Street, Springfield, Illinois, 6 2 7 0 4", "", NOW).value
    assert whole is not None
    assert str(whole) == "12 Main Street, Springfield, Illinois 62704"
    first = task.hear("forty two Oak Avenue", "", NOW)
    assert (first.value, first.prompt) == (None, "And the town and the postcode?")
    assert str(task.hear("Boston, 02134", first.draft, NOW).value) == "42 Oak Avenue, Boston, 02134"
    assert str(task.correct(whole, "62 705", NOW)) == "12 Main Street, Springfield, Illinois 62705"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("14 Mill Lane, Leeds, LS1 4AP", "14 Mill Lane, Leeds, LS1 4AP"),
        ("fourteen mill lane leeds L S one four A P", "14 Mill Lane, Leeds, LS1 4AP"),
        ("two twenty one B Baker Street, London, N W one six X E", "221B Baker Street, London, NW1 6XE"),
        ("Flat 3, 22 Queen's Road, Bristol, BS8 1QE", "Flat 3, 22 Queen's Road, Bristol, BS8 1QE"),
        (
            "forty two Oak Avenue, apartment five, Boston, Massachusetts, oh two one three four",
            "42 Oak Avenue, Apartment 5, Boston, Massachusetts 02134",
        ),
        (
            "one hundred twenty three Oak Avenue, Dallas, Texas, 75201",
            "123 Oak Avenue, Dallas, Texas 75201",
        ),
        ("The Old Rectory, Church Lane, Bath, BA2 7DX", "The Old Rectory, Church Lane, Bath, BA2 7DX"),
        ("10 King Street West, Toronto, M5H 1A1", "10 King Street West, Toronto, M5H 1A1"),
        (
            "1600 Pennsylvania Avenue, Washington D C, two oh five hundred",
            "1600 Pennsylvania Avenue, Washington DC, 20500",
        ),
    ],
)
def test_addresses_of_several_countries_are_found(text: str, address: str) -> None:
    assert str(PostalAddress("").hear(text, "", NOW).value) == address


def test_a_german_street_may_begin_with_a_preposition() -> None:
    assert str(PostalAddress("").hear("Am Markt 5, Bremen, 28195", "", GERMAN).value) == (
        "Am Markt 5, Bremen, 28195"
    )


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Yes.", True),
        ("yeah sure", True),
        ("That's right, thank you.", True),
        ("um, yes please", True),
        ("no", False),
        ("No, I don't", False),
        ("what time is it", None),
    ],
)
def test_yes_and_no_are_found(text: str, answer: bool | None) -> None:
    assert YesNo("").hear(text, "", NOW).value is answer


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("I'd take the large one", "large"),
        ("the second one", "medium"),
        ("two", "medium"),
        ("lurge", "large"),
        ("extra large", "extra large"),
        ("no idea", None),
    ],
)
def test_a_choice_is_found_by_name_position_or_likeness(text: str, option: str | None) -> None:
    task = Choice("", options=("small", "medium", "large", "extra large"))
    assert task.hear(text, "", NOW).value == option


def test_a_choice_needs_options() -> None:
    with pytest.raises(ValueError, match="two or more"):
        Choice("", options=("one",))


@given(
    st.from_regex(r"[a-z0-9]{1,8}([._-][a-z0-9]{1,8}){0,2}", fullmatch=True),
    st.sampled_from(("web.de", "x.org", "gmail.com")),
)
def test_an_address_that_is_read_back_is_understood_again(local: str, domain: str) -> None:
    """Hold for each address: a caller who repeats the read-back says the same address."""
    address = f"{local}@{domain}"
    spoken = Email("").read_back(address, NOW, careful=False)
    assert Email("").hear(spoken, "", NOW).value == address


@given(st.from_regex(r"[a-z]{2,12}", fullmatch=True), st.booleans())
def test_letters_that_are_spelled_out_are_understood(word: str, careful: bool) -> None:
    spoken = spell_out(word, NOW.words, careful)
    assert "".join(symbol.text for symbol in symbols_of(spoken, "en")) == word


@given(st.text(alphabet="0123456789", min_size=15, max_size=15))
def test_one_wrong_digit_never_passes(digits: str) -> None:
    check = next(digit for digit in "0123456789" if passes_luhn(digits + digit))
    right = digits + check
    for at in range(16):
        other = str((int(right[at]) + 1) % 10)
        assert not passes_luhn(right[:at] + other + right[at + 1 :])


WORDS = (
    *("yes", "no", "a", "b", "c", "at", "dot", "not", "double", "the", "third", "letter", "is", "five", "42"),
    *("may", "o'clock", "past", "half", "to", "street", ".", ",", "-", "@", "12:30", "3/4", "sorry", "in"),
    *("with", "hyphen", "two", "l's", "week", "next", "month", "3rd", "on", "monday", "viertel", "menos"),
)
TASKS: tuple[Task[Any], ...] = (
    Email(""), Name(""), Code(""), PhoneNumber(""), Card(""), Amount(""), Date(""), Time(""), DateTime(""),
    PostalAddress(""), YesNo(""), Choice("", options=("red", "green")),
)  # fmt: skip


@given(
    st.sampled_from(TASKS),
    st.text(max_size=40) | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.sampled_from((NOW, GERMAN, SPANISH)),
)
def test_no_text_breaks_a_task(task: Task[Any], text: str, now: Circumstances) -> None:
    heard = task.hear(text, "", now)
    if heard.value is not None:
        assert task.read_back(heard.value, now, careful=True)
        task.correct(heard.value, text, now)
    if isinstance(task, Email) and heard.value is not None:
        assert is_address(heard.value)


@pytest.mark.parametrize(
    ("text", "language", "clock"),
    [
        ("quarter to one", "en", time(12, 45)),
        ("ten to one in the morning", "en", time(0, 50)),
        ("halb eins", "de", time(12, 30)),
    ],
)
def test_hour_before_one_is_twelve(text: str, language: str, clock: time) -> None:
    assert Time("").hear(text, "", Circumstances(language, NOW.now)).value == clock


def test_numbers_too_large_are_not_understood() -> None:
    assert Date("").hear(f"may 5 nineteen {'9' * 20}", "", NOW).value is None
    assert Amount("").hear("five " + "hundred " * 20 + "and five", "", NOW).value is None


@pytest.mark.parametrize(
    ("task", "text", "value", "now"),
    [
        (PhoneNumber(""), "five five five, eight hundred, twenty one twelve", "5558002112", NOW),
        (PhoneNumber(""), "two one two five five five three thousand", "2125553000", NOW),
        (PhoneNumber(""), "nine hundred and eleven, five five five, one two one two", "9115551212", NOW),
        (PhoneNumber(""), "two hundred twelve, five five five, one thousand", "2125551000", NOW),
        (PhoneNumber(""), "three hundred three, eight hundred five five five one", "3038005551", NOW),
        (PhoneNumber(""), "eight hundred and one five five five two thousand", "8015552000", NOW),
        (PhoneNumber(""), "seiscientos doce, treinta y cuatro, cinco seis, setenta", "612345670", SPANISH),
        (PhoneNumber(""), "null drei null, neunhundert, eins acht zwei, null", "0309001820", GERMAN),
        (PhoneNumber(""), "nueve uno, quinientos, veinte, treinta, uno", "9150020301", SPANISH),
        (PhoneNumber(""), "five five five, four hundred twelve, nine nine", "55541299", NOW),
        (PhoneNumber(""), "three hundred and five, five five five, one two one two", "3055551212", NOW),
        (PhoneNumber(""), "one eight hundred five five five one two one two", "18005551212", NOW),
        (PhoneNumber(""), "five five five, two thousand twelve", "5552012", NOW),
        (PhoneNumber(""), "five five five one thousand two hundred thirty four", "5551234", NOW),
        (PhoneNumber(""), "null drei null neunhundert zwölf eins zwei drei", "030912123", GERMAN),
        (PhoneNumber(""), "seiscientos doce, treinta y cuatro, cincuenta", "6123450", SPANISH),
        (PhoneNumber(""), "nueve cien veinte treinta", "91002030", SPANISH),
        (Name(""), "mi nombre completo es Juan Pérez", "Juan Pérez", SPANISH),
        (Name(""), "a nombre de María", "María", SPANISH),
        (Time(""), "a la una del mediodía", time(13), SPANISH),
        (Name(""), "last name Hill, no, Hall", "Hall", NOW),
        (Name(""), "first name Ian, last name Park, no, Parks", "Ian Parks", NOW),
        (Name(""), "Nachname Müller", "Müller", GERMAN),
        (Name(""), "Nachname Schulz, Vorname Anna", "Anna Schulz", GERMAN),
        (Name(""), "mi apellido es García", "García", SPANISH),
        (Name(""), "apellido Ramos, nombre Lucía", "Lucía Ramos", SPANISH),
        (Email(""), "lucy at max dot com", "lucy@max.com", NOW),
        (Email(""), "tim at apple dot com", "tim@apple.com", NOW),
        (Email(""), "lucy at g max dot com", "lucy@gmx.com", NOW),
        (Email(""), "you can send it to lucy at max dot com", "lucy@max.com", NOW),
        (Name(""), "Hill, no, Hall, no, Hull", "Hull", NOW),
        (Name(""), "Dr. Peter Langley", "Peter Langley", NOW),
        (Name(""), "Dr. O'Brien", "O'Brien", NOW),
        (Name(""), "Mrs. J. Smith", "J Smith", NOW),
        (Name(""), "Mr. and Mrs. Hill", "Hill", NOW),
        (Name(""), "Mr. T", "Mr T", NOW),
        (Name(""), "This is Jane Jones speaking", "Jane Jones", NOW),
        (Name(""), "Hi, Peter Hill here", "Peter Hill", NOW),
        (Name(""), "My name is Professor Jane Hill", "Jane Hill", NOW),
        (Name(""), "Frau Lang", "Lang", GERMAN),
        (Name(""), "Missy Drake", "Missy Drake", NOW),
        (Name(""), "first name Dr. Tom, last name Hill", "Tom Hill", NOW),
        (Name(""), "Herr Lang, Vorname Uwe", "Uwe Lang", GERMAN),
        (Email(""), "hello at gmail dot com it's bob smith", "bobsmith@gmail.com", NOW),
        (Email(""), "hello at gmail dot com", "hello@gmail.com", NOW),
        (Email(""), "sure, at gmail dot com, that's it", None, NOW),
        (Email(""), "yes, at gmail dot com, that's right", None, NOW),
        (Email(""), "Steve.p. Long at Gmail dot com.", "steve.p.long@gmail.com", NOW),
        (Email(""), "e m m a to zero one nine at yahoo dot com", "emma2019@yahoo.com", NOW),
        (Email(""), "tom for 2 at yahoo dot com", "tom42@yahoo.com", NOW),
        (Time(""), "half an hour before midnight", time(23, 30), NOW),
        (Time(""), "an hour before noon", time(11), NOW),
        (Time(""), "an hour and a half before midnight", time(22, 30), NOW),
        (Time(""), "three quarters of an hour after two", time(14, 45), NOW),
        (Time(""), "two hours after half past nine", time(11, 30), NOW),
        (Time(""), "an hour before the concert", None, NOW),
        (Time(""), "a quarter of an hour to four", time(15, 45), NOW),
        (Time(""), "ten minutes after noon", time(12, 10), NOW),
        (Time(""), "in half an hour", None, NOW),
        (Time(""), "ten to noon", time(11, 50), NOW),
        (Time(""), "quarter past noon", time(12, 15), NOW),
        (Time(""), "twenty to midnight", time(23, 40), NOW),
        (Time(""), "half past midnight", time(0, 30), NOW),
        (Time(""), "Viertel nach Mitternacht", time(0, 15), GERMAN),
        (Time(""), "a las doce menos veinte del mediodía", time(11, 40), SPANISH),
        (Time(""), "At 10 with 2 to 3 friends", time(10), NOW),
        (Time(""), "8 to 10 people at seven", time(7), NOW),
        (Time(""), "zwei bis drei Personen um acht", time(8), GERMAN),
        (Time(""), "two to four", None, NOW),
    ],
)
def test_ways_of_saying_a_value(task: Task[Any], text: str, value: object, now: Circumstances) -> None:
    assert task.hear(text, "", now).value == value


@pytest.mark.parametrize(
    ("value", "text", "now"),
    [
        ("Anna Schulz", "der Nachname ist falsch", GERMAN),
        ("Anna Schulz", "der Vorname stimmt nicht", GERMAN),
        ("Anna Schulz", "der Nachname wird mit tz geschrieben", GERMAN),
        ("Ana García", "el apellido está mal", SPANISH),
        ("Ana García", "el nombre no es correcto", SPANISH),
    ],
)
def test_a_remark_on_a_part_of_a_name_is_no_other_name(value: str, text: str, now: Circumstances) -> None:
    assert Name("").correct(value, text, now) is None
