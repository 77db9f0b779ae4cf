from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.synthesizers import Speech, WordTiming
from voiceagent.conversation.fragments import Fragment
from voiceagent.conversation.response.played_text import PlayedText
from voiceagent.text_normalization import normalize

RATE_HZ = 1_000


def sound(samples: int, *words: tuple[int, int]) -> Speech:
    return Speech(np.zeros(samples, np.int16), tuple(WordTiming(*word) for word in words))


def fragment(text: str) -> Fragment:
    """Spoken as it is written."""
    starts = [i for i, c in enumerate(text) if not c.isspace() and (i == 0 or text[i - 1].isspace())]
    spoken = text.strip()
    lead = len(text) - len(text.lstrip())
    return Fragment(text, spoken, tuple((start - lead, start) for start in starts))


def response(*parts: tuple[Fragment, list[Speech]]) -> PlayedText:
    heard = PlayedText(RATE_HZ)
    for part, speeches in parts:
        heard.add_fragment(part)
        for speech in speeches:
            heard.add_audio(speech)
        heard.complete_fragment()
    return heard


@dataclass(frozen=True)
class SpokenWord:
    text: str
    sound: int
    pause: int


@st.composite
def spoken_words(draw: st.DrawFn) -> SpokenWord:
    text = draw(st.text("abcdefgh", min_size=1, max_size=8)) + draw(st.sampled_from(["", ",", ".", "?!"]))
    letters = len(text.rstrip(",.?!"))
    return SpokenWord(text, draw(st.integers(40 * letters, 80 * letters)), draw(st.integers(0, 400)))


RESPONSES = st.lists(st.lists(spoken_words(), min_size=1, max_size=6), min_size=1, max_size=4)


def speak(fragments: list[list[SpokenWord]], timed: bool) -> tuple[PlayedText, list[tuple[float, float]]]:
    """A response whose sound is known, and seconds at which each of its words begins and ends."""
    parts, times, at = [], [], 0
    for words in fragments:
        text = "".join(word.text + " " for word in words)
        speeches, character, within = [], 0, 0
        for word in words:
            timing = ((character, within),) if timed else ()
            speeches.append(sound(word.sound + word.pause, *timing))
            times.append(((at + within) / RATE_HZ, (at + within + word.sound) / RATE_HZ))
            character += len(word.text) + 1
            within += word.sound + word.pause
        parts.append((fragment(text), speeches))
        at += within
    return response(*parts), times


def test_nothing_is_heard_before_the_sound_begins():
    assert response((fragment("Hello there. "), [sound(1_000)])).played(0.0) == ""


def test_without_timings_characters_share_the_sound_evenly():
    heard = response((fragment("one two three four"), [sound(1_800)]))
    assert heard.played(0.2) == "one"
    assert heard.played(1.0) == "one two"
    assert heard.played(1.1) == "one two three"


def test_timings_place_the_words():
    heard = response((fragment("one two three"), [sound(500, (0, 0)), sound(2_500, (4, 2_000), (8, 2_500))]))
    assert heard.played(1.9) == "one"
    assert heard.played(2.3) == "one two"
    assert heard.played(2.9) == "one two three"


def test_a_word_is_heard_from_the_middle_of_its_sound():
    heard = response((fragment("one two"), [sound(400, (0, 0), (4, 200))]))
    assert heard.played(0.299) == "one"
    assert heard.played(0.3) == "one two"


def test_the_pause_after_a_word_is_not_part_of_its_sound():
    heard = response((fragment("Yes. No."), [sound(3_000, (0, 0), (5, 2_000))]))
    assert heard.played(0.2) == "Yes."


def test_words_without_a_timing_share_the_time_between_their_neighbours():
    heard = response((fragment("one two three"), [sound(1_200, (0, 0), (8, 560))]))
    assert heard.played(0.35) == "one"
    assert heard.played(0.5) == "one two"


def test_a_price_is_heard_when_half_of_its_spoken_words_are():
    price = Fragment("It is $5.25 today", "It is five dollars and twenty five cents today",
                     ((0, 0), (3, 3), (6, 6), (41, 12)))  # fmt: skip
    heard = response((price, [sound(4_600)]))
    assert heard.played(1.5) == "It is"
    assert heard.played(2.6) == "It is $5.25"
    assert heard.played(4.6) == "It is $5.25 today"


def test_a_number_read_digit_by_digit_is_heard_up_to_a_digit():
    spoken, alignment = normalize("Call 020 7946 now")
    heard = response((Fragment("Call 020 7946 now", spoken, alignment), [sound(100 * len(spoken))]))
    assert spoken == "Call zero two zero, seven nine four six now"
    assert heard.played(0.1 * spoken.index("seven")) == "Call 020"
    assert heard.played(0.1 * spoken.index("four")) == "Call 020 79"
    assert heard.played(0.1 * spoken.index("now")) == "Call 020 7946"


def test_fragments_follow_each_other():
    heard = response((fragment("One two. "), [sound(900)]), (fragment("Three four."), [sound(1_100)]))
    assert heard.played(0.9) == "One two."
    assert heard.played(1.4) == "One two. Three"
    assert heard.sound_s == 2.0


