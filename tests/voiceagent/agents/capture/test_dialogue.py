"""The dialogue: ask, read back, correct, give up."""

from __future__ import annotations

from datetime import datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers import Spelling
from voiceagent.agents.capture import (
    Amount,
    Card,
    Choice,
    Circumstances,
    Code,
    Email,
    Name,
    PhoneNumber,
    Task,
    Time,
    YesNo,
)
from voiceagent.agents.capture.dialogue import MAX_CHARACTERS, Ask, Captured, Dialogue

NOW = Circumstances("en", datetime(2026, 11, 28, 10, 0))
QUESTION = "What is your e-mail address?"
SPELL = "Sorry. Please spell it for me, letter by letter."
SPELL_LOCAL = (
    "Sorry. Please spell the part before the at sign with a word for each letter, like A as in Alpha."
)
SPELL_DOMAIN = "Please spell what comes after the at sign, too, with a word for each letter."


def ask(text: str, dictated: bool = False, spelled: Spelling = "letters") -> Ask:
    """Return a step of a task whose answer may be spelled."""
    return Ask(text, dictated, spelled)


def hold(task: Task[Any], *turns: str) -> tuple[Dialogue[Any], Ask | Captured[Any]]:
    """Return the dialogue after these turns, and its last step. "<5>" presses a key, "" is a silence."""
    dialogue = Dialogue(task, NOW)
    step: Ask | Captured[Any] = dialogue.begin()
    for turn in turns:
        assert isinstance(step, Ask), f"it was over before {turn!r}"
        if turn.startswith("<"):
            step = dialogue.on_key(turn[1])
        else:
            step = dialogue.on_words(turn) if turn else dialogue.on_silence()
    return dialogue, step


@pytest.mark.parametrize(
    ("remark", "answer", "name"),
    [
        ("The last name is wrong.", "H U L L", "Tom Hull"),
        ("No, my first name is not correct.", "It's Paul.", "Paul Hill"),
        ("The last name isn't right.", "Tom Hull.", "Tom Hull"),
        ("The last name is still wrong.", "No, it's Tom Hull.", "Tom Hull"),
        ("The last name is wrong.", "The last name is Hull.", "Tom Hull"),
        ("The last name is wrong.", "My name is Jon Hull.", "Jon Hull"),
        ("The last name is wrong.", "De Souza.", "Tom De Souza"),
        ("The last name is wrong.", "What?", "Tom Hill"),
    ],
)
def test_a_part_that_is_called_wrong_is_asked_for_alone(remark: str, answer: str, name: str) -> None:
    assert hold(Name("Name?"), "Tom Hill", remark)[1] == Ask(SPELL, True, "name")
    assert hold(Name("Name?"), "Tom Hill", remark, answer)[0].value == name
    assert hold(Name("Name?"), "Tom Hill", remark, "Yes.")[1] == Captured("Tom Hill")


def test_a_part_that_is_called_right_is_not_asked_for() -> None:
    assert hold(Name("Name?"), "Tom Hill", "The last name is right.")[1] != Ask(SPELL, True, "name")


def test_a_domain_is_not_drawn_to_the_one_that_was_refused() -> None:
    dialogue, _ = hold(Email(QUESTION), "bob at gmx dot be")
    assert dialogue.value == "bob@gmx.de"
    assert dialogue.on_words("no, at g m x dot b e") != ask(QUESTION)
    assert dialogue.value == "bob@gmx.be"


def test_a_value_is_read_back_and_confirmed() -> None:
    dialogue, step = hold(Email(QUESTION), "bob at gmail dot com")
    assert step == ask("I have B, O, B, at gmail.com. Is that right?", dictated=False)
    assert dialogue.on_words("Yes, that's right.") == Captured("bob@gmail.com")
    assert dialogue.corrections == 0


def test_only_a_question_for_a_yes_has_answers_over_its_last_words() -> None:
    dialogue, _ = hold(Email(QUESTION))
    assert dialogue.answers == ()
    dialogue.on_words("bob at gmail dot com")
    assert {"yes", "uh huh"} <= set(dialogue.answers)
    dialogue.on_words("No.")
    assert dialogue.answers == ()
    assert "yes" in hold(YesNo("Shall I book it?"))[0].answers


def test_a_correction_is_read_back_with_examples() -> None:
    dialogue, step = hold(Email(QUESTION), "dan at gmail dot com", "No, B as in boy.")
    assert isinstance(step, Ask)
    assert step.text.startswith("I have B as in Bravo, A as in Al")
    assert dialogue.on_words("yes") == Captured("ban@gmail.com")
    assert dialogue.corrections == 1


