from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.text_normalization import normalize

ENGLISH = {
    "prices": [
        ("It costs $12.50 a night.", "It costs twelve dollars and fifty cents a night."),
        ("$1, €3, £2.01, ¥500", "one dollar, three euros, two pounds and one penny, five hundred yen"),
        ("$0.99 or $5.00 or 5 €", "ninety-nine cents or five dollars or five euros"),
        ("$1,250", "one thousand two hundred and fifty dollars"),
        ("$5 million, $1.5M", "five million dollars, one point five million dollars"),
        ("-$5 or $5-$10", "minus five dollars or five to ten dollars"),
        ("$90/night", "ninety dollars per night"),
    ],
    "times": [
        ("10:30, 10:05, 7:00, 17:00", "ten thirty, ten oh five, seven o'clock, seventeen hundred"),
        ("7am to 10:30 pm", "seven AM to ten thirty PM"),
        ("at 7 a.m. and 7:00 p.m.", "at seven AM and seven PM."),
        ("9am-5pm, 9:00–17:30", "nine AM to five PM, nine o'clock to seventeen thirty"),
        ("a ratio of 3:1", "a ratio of three to one"),
    ],
    "dates": [
        ("May 5, 2024", "May fifth, twenty twenty-four"),
        ("Jan. 3 or 5 May or the 5th of June", "January third or the fifth of May or the fifth of June"),
        ("2024-05-06, 10/12/2024", "May sixth, twenty twenty-four, October twelfth, twenty twenty-four"),
        ("Mon-Fri, Sat 5", "Monday to Friday, Saturday five"),
        ("The sun sat on Sun. Ray", "The sun sat on Sun. Ray"),
    ],
    "years": [
        ("in 1999, 2000, 2026", "in nineteen ninety-nine, two thousand, twenty twenty-six"),
        ("2005", "two thousand and five"),
        ("2019-2020", "twenty nineteen to twenty twenty"),
        ("the 1990s, the '80s", "the nineteen nineties, the eighties"),
        ("2,000 people", "two thousand people"),
    ],
    "numbers": [
        ("0 1 21 100 1,234", "zero one twenty-one one hundred one thousand two hundred and thirty-four"),
        ("3.50, .5, 0.05", "three point five zero, point five, zero point zero five"),
        ("-5 degrees, pages 5–7, 10-12", "minus five degrees, pages five to seven, ten to twelve"),
        ("the 1st, 22nd and 103rd", "the first, twenty-second and one hundred and third"),
        ("1/2, 1 1/2, ¾, 9/10", "one half, one and a half, three quarters, nine tenths"),
        ("open 24/7", "open twenty-four seven"),
        ("2 + 2 = 4, 3 * 4", "two plus two equals four, three times four"),
        ("5 - 3 = 2, 5 - 7 days", "five minus three equals two, five to seven days"),
        ("#5, No. 5, ~5, <5", "number five, number five, about five, less than five"),
        ("100k, 3D, mp3, COVID-19", "one hundred thousand, three D, mp three, COVID-nineteen"),
        ("It is 5. 6 is not.", "It is five. six is not."),
        ("1. First", "one. First"),
    ],
    "figures one by one": [
        ("555-123-4567", "five five five, one two three, four five six seven"),
        ("(555) 123-4567", "five five five, one two three, four five six seven"),
        ("+44 20 7946 0958", "plus four four, two zero, seven nine four six, zero nine five eight"),
        ("555-1234.", "five five five, one two three four."),
        ("007", "zero zero seven"),
        ("your code is 4821, room 421", "your code is four eight two one, room four two one"),
        ("12345678901", "one two three four five six seven eight nine zero one"),
        ("version 1.2.3", "version one dot two dot three"),
        ("192.168.1.1", "one nine two dot one six eight dot one dot one"),
    ],
    "percentages and units": [
        ("50% of 3.5 %", "fifty percent of three point five percent"),
        ("1 km, 5km, 100 km/h", "one kilometer, five kilometers, one hundred kilometers per hour"),
        ("20 °C, 68°F, 90°", "twenty degrees Celsius, sixty-eight degrees Fahrenheit, ninety degrees"),
        ("30 min., 3 GB, 6 ft", "thirty minutes, three gigabytes, six feet"),
        ("5'11\"", "five foot eleven"),
        ("I have 5 m's and 5 in", "I have five m's and five in"),
    ],
    "abbreviations": [
        ("Dr. Smith and Mrs. Jones", "Doctor Smith and Missus Jones"),
        ("Main St. near St. John's", "Main Street near Saint John's"),
        ("Mill Dr.", "Mill Drive."),
        ("e.g. this, i.e. that, etc.", "for example this, that is that, et cetera."),
        ("E.g. tea vs. coffee vs milk", "for example tea versus coffee versus milk"),
        ("the U.S. Army, made in the U.S.", "the US Army, made in the US."),
        ("I said no. Then p. 5", "I said no. Then page five"),
        ("and/or his/her", "and or his or her"),
    ],
    "addresses": [
        ("See https://www.example.com/rooms/12?x=1.", "See example dot com slash rooms slash twelve."),
        ("example.com, my-site.co.uk", "example dot com, my dash site dot co dot uk"),
        ("a.b_c@example.org!", "a dot b underscore c at example dot org!"),
        ("<https://example.com>", "example dot com"),
        ("www.example.com:8080/a1", "example dot com colon eight zero eight zero slash a one"),
        ("Hello.It is", "Hello. It is"),
    ],
    "markdown": [
        ("**Bold** _it_ *it* ~~no~~ __x__ `code`", "Bold it it no x code"),
        ("## Rooms", "Rooms"),
        ("- one\n* two\n> three\n- [x] four", "one two three four"),
        ("[our site](https://a.b/c) ![photo](x.png) [a][1]", "our site photo a"),
        ("```python\nx\n```", "x"),
        ("| a | b |\n|---|:-:|\n| c | d |", "a b c d"),
        ("one\n---\ntwo<br>three <b class=\"x\">four</b>", "one two three four"),
        ("a \\* b snake_case", "a b snake case"),
    ],
    "signs and punctuation": [
        ("Q&A, AT&T, tea & cake", "Q and A, AT and T, tea and cake"),
        ('"Yes," she said (quietly) — then left.', "Yes, she said quietly, then left."),
        ("Wait… what?!", "Wait, what?!"),
        ("well-known rock 'n' roll, room(s), don’t", "well-known rock n roll, rooms, don’t"),
        ("C++ or #tag or a_b", "C plus plus or tag or a b"),
    ],
    "emoji": [
        ("Hi \N{WAVING HAND SIGN} there\N{WHITE HEAVY CHECK MARK}!", "Hi there!"),
        ("\N{WOMAN}\u200d\N{PERSONAL COMPUTER} \N{THUMBS UP SIGN}\N{EMOJI MODIFIER FITZPATRICK TYPE-5}", ""),
        ("1\ufe0f\u20e3 Thanks :)", "one Thanks"),
    ],
    "nothing to say": [("", ""), (" \n", ""), ("...", ""), ("**", ""), ("---", ""), ("—", "")],
}  # fmt: skip
OTHERS = [
    ("de", "12,50 € um 10:30 Uhr, 1.234 Leute & 5 %", "zwölf Euro fünfzig um zehn Uhr dreißig, "
     "eintausendzweihundertvierunddreißig Leute und fünf Prozent"),
    ("de", "am 3. Mai, z. B. bei a@b.de", "am dritten Mai, zum Beispiel bei a ät b Punkt de"),
    ("fr", "M. Dupont paie 1 234,5 € le 1er mai",
     "Monsieur Dupont paie mille deux cent trente-quatre virgule cinq euros le premier mai"),
    ("es", "¿Cuesta 3,50 €? Sr. López", "¿Cuesta tres euros cincuenta? Señor López"),
    ("it", "1 € e 5%", "un euro e cinque per cento"),
    ("pt", "7:30, 2º", "sete e trinta, segundo"),
    ("nl", "9:00 uur", "negen uur"),
    ("ru", "Это стоит 5 рублей", "Это стоит пять рублей"),
    ("hi", "नमस्ते। आप", "नमस्ते। आप"),
    ("zh", "你好，世界！有5个", "你好，世界！有5个"),
    ("xx", "abc 12 & $5 at 10:30", "abc 12 & $5 at 10:30"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "spoken"),
    [pytest.param(*case, id=f"{kind}: {case[0]}") for kind, cases in ENGLISH.items() for case in cases],
)
def test_english_is_spoken(text: str, spoken: str):
    assert normalize(text, "en")[0] == spoken


