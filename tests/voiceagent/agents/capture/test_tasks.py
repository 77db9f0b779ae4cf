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
    ],
)
def test_an_email_address_is_corrected_in_part(address: str, text: str, corrected: str | None) -> None:
    assert Email("").correct(address, text, NOW) == corrected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My name is Siobhan S-I-O-B-H-A-N.", "Siobhan"),
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
        ("$25.50", "25.50"),
        ("one thousand two hundred and five", "1205"),
        ("1,200 dollars", "1200"),
        ("a hundred and five", "105"),
        ("twelve hundred", "1200"),
        ("three and a half", "3.5"),
        ("two point five", "2.5"),
        ("fifty cents", "0.5"),
        ("two million", "2000000"),
        ("not so much", None),
    ],
)
def test_an_amount_is_found_in_words_and_figures(text: str, amount: str | None) -> None:
    assert Amount("").hear(text, "", NOW).value == (None if amount is None else Decimal(amount))


def test_an_amount_out_of_bounds_is_refused() -> None:
    task = Amount("", minimum=Decimal(10), maximum=Decimal(100), unit="dollars")
    assert "200 dollars" in task.hear("two hundred", "", NOW).fault
    assert task.hear("two hundred", "", NOW).value is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("tomorrow", date(2026, 11, 29)),
        ("the day after tomorrow", date(2026, 11, 30)),
        ("next Friday", date(2026, 12, 4)),
        ("on Saturday", date(2026, 12, 5)),
        ("May 3rd", date(2027, 5, 3)),
        ("the third of May", date(2027, 5, 3)),
        ("December the twenty first", date(2026, 12, 21)),
        ("March 14, 2028", date(2028, 3, 14)),
        ("3/14/2028", date(2028, 3, 14)),
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


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("at three", time(15)),
        ("3 pm", time(15)),
        ("3 p.m.", time(15)),
        ("at half past nine in the morning", time(9, 30)),
        ("quarter to five", time(16, 45)),
        ("ten past nine", time(9, 10)),
        ("nine thirty", time(9, 30)),
        ("15:30", time(15, 30)),
        ("noon", time(12)),
        ("eight o'clock in the evening", time(20)),
        ("never", None),
    ],
)
def test_a_time_is_found(text: str, clock: time | None) -> None:
    assert Time("").hear(text, "", NOW).value == clock


def test_day_and_time_may_come_apart_and_change_apart() -> None:
    task = DateTime("")
    first = task.hear("next Friday", "", NOW)
    assert (first.value, first.prompt) == (None, "At what time?")
    assert task.hear("at three", first.draft, NOW).value == datetime(2026, 12, 4, 15)
    assert task.hear("tomorrow at half past nine", "", NOW).value == datetime(2026, 11, 29, 9, 30)
    corrected = task.correct(datetime(2026, 12, 4, 15), "at four", NOW)
    assert corrected == datetime(2026, 12, 4, 16)
    assert task.read_back(datetime(2026, 12, 4, 15), NOW, careful=False) == "Friday, December 4, 3:00 PM"


@pytest.mark.parametrize(
    ("now", "text", "found"),
    [
        (GERMAN, "am dritten Mai um halb vier", datetime(2027, 5, 3, 15, 30)),
        (GERMAN, "morgen um 9 Uhr", datetime(2026, 11, 29, 9)),
        (SPANISH, "mañana a las nueve", datetime(2026, 11, 29, 9)),
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
    *("may", "o'clock", "past", "half", "to", "street", ".", ",", "-", "@", "12:30", "3/4"),
)
TASKS: tuple[Task[Any], ...] = (
    Email(""), Name(""), PhoneNumber(""), Card(""), Amount(""), Date(""), Time(""), DateTime(""),
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
