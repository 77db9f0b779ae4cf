"""Decision about who answered an outbound call."""

from __future__ import annotations

import pytest
from greetings import DRAWN, HELD_BACK, KNOWN, LAST, LATER, LOOKED_AT, MEASURED, UNSEEN, Row
from hypothesis import given
from hypothesis import strategies as st

from audio.steady_tones import SteadyTone
from voiceagent.session.agent import AnsweredBy
from voiceagent.transports.telephony.outbound.policies.answered import MIN_LOG_ODDS, Greeting, Tone, tone_of
from voiceagent.transports.telephony.outbound.policies.greeting_odds import log_odds, sound_of

KINDS = ("person", "voicemail", "screener", "menu", "fax")
BEEP = SteadyTone(1_000, 0.4)
turns = st.tuples(st.text(max_size=80), st.floats(0, 30))
tones = st.builds(SteadyTone, st.floats(400, 2_200), st.floats(0.15, 4))


def decided(words: str, length_s: float) -> AnsweredBy | None:
    return Greeting().on_voice().on_turn(words, length_s).on_silence().kind


@pytest.mark.parametrize(("kind", "length_s", "words"), KNOWN)
def test_a_known_greeting_is_recognized(kind: AnsweredBy, length_s: float, words: str) -> None:
    assert decided(words, length_s) == kind


@pytest.mark.parametrize(
    ("greetings", "right", "person_or_machine"),
    [
        pytest.param(LOOKED_AT, 98, 98, id="looked at"),
        pytest.param(HELD_BACK, 40, 40, id="held back"),
        pytest.param(LATER, 100, 100, id="later"),
        pytest.param(DRAWN, 200, 200, id="drawn"),
        pytest.param(UNSEEN, 199, 199, id="unseen"),
        pytest.param(LAST, 198, 198, id="last"),
        pytest.param(MEASURED, 200, 200, id="measured"),
    ],
)
def test_greetings_are_recognized_as_often_as_measured(
    greetings: tuple[Row, ...], right: int, person_or_machine: int
) -> None:
    kinds = [(kind, decided(words, length_s)) for kind, length_s, words in greetings]
    assert sum(kind == found for kind, found in kinds) == right
    assert sum((kind == "person") == (found == "person") for kind, found in kinds) == person_or_machine


@pytest.mark.parametrize(
    ("kind", "turns"),
    [
        ("menu", ["You've reached Lakeview Dental.", "For appointments, press one."]),
        ("menu", ["Our office is currently closed.", "For emergencies press two."]),
        ("menu", ["You have reached the office of Doctor Stein.", "Press one for appointments."]),
        ("screener", ["Hi, you've reached Sam's AI assistant.", "May I ask who's calling?"]),
        ("voicemail", ["You've reached Paul Kent at Kent and Sons."]),
        ("voicemail", ["We are closed today."]),
    ],
)
def test_a_recording_that_asks_for_no_message_is_heard_to_its_end(kind: AnsweredBy, turns: list[str]) -> None:
    greeting = Greeting().on_voice()
    for words in turns:
        greeting = greeting.on_turn(words, 0.4 * len(words.split()))
    assert greeting.on_silence().kind == kind


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("menu", "For appointments, press one. To leave a message for the nurse, press two."),
        ("menu", "Thanks for calling. Para español, oprima el dos."),
        ("menu", "Bienvenue chez Air Canada. Pour français press 2."),
        ("menu", "If you are calling to report an outage, say outage."),
        ("voicemail", "Press one to leave a message or hang up."),
        ("voicemail", "For more options press one, or leave a message after the tone."),
        ("voicemail", "Google Voice. Please leave a message for Adam."),
        (
            "screener",
            "The number you have dialed is protected by a call blocker. Press five to be connected.",
        ),
        ("screener", "This number is protected against robocalls. Please press 7 to complete your call."),
        ("screener", "The person you are calling cannot take unknown calls right now."),
        ("screener", "Prove you are human, press three."),
    ],
)
def test_keys_and_screening_are_told_from_a_voicemail(kind: AnsweredBy, words: str) -> None:
    assert decided(words, 5.0) == kind


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("screener", "To reach this person, please tell us who is calling."),
        ("screener", "Hello, I'm Sam, an A I assistant. I answer calls for Doctor Brandt. Who is calling?"),
        ("menu", "Welcome to Speedy Parcel. Please say or type your tracking number."),
        ("menu", "Welcome to Northern Gas. If you smell gas, hang up and leave the building."),
        ("menu", "To leave a message, press 2. For billing, press 3."),
        ("menu", "You are calling Lady Anvil, if you are a new patient, bread one, for a willing presto."),
        ("person", "This is a recorded line, Jim speaking."),
    ],
)
def test_all_words_decide_the_kind_of_machine(kind: AnsweredBy, words: str) -> None:
    assert decided(words, 4.0) == kind