@pytest.mark.parametrize(("language", "text", "spoken"), OTHERS)
def test_other_languages_have_their_own_numbers_and_signs(language: str, text: str, spoken: str):
    assert normalize(text, language)[0] == spoken


def words(text: str, language: str = "en") -> list[tuple[str, str]]:
    """Spoken words and the text that they are aligned with."""
    spoken, alignment = normalize(text, language)
    ends = [*alignment[1:], (len(spoken), len(text))]
    return [
        (spoken[spoken_at:spoken_end].strip(), text[text_at:text_end].strip())
        for (spoken_at, text_at), (spoken_end, text_end) in zip(alignment, ends, strict=True)
    ]


def test_every_word_is_aligned_with_its_spoken_words():
    assert words("It is $12.50 at 7 p.m. today") == [
        ("It", "It"),
        ("is", "is"),
        ("twelve dollars and fifty cents", "$12.50"),
        ("at", "at"),
        ("seven PM", "7 p.m."),
        ("today", "today"),
    ]


def test_marks_around_a_word_belong_to_it():
    assert words('She said "**yes**," (I think).') == [
        ("She", "She"),
        ("said", "said"),
        ("yes,", '"**yes**,"'),
        ("I", "(I"),
        ("think.", "think)."),
    ]


def test_a_silent_word_belongs_to_the_one_before_it():
    assert words("Hi \N{WAVING HAND SIGN} there") == [("Hi", "Hi \N{WAVING HAND SIGN}"), ("there", "there")]