def test_a_yes_with_a_correction_is_no_yes() -> None:
    dialogue, step = hold(Name("Name?"), "Wilson", "Yes, but with two L's.")
    assert isinstance(step, Ask)
    assert step.text.startswith("I have Willson")
    assert dialogue.on_words("Yes.") == Captured("Willson")


def test_a_value_that_is_spelled_after_a_no_is_read_back_though_it_is_the_same() -> None:
    dialogue, step = hold(Name("Name?"), "Byrne", "No, B Y R N E.")
    assert isinstance(step, Ask)
    assert step.text.startswith("I have Byrne: B as in Bravo, Y")
    assert dialogue.on_words("No, B Y R N E.") == ask(SPELL, dictated=True, spelled="name")


def test_a_whole_name_in_one_row_of_letters_is_the_same_value() -> None:
    _, step = hold(Name("Your name?"), "Tom Hill", "no, T O M H I L L")
    assert isinstance(step, Ask)
    assert step.text.startswith("I have Tom Hill: T as in Tango")


def test_what_is_misheard_after_a_no_does_not_read_the_same_value_back() -> None:
    _, step = hold(Email(QUESTION), "s dot okafor at yahoo dot com", "No, no, Kf. Kf. F. O. R.")
    assert step == ask(SPELL_LOCAL, dictated=True)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Detaylor84 at gmail dot com", "dtaylor84@gmail.com"),
        ("Jcw-1979 at gmail dot com", "jcw1979@gmail.com"),
        ("M. Bennett, twenty seven at gmail dot com", "mbennett27@gmail.com"),
        ("Katie Nash Ross at gmail dot com", "katie-ross@gmail.com"),
    ],
)
def test_a_bare_no_offers_what_recognizers_write_otherwise_and_then_asks(said: str, meant: str) -> None:
    dialogue, _ = hold(Email(QUESTION), said, "No.")
    assert dialogue.value == meant
    assert dialogue.on_words("No.") == ask(SPELL_LOCAL, dictated=True)


def test_a_domain_in_answer_to_the_question_for_it_keeps_the_first_part() -> None:
    dialogue, _ = hold(Email(QUESTION), "Kim", "proton mail dot com")
    assert dialogue.value == "kim@protonmail.com"


def test_a_correction_of_the_first_part_casts_no_doubt_on_the_domain() -> None:
    dialogue, _ = hold(Email(QUESTION), "ann at gmail dot com", "No, Ben, B E N.", "No.", "D A N")
    assert dialogue.value == "dan@gmail.com"


def test_a_bare_no_asks_to_spell_all_of_it() -> None:
    _, step = hold(Name(QUESTION), "John", "No.")
    assert step == ask(SPELL, dictated=True, spelled="name")


def test_of_an_address_with_a_large_providers_domain_the_other_part_is_asked_for() -> None:
    dialogue, step = hold(Email(QUESTION), "jon at gmail dot com", "No.")
    assert step == ask(SPELL_LOCAL, dictated=True)
    dialogue.on_words("J O H N")
    assert dialogue.value == "john@gmail.com"


def test_of_another_address_both_parts_are_asked_for_one_after_the_other() -> None:
    dialogue, step = hold(Email(QUESTION), "jon at red lying dot org", "No.")
    assert step == ask(SPELL_LOCAL, dictated=True)
    assert dialogue.on_words("J O H N") == ask(SPELL_DOMAIN, dictated=True, spelled="domain")
    dialogue.on_words("R E D L I O N dot org")
    assert dialogue.value == "john@redlion.org"


@pytest.mark.parametrize("refused", ["jon at gmail dot com", "jon at red lying dot org"])
def test_who_is_asked_for_a_part_of_an_address_may_say_all_of_it(refused: str) -> None:
    dialogue, _ = hold(Email(QUESTION), refused, "No.", "john at yahoo dot com")
    assert dialogue.value == "john@yahoo.com"


def test_a_large_providers_domain_is_asked_for_once_the_address_was_wrong_twice() -> None:
    _, step = hold(Email(QUESTION), "jon at gmail dot com", "No.", "J O H M", "No.", "J O H N")
    assert step == ask(SPELL_DOMAIN, dictated=True, spelled="domain")


