from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.conversation.fragments import Fragment, Fragmenter

WHOLE = (
    "1,200", "3.50", "10:30", "$12.50", "e.g.", "Dr.", "a.m.", "No.", "approx.", "U.S.", "info@example.com",
    "https://example.com/a,b;c?d=e", "www.example.com,x", "`a, b. c`",
    "[the rooms, all. Yes](https://e.com/x. y)",
)  # fmt: skip
"""What is not cut, whatever stands around it."""
WORDS = st.sampled_from(
    [*WHOLE, "yes", "the", "room", "and", "because", "Well,", "sure;", "it is. ", "No!", "-", "—"]
)
TEXTS = st.lists(
    st.tuples(WORDS, st.sampled_from([" ", " ", " ", "  ", "\n", ", ", ". ", "\n\n- "])), max_size=60
).map(lambda pieces: "".join(word + gap for word, gap in pieces))
ANY_TEXT = st.one_of(TEXTS, st.text(max_size=400), st.text("ab1.,;:?! \n*`[]()—。，", max_size=400))


def cut(text: str, *, language: str = "en", **limits: int) -> list[Fragment]:
    fragmenter = Fragmenter(language, **limits)
    return fragmenter.push(text) + fragmenter.finish()


def texts(text: str, **options) -> list[str]:
    return [fragment.text for fragment in cut(text, **options)]


def test_the_first_fragment_ends_at_a_clause():
    assert texts("Our check-in starts at three, and breakfast at seven, every day.") == [
        "Our check-in starts at three,",
        " and breakfast at seven, every day.",
    ]


def test_a_word_before_a_comma_is_a_first_fragment():
    assert texts("Sure, I can help you with that, of course.") == [
        "Sure,",
        " I can help you with that, of course.",
    ]


def test_a_word_that_is_over_at_once_is_none():
    assert texts("No, I am sorry, but we are full.") == ["No, I am sorry,", " but we are full."]


def test_the_length_of_the_first_clause_can_be_chosen():
    assert texts("Sure, I can help, of course.", first_chars=12) == ["Sure, I can help,", " of course."]


def test_a_short_clause_does_not_end_before_a_conjunction():
    assert texts("Ham and eggs, and tea.") == ["Ham and eggs,", " and tea."]


def test_the_first_fragment_ends_at_a_sentence_however_short():
    assert texts("Sure. I can help you with that, of course.")[0] == "Sure."


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("We have a pool — it is heated", "We have a pool —"),
        ("We have a pool—it is heated", "We have a pool—"),
        ("We have a pool - it is heated", "We have a pool -"),
        ("We have a pool; it is heated", "We have a pool;"),
        ("In the year 2024, it opened", "In the year 2024,"),
        ("These are the rooms: a single", "These are the rooms:"),
        ("You can use the pool for free because you are a guest", "You can use the pool for free"),
    ],
)
def test_a_clause_ends_at_punctuation_and_before_a_conjunction(text: str, first: str):
    assert texts(text)[0] == first


def test_a_clause_that_ends_in_a_comma_is_complete_with_the_comma():
    fragmenter = Fragmenter()
    assert [fragment.text for fragment in fragmenter.push("Our check-in starts at three,")] != []


def test_after_the_first_fragment_only_sentences_are_cut():
    assert texts("Yes. It has a bed, a desk, and a bath. It is quiet.") == [
        "Yes.",
        " It has a bed, a desk, and a bath.",
        " It is quiet.",
    ]


def test_a_sentence_is_complete_when_the_next_one_begins():
    fragmenter = Fragmenter()
    assert fragmenter.push("It is open. ") == []
    assert [fragment.text for fragment in fragmenter.push("Y")] == ["It is open."]


def test_lines_are_cut():
    assert texts("Rooms\n\n- Single\n- Double") == ["Rooms", "\n\n- Single", "\n- Double"]