def test_the_mark_of_a_line_belongs_to_the_word_after_it():
    assert words("Rooms\n- ## **Single**\n- Double") == [
        ("Rooms", "Rooms"),
        ("Single", "- ## **Single**"),
        ("Double", "- Double"),
    ]


def test_scripts_without_spaces_are_aligned_by_their_characters():
    assert words("你好。Hello世", "zh") == [("你", "你"), ("好。", "好。"), ("Hello", "Hello"), ("世", "世")]


PIECES = st.sampled_from(
    [*(text for cases in ENGLISH.values() for text, _ in cases), " ", "\n", "-", "*", "x", "5"]
)
TEXTS = st.one_of(
    st.text(max_size=80), st.text("a5.,:-/$%#*_()[]` \n'", max_size=60), st.lists(PIECES).map("".join)
)


@settings(deadline=None)
@given(TEXTS, st.sampled_from(["en", "de", "fr", "zh", "xx"]))
def test_the_alignment_ascends_within_both_texts(text: str, language: str):
    spoken, alignment = normalize(text, language)
    assert bool(spoken) == bool(alignment)
    for (spoken_at, text_at), (next_spoken_at, next_text_at) in pairwise(
        [*alignment, (len(spoken), len(text))]
    ):
        assert 0 <= spoken_at < next_spoken_at
        assert 0 <= text_at < next_text_at


@settings(deadline=None)
@given(TEXTS)
def test_words_are_parted_by_one_space(text: str):
    spoken = normalize(text)[0]
    assert spoken == " ".join(spoken.split())


@settings(deadline=None)
@given(TEXTS)
def test_english_has_no_figures_left(text: str):
    assert not any(character.isdecimal() for character in normalize(text)[0])


@settings(deadline=None)
@given(st.lists(st.text("abcdefgh", min_size=1), min_size=1))
def test_plain_words_are_left_as_they_are(plain: list[str]):
    text = " ".join(plain)
    spoken, alignment = normalize(text)
    assert spoken == text
    assert [(text[at:].split()[0], at) for at, _ in alignment] == [
        (text[at:].split()[0], at) for _, at in alignment
    ]