def test_a_remark_is_no_answer_to_the_question_for_a_part_of_an_address() -> None:
    dialogue, step = hold(Email(QUESTION), "jon at gmail dot com", "No.", "Why do you need that?")
    assert step == ask(SPELL_LOCAL, dictated=True)
    dialogue.on_words("J O H N")
    assert dialogue.value == "john@gmail.com"


def test_a_domain_that_is_not_understood_is_asked_for_alone() -> None:
    dialogue, step = hold(Email(QUESTION), "john", "I have to look that up")
    assert step == ask(SPELL_DOMAIN, dictated=True, spelled="domain")
    dialogue.on_words("at R E D L I O N dot org")
    assert dialogue.value == "john@redlion.org"


@pytest.mark.parametrize("no", ["You know,", "Know.", "You, no."])
def test_a_no_that_was_misheard_refuses(no: str) -> None:
    _, step = hold(PhoneNumber(QUESTION, lengths=(7,)), "5 5 5 0 1 2 3", no)
    assert step == ask("Sorry. Please say it once more.", dictated=True, spelled="")


def test_a_value_that_was_refused_is_not_read_back_at_once_again() -> None:
    dialogue, step = hold(Name(QUESTION), "Meyer", "No.", "M E Y E R")
    assert step == ask(
        "Sorry. Please spell it with a word for each letter, like A as in Alpha.",
        dictated=True,
        spelled="name",
    )
    step = dialogue.on_words("Mike Echo Yankee Echo Romeo")
    assert isinstance(step, Ask)
    assert step.text.startswith("I have Meyer")  # said twice, it is right


def test_a_correction_does_not_lead_back_to_a_refused_value() -> None:
    _, step = hold(Email(QUESTION), "dan at gmail dot com", "No, B as in boy.", "No, D as in dog.")
    assert step == ask(SPELL_LOCAL, dictated=True)


def test_a_letter_with_an_example_refuses_although_its_no_was_misheard() -> None:
    _, step = hold(Email(QUESTION), "dod at gmail dot com", "Noti as in tango.")
    assert step == ask(SPELL_LOCAL, dictated=True)


@pytest.mark.parametrize(
    ("task", "turns", "spelled"),
    [
        (Email(QUESTION), (), "email"),
        (Email(QUESTION), ("john",), "domain"),
        (Email(QUESTION), ("john at gmail dot com",), "letters"),
        (Email(QUESTION), ("john at gmail dot com", "no"), "letters"),
        (Email(QUESTION), ("",), "email"),
        (Name(""), (), "name"),
        (Name(""), ("J O N",), "name"),
        (Name(""), ("J O N", "no"), "name"),
        (Code(""), (), "code"),
        (Code(""), ("B X 7",), "code"),
        (PhoneNumber(""), (), ""),
    ],
)
def test_the_recognizer_is_given_what_the_answer_is_likely_to_have(
    task: Task[Any], turns: tuple[str, ...], spelled: Spelling
) -> None:
    dialogue = Dialogue(task, NOW)
    step = dialogue.begin()
    for turn in turns:
        step = dialogue.on_words(turn)
    assert isinstance(step, Ask)
    assert step.spelled == spelled


def test_a_new_value_replaces_the_one_that_was_read_back() -> None:
    dialogue, step = hold(Email(QUESTION), "jon at gmail dot com", "john, j o h n, at gmail dot com")
    assert isinstance(step, Ask)
    assert dialogue.on_words("correct") == Captured("john@gmail.com")


@pytest.mark.parametrize("words", ["never mind", "I don't have one.", "Forget it."])
def test_a_caller_who_gives_up_gives_nothing(words: str) -> None:
    assert hold(Email(QUESTION), words)[1] == Captured(None)
    assert hold(Email(QUESTION), "bob at gmail dot com", words)[1] == Captured(None)


def test_a_caller_who_is_never_understood_is_let_go() -> None:
    assert hold(Email(QUESTION), *["could you tell me the time please"] * 4)[1] == Captured(None)


def test_silence_repeats_the_question_and_then_gives_up() -> None:
    assert hold(Email(QUESTION), "")[1] == ask(QUESTION, dictated=True, spelled="email")
    assert hold(Email(QUESTION), "", "", "")[1] == Captured(None)


def test_a_moment_is_granted_and_is_no_answer() -> None:
    assert hold(Email(QUESTION), "One moment, please.")[1] == ask("", dictated=True, spelled="email")