def test_words_that_may_be_either_are_a_persons() -> None:
    words = "This is extension for toe lender."  # "four two, Linda"
    assert 0 < log_odds(words) < MIN_LOG_ODDS
    assert decided(words, 2.2) == "person"


def test_neither_a_phrase_nor_the_length_outweighs_all_other_words() -> None:
    assert decided("Hello, is this a recorded call?", 2.2) == "person"
    receptionist = "Good evening, thank you for calling the Lakeside Hotel, my name is Oscar"
    assert decided(f"{receptionist}, how may I direct your call?", 7.2) == "person"
    assert decided("I can't come to the phone.", 2.0) == "voicemail"


def test_nothing_is_known_of_words_in_another_language() -> None:
    assert log_odds("Guten Tag, hier ist die Praxis Doktor Mueller.") == 0


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("I can't pick up.", "voicemail"),
        ("Dad isn't home, he's at work.", "person"),
        ("Sorry, I was away from the phone, who is it?", "person"),
        ("Sorry I missed your call earlier, what's up?", "person"),
        ("Sorry I missed your call, leave a message. What's up?", "voicemail"),
        ("He isn't home. Leave a message after the tone.", "voicemail"),
        ("Who did you want to reach today?", "person"),
    ],
)
def test_words_of_a_recording_are_told_from_those_about_another_person(words: str, kind: AnsweredBy) -> None:
    assert Greeting().on_voice().on_turn(words, 2.5).kind == kind


@pytest.mark.parametrize(
    ("words", "waits"),
    [
        ("Please hold.", True),
        ("Thanks, let me check if she's available.", True),
        ("Hello?", False),
        ("Hello, thanks for waiting, who's this?", False),
        ("They can't take your call, please leave a message.", False),
    ],
)
def test_patience_asked_for_by_a_screener_is_no_answer(words: str, waits: bool) -> None:
    greeting = Greeting(screened=True).on_voice().on_turn(words, 2.0)
    assert (greeting.kind is None) is waits
    assert (greeting.on_silence().kind is None) is waits


def test_a_persons_question_back_is_no_voicemail() -> None:
    """Hold for people who answer for somebody else; a machine that asks to leave a message is one."""
    assert decided("He isn't available, may I ask who's calling?", 2.5) == "person"
    assert decided("He isn't available. Please leave a message.", 2.5) == "voicemail"


def test_a_long_greeting_without_a_question_is_a_recording() -> None:
    assert decided("The lights are blue and the sea is wide.", 5.0) == "voicemail"
    assert decided("The lights are blue and the sea is wide, right?", 5.0) == "person"
    assert decided("The lights are blue and the sea is wide, right?", 8.0) == "voicemail"


@pytest.mark.parametrize("words", ["Hello.", "Hi.", "Good morning.", "Thanks.", "Welcome.", "Sorry."])
def test_a_bare_greeting_decides_with_the_silence_after_it(words: str) -> None:
    """A recording may go on: "Hello. Welcome to the messaging service." """
    greeting = Greeting().on_voice().on_turn(words, 0.5)
    assert greeting.kind is None
    assert greeting.on_silence().kind == "person"
    assert greeting.on_turn("Please leave a message.", 1.5).kind == "voicemail"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("To make an appointment, say appointment. To cancel, say cancel.", "menu"),
        ("My calls are answered by my colleague. Have a good day.", "voicemail"),
        ("Hello, I was just leaving.", "person"),
        ("Good afternoon, the front desk, Julie here, just a second, please.", "person"),
        ("Guten Tag, hier ist die Praxis Doktor Müller. Ich höre.", "person"),
        ("Hallo, mit wem spreche ich? Ich bin in der Arbeit.", "person"),
    ],
)
def test_all_words_decide_after_the_silence_where_no_phrase_has(words: str, kind: AnsweredBy) -> None:
    """In another language only length does."""
    greeting = Greeting().on_voice().on_turn(words, 3.0)
    assert greeting.kind is None
    assert greeting.on_silence().kind == kind