def test_text_without_words_is_played_with_what_sounds_before():
    heard = response((fragment("Bye."), [sound(500)]), (Fragment(" \N{WAVING HAND SIGN}", ""), []))
    assert heard.played(0.05) == ""
    assert heard.played(0.5) == "Bye. \N{WAVING HAND SIGN}"


def test_text_without_words_to_speak_is_not_heard_before_anything_sounds():
    heard = response((Fragment("```\n", ""), []), (fragment("Yes sir."), [sound(800)]))
    assert heard.played(0.0) == ""
    assert heard.played(0.01) == ""
    assert heard.played(0.3) == "```\nYes"


def test_a_script_without_spaces_is_cut_by_its_alignment():
    heard = response((Fragment("你好世界", "你好世界", tuple((i, i) for i in range(4))), [sound(400)]))
    assert heard.played(0.2) == "你好"


def test_without_alignment_a_fragment_is_played_whole_or_not():
    heard = response((Fragment("one two", "one two"), [sound(1_000)]))
    assert heard.played(0.4) == ""
    assert heard.played(0.6) == "one two"


def test_while_sound_is_being_made_slow_speech_is_assumed():
    heard = PlayedText(RATE_HZ)
    heard.add_fragment(fragment("one two three four five six"))
    heard.add_audio(sound(400))
    assert heard.played(0.4) == "one"
    heard.add_audio(sound(680))
    heard.complete_fragment()
    assert heard.played(0.4) == "one two"


def test_while_sound_is_made_only_words_with_a_timing_have_sounded():
    heard = PlayedText(RATE_HZ)
    heard.add_fragment(fragment("one two three four"))
    heard.add_audio(sound(5_000, (0, 0), (4, 300)))
    assert heard.played(5.0) == "one two"


def test_what_was_not_spoken_can_be_dropped():
    heard = response((fragment("All said. "), [sound(900)]))
    heard.add_fragment(fragment("Cut in the middle. "))
    heard.add_audio(sound(600, (0, 0), (4, 300)))
    heard.add_fragment(fragment("Never begun."))
    heard.drop_unspoken()
    heard.add_fragment(fragment("Sorry."))
    heard.add_audio(sound(600))
    heard.complete_fragment()
    assert heard.text == "All said. Cut in Sorry."
    assert heard.played(1.3) == "All said. Cut in"
    assert heard.played(2.1) == "All said. Cut in Sorry."


def test_what_has_no_words_to_speak_is_dropped_with_the_rest():
    played = PlayedText(RATE_HZ)
    played.add_fragment(Fragment("\U0001f44b", "", ()))
    played.drop_unspoken()
    assert not played.awaits_audio
    assert played.played(1.0) == ""


def test_sound_without_a_fragment_is_an_error():
    heard = response((fragment("Done."), [sound(100)]))
    with pytest.raises(ValueError, match="every fragment"):
        heard.add_audio(sound(20))
    with pytest.raises(ValueError, match="every fragment"):
        heard.complete_fragment()


@settings(deadline=None)
@given(RESPONSES, st.booleans(), st.floats(0, 1))
def test_a_cut_leaves_whole_words_from_the_beginning(words, timed, share):
    heard, _ = speak(words, timed)
    cut = heard.played(share * heard.sound_s)
    assert heard.text.startswith(cut)
    assert heard.text.split()[: len(cut.split())] == cut.split()


@settings(deadline=None)
@given(RESPONSES, st.booleans())
def test_the_whole_text_is_heard_exactly_when_all_its_sound_is(words, timed):
    heard, _ = speak(words, timed)
    assert heard.played(heard.sound_s) == heard.text


@settings(deadline=None)
@given(RESPONSES, st.booleans(), st.floats(0, 1), st.floats(0, 1))
def test_hearing_more_sound_never_hears_less_text(words, timed, one, other):
    heard, _ = speak(words, timed)
    less, more = sorted((one * heard.sound_s, other * heard.sound_s))
    assert heard.played(more).startswith(heard.played(less))


@settings(deadline=None)
@given(RESPONSES, st.floats(0, 1))
def test_words_that_sounded_before_the_cut_are_heard_and_no_others(words, share):
    heard, times = speak(words, timed=True)
    cut_s = share * heard.sound_s
    count = len(heard.played(cut_s).split())
    sounded = sum(end_s <= cut_s for _, end_s in times)
    begun = sum(start_s < cut_s for start_s, _ in times)
    assert sounded <= count <= begun


@settings(deadline=None)
@given(RESPONSES, st.integers(0, 20), st.floats(0, 1))
def test_while_sound_is_made_only_words_that_sounded_are_played(words, made, share):
    flat = [word for part in words for word in part]
    text = "".join(word.text + " " for word in flat)
    heard = PlayedText(RATE_HZ)
    heard.add_fragment(fragment(text))
    character = at = 0
    begins = []
    for word in flat[:made]:
        heard.add_audio(sound(word.sound + word.pause, (character, at)))
        begins.append(at / RATE_HZ)
        character += len(word.text) + 1
        at += word.sound + word.pause
    cut_s = share * heard.sound_s
    assert len(heard.played(cut_s).split()) <= sum(start_s < cut_s for start_s in begins)