def test_a_question_back_repeats_what_was_said() -> None:
    assert hold(Email(QUESTION), "Pardon?")[1] == ask(QUESTION, dictated=True, spelled="email")
    _, step = hold(Email(QUESTION), "bob at gmail dot com", "what did you say?")
    assert step == ask("I have B, O, B, at gmail.com. Is that right?", dictated=False)


def test_groups_of_a_number_are_awaited_in_silence() -> None:
    task = PhoneNumber("Your number?", lengths=(10,))
    assert hold(task, "five five five")[1] == Ask("", dictated=True)
    assert hold(task, "five five five", "")[1] == Ask("I have 5 5 5 so far. Please go on.", dictated=True)
    assert hold(task, "five five five", "0123456")[1] == Ask(
        "I have 5 5 5, 0 1 2, 3 4 5 6. Is that right?", dictated=False
    )


def test_a_pause_ends_a_number_of_unknown_length() -> None:
    dialogue, step = hold(PhoneNumber("Your number?"), "555 0123")
    assert (step, dialogue.pauses) == (Ask("", dictated=True), True)
    assert dialogue.on_silence() == Ask("I have 5 5 5, 0 1 2 3. Is that right?", dictated=False)


def test_a_number_may_be_pressed_and_confirmed_by_keys() -> None:
    task = PhoneNumber("Your number?", lengths=(4,))
    assert hold(task, "<1>", "<*>", "<5>", "<5>", "<0>", "<1>", "<1>")[1] == Captured("5501")
    _, step = hold(PhoneNumber("Your number?"), *(f"<{key}>" for key in "5550123#"))
    assert isinstance(step, Ask)
    assert step.text.startswith("I have 5 5 5")


def test_a_card_that_cannot_be_right_is_asked_for_again() -> None:
    assert hold(Card("Your card?"), "4242 4242 4242 4243")[1] == Ask(
        "Sorry. Please say it once more.", dictated=True
    )


def test_yes_and_no_are_not_read_back() -> None:
    assert hold(YesNo("Shall I?"), "Yes, please.")[1] == Captured(True)
    assert hold(YesNo("Shall I?"), "No thanks.")[1] == Captured(False)
    assert hold(YesNo("Shall I?"), "<2>")[1] == Captured(False)


def test_an_answer_that_is_not_understood_gets_the_question_again() -> None:
    _, step = hold(Choice("Small or large?", options=("small", "large")), "purple")
    assert step == Ask("Sorry, I did not get that. Small or large?", dictated=False)


def test_a_mere_yes_is_no_part_of_an_address() -> None:
    _, step = hold(Email(QUESTION), "bob at gmail dot com", "no", "yes")
    assert isinstance(step, Ask) and step.text == SPELL_LOCAL


TURNS = st.lists(
    st.sampled_from(
        ("yes", "no", "bob at gmail dot com", "B as in boy", "never", "", "<1>", "<#>", "<*>", "5 5 5",
         "pardon", "555 012 3456", "dot org")
    ),
    max_size=40,
)  # fmt: skip


@given(
    st.sampled_from([Email(QUESTION), Name("Name?"), PhoneNumber("Number?"), Card("Card?"), YesNo("Yes?")]),
    TURNS,
)
def test_a_dialogue_only_ends_with_a_value_that_its_task_allows(task: Task[Any], turns: list[str]) -> None:
    """Hold for any turns: a value was found, and a caller who goes on is asked something or listened to."""
    dialogue = Dialogue(task, NOW)
    step: Ask | Captured[Any] = dialogue.begin()
    for turn in turns:
        if turn.startswith("<"):
            step = dialogue.on_key(turn[1])
        else:
            step = dialogue.on_words(turn) if turn else dialogue.on_silence()
        if isinstance(step, Captured):
            break
    if isinstance(step, Captured) and isinstance(step.value, str):
        assert step.value == "bob@gmail.com" or task.hear(step.value, "", NOW).value == step.value
    else:
        assert isinstance(step, Ask) or step.value in (None, True, False)


def test_known_part_of_a_private_number_is_not_spoken() -> None:
    task = Card("Your card?")
    question = Ask("Your card?", dictated=True)
    dialogue, step = hold(task, "4242 4242", "")
    assert step == question
    assert dialogue.on_words("4242 4242 4242 4242") == Ask("I have 4 2 4 2. Is that right?", dictated=False)
    assert hold(task, "4242 4242", "Pardon?")[1] == question