@pytest.mark.parametrize(
    ("heard", "kind"),
    [
        ("Hey, this is Jack. Please taxed me.", "voicemail"),
        ("You're estimated week time is six minutes.", "menu"),
        ("Please inter your four digit pass coat.", "menu"),
        ("Hallow, I am lessening.", "person"),
        ("Hi, yes, I was waiting four your cole.", "person"),
    ],
)
def test_misheard_words_count_by_their_sounds(heard: str, kind: AnsweredBy) -> None:
    assert decided(heard, 2.0) == kind


@pytest.mark.parametrize(
    ("word", "other"), [("text", "taxed"), ("message", "massage"), ("beep", "beef"), ("tone", "tome")]
)
def test_words_of_one_sound_have_one_code(word: str, other: str) -> None:
    assert sound_of(word) == sound_of(other)


@pytest.mark.parametrize(
    ("word", "code"),
    [("robert", "r163"), ("ashcraft", "a2613"), ("pfister", "p236"), ("tymczak", "t522"), ("7", "#")],
)
def test_a_sound_is_the_words_soundex_code(word: str, code: str) -> None:
    """The census's examples, without its cut to three figures."""
    assert sound_of(word) == code


@pytest.mark.parametrize("words", ["Hello?", "Yes?", "Anna Miller.", "Allô?", "Miller."])
def test_a_short_greeting_is_a_persons_without_a_wait(words: str) -> None:
    assert Greeting().on_voice().on_turn(words, 0.8).kind == "person"


@pytest.mark.parametrize(
    "words",
    [
        "Hi, this is Anna from the office.",
        "Hi, this is Anna.",
        "Thanks for calling.",
        "Welcome to Miller's.",
        "How, this is Walter?",
        "Who should I say is calling?",
    ],
)
def test_an_ambiguous_greeting_waits_for_more_words(words: str) -> None:
    greeting = Greeting().on_voice().on_turn(words, 1.6)
    assert greeting.kind is None
    assert greeting.on_turn("Please leave a message.", 1.5).kind == "voicemail"
    assert greeting.on_silence().kind == "person"


def test_a_beep_without_words_is_a_voicemails() -> None:
    greeting = Greeting().on_tone(BEEP)
    assert (greeting.kind, greeting.beeped) == ("voicemail", True)


def test_a_beep_after_the_decision_is_still_reported() -> None:
    greeting = Greeting().on_voice().on_turn("Leave a message.", 2.0)
    assert not greeting.beeped
    assert greeting.on_tone(BEEP).beeped


@pytest.mark.parametrize(
    ("tone", "spoken", "meaning"),
    [
        (SteadyTone(2_100, 3.0), False, Tone.FAX),
        (SteadyTone(2_100, 0.45), False, Tone.FAX),
        (SteadyTone(1_100, 0.5), False, Tone.FAX),
        (SteadyTone(1_100, 0.5), True, Tone.BEEP),
        (SteadyTone(1_100, 0.2), False, Tone.BEEP),
        (SteadyTone(425, 1.0), False, Tone.NONE),
        (SteadyTone(2_150, 1.0), False, Tone.NONE),
    ],
)
def test_a_tone_has_the_meaning_of_its_frequency_and_length(
    tone: SteadyTone, spoken: bool, meaning: Tone
) -> None:
    assert tone_of(tone, spoken=spoken) is meaning


@given(st.lists(turns | tones, max_size=8))
def test_a_decision_is_final(happened: list[tuple[str, float] | SteadyTone]) -> None:
    greeting, kind = Greeting(), None
    for one in happened:
        greeting = greeting.on_tone(one) if isinstance(one, SteadyTone) else greeting.on_turn(*one)
        assert kind is None or greeting.kind == kind
        kind = greeting.kind
    assert greeting.on_silence().kind in KINDS