def test_scripts_without_spaces_are_cut_at_their_own_marks():
    assert texts("你好，世界。我是你的助手！真的吗？好", language="zh") == [
        "你好，世界。",
        "我是你的助手！",
        "真的吗？",
        "好",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. Smith sees Mrs. Jones at St. Mary's.",
        "It is $1,200.50, or 3.5 percent of it.",
        "We open at 7 a.m. on weekdays.",
        "See https://example.com/a.b?c=d or mail a.b@c.com now.",
        "Ask for No. 5, e.g. the one vs. the other, approx. 5 km away.",
        "He lives in the U.S. and works for J. R. Smith.",
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_end_it(sentence: str):
    assert texts(f"Yes. {sentence} Done.") == ["Yes.", f" {sentence}", " Done."]


def test_the_number_of_a_list_stays_with_its_text():
    assert texts("1. First\n2. Second") == ["1. First", "\n2. Second"]


def test_marks_that_close_a_sentence_stay_with_it():
    assert texts('**Really.** She said "yes." Then left.') == [
        "**Really.**",
        ' She said "yes."',
        " Then left.",
    ]


def test_links_and_code_are_not_cut():
    text = "Yes. See [the rooms. All of them](https://e.com/a b. C) and `a. B`. Done."
    assert texts(text) == [
        "Yes.",
        " See [the rooms. All of them](https://e.com/a b. C) and `a. B`.",
        " Done.",
    ]


def test_a_text_without_an_end_is_cut_at_a_word():
    pieces = texts("word " * 30, max_chars=40)
    assert all(len(piece) <= 40 for piece in pieces)
    assert all(piece.strip().split() == ["word"] * len(piece.split()) for piece in pieces)


def test_a_link_that_never_closes_is_cut_before_it():
    assert texts("Yes. The rooms are [here " + "a b " * 20, max_chars=40)[1] == " The rooms are"


def test_a_word_without_an_end_is_cut_at_last():
    assert texts("x" * 200, max_chars=40) == ["x" * 160, "x" * 40]


def test_what_cannot_be_spoken_is_a_fragment_without_words():
    fragments = cut("```python\nx is one\n```\n\N{WAVING HAND SIGN}")
    assert [fragment.spoken for fragment in fragments] == ["", "x is one", "", ""]


def test_the_first_fragment_is_the_first_that_can_be_spoken():
    assert texts("---\nOur check-in starts at three, and ends")[1] == "\nOur check-in starts at three,"


def test_a_fragment_knows_its_spoken_words():
    (fragment,) = cut("It is $5 now")
    assert fragment == Fragment("It is $5 now", "It is five dollars now", ((0, 0), (3, 3), (6, 6), (19, 9)))


def test_an_empty_response_has_no_fragments():
    assert cut("") == []


def test_after_the_end_nothing_is_left():
    fragmenter = Fragmenter()
    fragmenter.push("One")
    assert [fragment.text for fragment in fragmenter.finish()] == ["One"]
    assert fragmenter.finish() == []


@settings(deadline=None)
@given(ANY_TEXT, st.integers(1, 60))
def test_the_texts_joined_are_the_response(text: str, max_chars: int):
    assert "".join(texts(text, max_chars=max_chars)) == text


@settings(deadline=None)
@given(ANY_TEXT, st.data())
def test_where_is_cut_does_not_depend_on_the_deltas(text: str, data: st.DataObject):
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=30))
    fragmenter = Fragmenter()
    fragments = []
    for start, end in pairwise([0, *sorted(places), len(text)]):
        fragments += fragmenter.push(text[start:end])
    assert fragments + fragmenter.finish() == cut(text)


@settings(deadline=None)
@given(TEXTS, st.sampled_from([3, 12, 20]))
def test_numbers_addresses_abbreviations_and_markup_stay_whole(text: str, first_chars: int):
    ends = set()
    position = 0
    for piece in texts(text, first_chars=first_chars, max_chars=10_000)[:-1]:
        position += len(piece)
        ends.add(position)
    for word in WHOLE:
        start = text.find(word)
        while start >= 0:
            assert not ends & set(range(start + 1, start + len(word)))
            start = text.find(word, start + 1)


@settings(deadline=None)
@given(ANY_TEXT, st.integers(10, 60))
def test_nothing_is_held_forever(text: str, max_chars: int):
    fragmenter = Fragmenter(max_chars=max_chars)
    given_out = 0
    for index, character in enumerate(text):
        given_out += sum(len(fragment.text) for fragment in fragmenter.push(character))
        assert index + 1 - given_out < 4 * max_chars


def test_the_first_fragment_may_have_a_length_of_its_own():
    long = "Breakfast is served from seven in the morning until ten. After that there is coffee."
    assert texts(long, first_max_chars=24)[0] == "Breakfast is served"
    assert texts(long, first_max_chars=24)[1:] == [
        " from seven in the morning until ten.",
        " After that there is coffee.",
    ]