def test_private_values_are_not_read_back() -> None:
    number = PhoneNumber("Your number?", private=True, lengths=(7,))
    assert hold(number, "555 0123")[1] == Captured("5550123")
    assert hold(number, "555 0123 456")[1] == Ask("Sorry. Please say it once more.", dictated=True)
    assert hold(Email(QUESTION, private=True), "bob at gmail dot com")[1] == Captured("bob@gmail.com")


@pytest.mark.parametrize(
    "task", [Choice("Which?", options=("a", "b")), Card("Card?"), PhoneNumber("Number?")]
)
def test_keys_a_to_d_are_ignored(task: Task[Any]) -> None:
    assert hold(task, "<A>", "<D>")[1] == Ask("", dictated=task.dictated)


def test_number_has_no_keys_a_to_d() -> None:
    task = PhoneNumber("Number?", confirm=False, lengths=(4,))
    assert hold(task, "<5>", "<A>", "<5>", "<0>", "<1>")[1] == Captured("5501")


def test_only_the_beginning_of_a_long_text_is_parsed() -> None:
    text = "hm " * MAX_CHARACTERS + "bob at gmail dot com"
    _, step = hold(Email(QUESTION), text)
    assert isinstance(step, Ask)
    assert "B, O, B" not in step.text


@pytest.mark.parametrize(
    ("task", "turns", "value"),
    [
        (Email("E-mail?"), ("Hank at hardware.com Au.",), "hank@hardware.com.au"),
        (Email("E-mail?"), ("Hank at hardware.com Au.", "No, it's not com."), "hank@hardware.com"),
        (Email("E-mail?"), ("Hank at hardware dot org.", "No, it's not com."), "hank@hardware.com"),
        (Email("E-mail?"), ("Carl Hill at ol dot com.",), "carlhill@aol.com"),
        (
            Email("E-mail?"),
            ("Maybe a dot k at proton dot me.", "No, it's n, a d, i, uh."),
            "nadia.k@proton.me",
        ),
        (
            Email("E-mail?"),
            (
                "x at gmail dot com",
                "No.",
                "s for sugar, t for tommy, o, see for carl, and for nobody, she for George",
            ),
            "stocng@gmail.com",
        ),
        (Name("Name?"), ("First named Janet, last named Fisher.",), "Janet Fisher"),
        (Name("Name?"), ("I name a Sandra Whitfield.",), "Sandra Whitfield"),
        (Name("Name?"), ("The last name s brooks, the r o o k s.",), "Brooks"),
        (Name("Name?"), ("Alice Webb, web with two bees.",), "Alice Webb"),
        (Name("Name?"), ("Emily Hal, with two else.",), "Emily Hall"),
        (Name("Name?"), ("Katherine Wells, Katherine with a C.",), "Catherine Wells"),
        (Name("Name?"), ("Clark with an E at the end.",), "Clarke"),
        (Name("Name?"), ("m for mother, a, y, a, space, t, f, Peter, a, t, f, Tommy, e, l.",), "Maya Patel"),
        (Email("E-mail?"), ("That's office at hill, sorry, yes, hilltop.org.",), "office@hilltop.org"),
        (Name("Name?"), ("L-i-n-d qv-i-s-t.",), "Lindqvist"),
        (Email("E-mail?"), ("Jean dot mcgr, mcgr e g o r, at aol dot com.",), "jean.mcgregor@aol.com"),
        (Email("E-mail?"), ("hello at gmail dot com, that's all lower case.",), "hello@gmail.com"),
        (Email("E-mail?"), ("Info at bluekettle, oneword.co.uk.",), "info@bluekettle.co.uk"),
        (Name("Name?"), ("The surname is Matthew's, double T.",), "Matthews"),
        (Name("Name?"), ("The surname is Mathews, double T.",), "Matthews"),
        (
            Email("E-mail?"),
            (
                "bo at oak dot co dot U K",
                "At b r i d g e dot c o dot u k, e dot c o dot u k, e dot c o dot u k, e d.",
            ),
            "bo@bridge.co.uk",
        ),
        (Time("Time?"), ("Turn to midnight.",), time(23, 50)),
        (Time("Time?"), ("Tend to four in the afternoon.",), time(15, 50)),
        (Amount("Amount?"), ("Party nine ninety five.",), Decimal("39.95")),
        (Name("Name?"), ("Elliot two L's, two T's.",), "Elliott"),
        (Name("Name?"), ("Phillip Grant, one ill.",), "Philip Grant"),
        (Name("Name?"), ("Philip Grant, one L.",), "Philip Grant"),
        (Email("E-mail?"), ("Bo dot hail as I cloud not come.",), "bo.hail@icloud.com"),
        (Email("E-mail?"), ("Decay Miller at Verizon.net.", "No."), "dkmiller@verizon.net"),
        (Code("Code?"), ("G M. A. One.", "No."), "GM81"),
        (Name("Name?"), ("Growth Owens, O W E N S.", "Know its g-a-r-e-t-h."), "Gareth Owens"),
        (Email("E-mail?"), ("Use contact at Mapleline.org.",), "contact@mapleline.org"),
        (Email("E-mail?"), ("Gabice dot lopez at live.com", "No, it's g, a b, i."), "gabi.lopez@live.com"),
        (Email("E-mail?"), ("Carl Dash hines at web.de", "No, h, h, e, i, n, z."), "carl-heinz@web.de"),
        (Email("E-mail?"), ("Claire at Oakview dot code dot U. K.",), "claire@oakview.co.uk"),
        (
            Email("E-mail?"),
            ("Claire dot Hodson at gmail.com", "No, Hudson, you as a uniform."),
            "claire.hudson@gmail.com",
        ),
        (PhoneNumber("Number?"), ("646 5555 01 88", "No."), "6465550188"),
        (PhoneNumber("Number?"), ("805 5555 01 91", "No."), "8055550191"),
        (PhoneNumber("Number?"), ("Eight, six, four, six, five five five, zero one 88", "No."), "6465550188"),
    ],
)
def test_what_recognizers_make_of_an_answer_is_understood(
    task: Task[Any], turns: tuple[str, ...], value: Any
) -> None:
    assert hold(task, *turns)[0].value == value


@pytest.mark.parametrize(
    ("task", "turns", "value"),
    [
        (Email("E-mail?"), ("Hank at hardware dot com.", "No, it's not com."), None),
        (Email("E-mail?"), ("Hank at hardware dot co dot uk.",), "hank@hardware.co.uk"),
        (Name("Name?"), ("The Rooks, R O O K S.",), "The Rooks"),
        (Name("Name?"), ("Hall, Tom Hall with an E.",), "Tom Halle"),
        (Name("Name?"), ("Sgt. B. Lynch.",), "Sgt B Lynch"),
        (Email("E-mail?"), ("J F Kennedy@gmail.com",), "jfkennedy@gmail.com"),
        (Email("E-mail?"), ("bo dot a dot a dot a at gmail dot com",), "bo.a.a.a@gmail.com"),
        (Email("E-mail?"), ("s for sugar, t for tommy, at for sale dot com",), "st@forsale.com"),
        (Code("Code?"), ("K D 9 0, uh.",), "KD90"),
        (Name("Name?"), ("J F Kennedy.",), "J F Kennedy"),
        (Name("Name?"), ("M C Donald.",), "Mc Donald"),
        (Name("Name?"), ("Kelly's Bar.",), "Kelly's Bar"),
        (Email("E-mail?"), ("bo at a dot b dot c dot a dot com.",), "bo@a.b.c.a.com"),
        (Time("Time?"), ("Turn to page four.",), None),
        (PhoneNumber("Number?"), ("07700 900 222", "No."), None),
        (Code("Code?"), ("A A one.", "No."), None),
        (Email("E-mail?"), ("Smith at web.de", "No, S, S, M, I, T, H."), "ssmith@web.de"),
        (Email("E-mail?"), ("Loyd dot A at web.de", "No, L, L, O, Y, D."), "lloyd.a@web.de"),
        (PhoneNumber("Number?"), ("1 646 555 0188", "No."), None),
        (Amount("Amount?"), ("For the party, ninety five.",), Decimal("95")),
    ],
)
def test_what_only_looks_so_is_left(task: Task[Any], turns: tuple[str, ...], value: Any) -> None:
    assert hold(task, *turns)[0].value == value


def test_a_misheard_no_before_a_domain_is_no_name() -> None:
    assert hold(Email("E-mail?"), "bo at oak dot com", "Now at elm dot com.")[0].value == "bo@elm.com"


@pytest.mark.parametrize("heard", ["I know.", "Know.", "Now.", "Uh, no."])
def test_a_no_that_was_misheard_is_one(heard: str) -> None:
    assert hold(Name("Name?"), "Tom Hill", heard)[1] == Ask(SPELL, True, "name")


def test_a_question_is_not_answered_with_no_by_words_that_sound_like_one() -> None:
    assert hold(YesNo("Did you know that we close at five?"), "I know.")[0].value is None
