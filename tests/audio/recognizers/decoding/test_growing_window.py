from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.recognizers.decoding.growing_window import (
    GrowingWindow,
    Segment,
    has_repetition,
    is_runaway,
    joined,
    last_pause,
    loud_s,
    quiet_cuts,
    spoken_groups,
    spoken_length,
    without_runs,
)


def seconds(length_s: float) -> Samples:
    return np.zeros(round(length_s * SAMPLE_RATE_HZ), np.int16)


def decoding(window: GrowingWindow, new_s: float, *segments: Segment) -> float:
    """Hear more, decode it; the seconds that were decoded."""
    window.push_audio(seconds(new_s))
    taken = window.take_window()
    window.on_decoded(segments)
    return len(taken) / SAMPLE_RATE_HZ


def test_a_decoding_is_due_after_every_step_of_new_sound() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    window.push_audio(seconds(0.4))
    assert window.is_changed()
    assert not window.is_due()
    window.push_audio(seconds(0.1))
    assert window.is_due()
    window.take_window()
    assert not window.is_changed()
    assert not window.is_due()


def test_what_was_taken_and_not_decoded_is_to_be_decoded_yet() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    window.push_audio(seconds(0.5))
    taken = window.take_window()
    window.mark_undecoded()
    assert window.is_changed()
    assert len(window.take_window()) == len(taken)


def heard(text: str, length_s: float = 2.0) -> GrowingWindow:
    """A window so much of which was decoded, as this."""
    window = GrowingWindow(step_s=0.5, longest_s=20)
    decoding(window, length_s, Segment(text, length_s))
    return window


@pytest.mark.parametrize(("silence_s", "changed"), [(0.0, True), (0.25, True), (0.27, False), (1.0, False)])
def test_what_came_since_has_no_words_where_the_voice_ended_well_before_it(
    silence_s: float, changed: bool
) -> None:
    window = heard("Go home.")
    window.push_audio(seconds(0.2))
    assert window.is_changed(silence_s) is changed


def test_what_was_taken_and_not_decoded_has_words_though_silence_followed() -> None:
    window = heard("Go home.")
    window.push_audio(seconds(0.5))
    window.take_window()
    window.mark_undecoded()
    window.push_audio(seconds(0.2))
    assert window.is_changed(silence_s=0.3)


@pytest.mark.parametrize(
    ("text", "changed"), [("Go home.", False), ("Shall I?", False), ("Go home,", True), ("", True)]
)
def test_behind_what_ends_no_sentence_silence_may_change_the_words(text: str, changed: bool) -> None:
    window = heard(text)
    window.push_audio(seconds(0.2))
    assert window.is_changed(silence_s=0.3) is changed


def test_what_is_brief_is_heard_again() -> None:
    window = heard("No.", length_s=1.5)
    window.push_audio(seconds(0.2))
    assert window.is_changed(silence_s=0.3)


def test_a_window_sounds_as_complete_as_its_last_piece() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    decoding(window, 2, Segment("one", 1.0, complete=0.9), Segment("two", 2.0, complete=0.4))
    assert window.complete == 0.4
    decoding(window, 1)
    assert window.complete is None


def test_a_window_is_as_sure_as_its_least_sure_piece() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    decoding(window, 2, Segment("one", 1.0, confidence=0.9), Segment("two", 2.0, confidence=0.4))
    assert window.confidence == 0.4
    decoding(window, 1, Segment("one two", 2.0))
    assert window.confidence is None


def test_all_of_the_window_is_decoded_while_it_is_short() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    assert decoding(window, 1) == 1
    assert decoding(window, 2) == 3


def test_what_three_decodings_agree_on_is_stable() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    decoding(window, 1, Segment("go for", 1))
    decoding(window, 1, Segment("go for ten", 2))
    assert window.stable == ""
    decoding(window, 1, Segment("go forward ten", 2))
    assert (window.text, window.stable) == ("go forward ten", "go")


def test_a_later_decoding_is_believed_though_earlier_ones_agreed_on_other_words() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    for text in ("Yeah", "Yeah", "Yeah", "Please may I"):
        decoding(window, 1, Segment(text, 1))
    assert (window.text, window.stable) == ("Please may I", "")


def test_a_long_window_loses_stable_segments_sound_and_keeps_their_words() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    first, second = Segment("One two three.", 8), Segment("Four five", 15)
    decoding(window, 14, first, second)
    decoding(window, 1, first, second)
    decoding(window, 6, first, Segment("Four six seven", 21))
    assert decoding(window, 1) == 22 - 8
    assert window.prompt == "One two three."
    decoding(window, 1, Segment("Four six seven eight", 15))
    assert window.text == "One two three. Four six seven eight"


def test_final_segments_are_not_decoded_again() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    assert decoding(window, 12, Segment("One two.", 7, final=True), Segment("Three", 12)) == 12
    assert decoding(window, 1, Segment("Three four.", 6)) == 13 - 7
    assert window.text == "One two. Three four."


@pytest.mark.parametrize(
    ("before", "after", "both"),
    [
        ("May I have.", "have a noodle soup", "May I have a noodle soup"),
        ("with audio", "audio analysis", "with audio analysis"),
        ("slightly.", "lower an intensity", "slightly lower an intensity"),
        ("It ends.", "It begins", "It ends. It begins"),
        ("I said no.", "No", "I said no. No"),
        ("", "one", "one"),
        ("one.", "", "one."),
    ],
)
def test_where_two_pieces_join_nothing_is_doubled(before: str, after: str, both: str) -> None:
    assert joined(before, after) == both


@given(st.lists(st.floats(0.1, 12), min_size=1, max_size=12), st.integers(20, 80))
def test_any_cutting_of_the_sound_gives_the_words_of_the_whole(steps: list[float], length_s: int) -> None:
    """A word a second, in pieces of seven."""

    def decoded(sound: Samples) -> list[Segment]:
        words = [str(int(sound[second * SAMPLE_RATE_HZ])) for second in range(len(sound) // SAMPLE_RATE_HZ)]
        pieces = [words[begin : begin + 7] for begin in range(0, len(words), 7)]
        return [
            Segment(" ".join(piece), 7.0 * (index + 1), final=7 * (index + 1) < len(words))
            for index, piece in enumerate(pieces)
        ]

    whole = np.repeat(np.arange(length_s, dtype=np.int16), SAMPLE_RATE_HZ)
    window, at = GrowingWindow(step_s=0.1, longest_s=20), 0
    for step_s in [*steps, length_s]:
        window.push_audio(whole[at : at + round(step_s * SAMPLE_RATE_HZ)])
        at += round(step_s * SAMPLE_RATE_HZ)
        window.on_decoded(decoded(window.take_window()))
    assert window.text.split() == [str(second) for second in range(length_s)]


def test_a_window_far_too_long_is_cut_though_nothing_is_stable() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    assert decoding(window, 27, Segment("no two alike", 26.5)) == 27
    assert decoding(window, 1) == 1.5


def test_a_long_window_without_words_keeps_only_its_end() -> None:
    window = GrowingWindow(step_s=0.5, longest_s=20)
    decoding(window, 21)
    assert decoding(window, 0.5) == 1.5


@given(
    st.lists(
        st.tuples(st.floats(0.1, 3), st.lists(st.sampled_from(["a", "b c", "d"]), max_size=3)), max_size=60
    )
)
def test_no_decoding_is_ever_longer_than_whisper_hears_at_once(steps: list[tuple[float, list[str]]]) -> None:
    window = GrowingWindow(step_s=0.1, longest_s=20)
    for new_s, texts in steps:
        window.push_audio(seconds(new_s))
        length_s = len(window.take_window()) / SAMPLE_RATE_HZ
        assert length_s < 30
        ends = [length_s * (index + 1) / len(texts) for index in range(len(texts))]
        window.on_decoded([Segment(text, end) for text, end in zip(texts, ends, strict=True)])
        assert window.text.startswith(window.stable)


def noise(length_s: float, seed: int = 1) -> Samples:
    size = round(length_s * SAMPLE_RATE_HZ)
    return np.random.default_rng(seed).normal(0, 3_000, size).astype(np.int16)


def test_a_short_sound_is_not_cut() -> None:
    assert quiet_cuts(noise(9)) == []


def test_the_cut_is_in_the_middle_of_a_pause() -> None:
    sound = noise(12)
    sound[round(6.5 * SAMPLE_RATE_HZ) : round(6.8 * SAMPLE_RATE_HZ)] = 0
    [cut] = quiet_cuts(sound)
    assert 6.5 * SAMPLE_RATE_HZ < cut < 6.8 * SAMPLE_RATE_HZ
    assert not sound[cut - 800 : cut + 800].any()


@given(st.floats(0, 40), st.integers(0, 100))
def test_every_piece_is_five_to_nine_seconds_but_for_the_last(length_s: float, seed: int) -> None:
    sound = noise(length_s, seed)
    cuts = [0, *quiet_cuts(sound)]
    assert all(5 <= (end - begin) / SAMPLE_RATE_HZ <= 9 for begin, end in pairwise(cuts))
    assert (len(sound) - cuts[-1]) / SAMPLE_RATE_HZ <= 9


@given(st.floats(5, 20), st.floats(0, 20))
def test_more_sound_moves_no_cut(length_s: float, more_s: float) -> None:
    sound = noise(length_s + more_s)
    cuts = quiet_cuts(sound[: round(length_s * SAMPLE_RATE_HZ)])
    assert quiet_cuts(sound)[: len(cuts)] == cuts


def with_pauses(*pauses_s: float, last_s: float = 1.0) -> Samples:
    """A second of voice before each pause, and some at the end."""
    parts = [part for seconds in pauses_s for part in (noise(1), noise(seconds) // 100)]
    return np.concatenate([*parts, noise(last_s)])


def test_dictation_is_cut_in_its_pauses_into_groups_of_some_length() -> None:
    """The last pause leaves too little for a group of its own."""
    sound = with_pauses(0.4, 0.1, 0.4, last_s=0.5)
    groups = spoken_groups(sound)
    assert [len(group) / SAMPLE_RATE_HZ for group in groups] == pytest.approx([1.2, 3.2], abs=0.05)
    assert np.array_equal(np.concatenate(groups), sound)


@given(st.lists(st.floats(0.0, 1.0), max_size=6), st.floats(0.0, 2.0))
def test_groups_of_dictation_are_long_enough_and_together_all_of_it(
    pauses_s: list[float], last_s: float
) -> None:
    sound = with_pauses(*pauses_s, last_s=last_s)
    groups = spoken_groups(sound)
    assert np.array_equal(np.concatenate(groups), sound)
    assert len(groups) == 1 or all(len(group) >= 0.79 * SAMPLE_RATE_HZ for group in groups)


def test_the_last_long_pause_is_found_with_what_lies_before_and_behind() -> None:
    begin, end = last_pause(with_pauses(0.9, 0.4, 0.9)) or (0, 0)
    assert begin / SAMPLE_RATE_HZ == pytest.approx(4.3, abs=0.03)
    assert end / SAMPLE_RATE_HZ == pytest.approx(5.2 - 0.3, abs=0.03)


@pytest.mark.parametrize("pauses_s", [(), (0.4,), (0.6, 0.6)])
def test_short_pauses_are_none(pauses_s: tuple[float, ...]) -> None:
    assert last_pause(with_pauses(*pauses_s)) is None


def test_a_pause_counts_when_enough_is_behind_it() -> None:
    assert last_pause(with_pauses(0.9, last_s=0.3)) is None
    assert last_pause(np.zeros(SAMPLE_RATE_HZ, np.int16)) is None


def test_a_sound_is_loud_for_as_long_as_it_is_not_silent() -> None:
    assert loud_s(with_pauses(0.9, 0.4, last_s=0.5)) == pytest.approx(2.5)
    assert loud_s(np.zeros(SAMPLE_RATE_HZ, np.int16)) == loud_s(np.zeros(0, np.int16)) == 0.0


@pytest.mark.parametrize(("text", "words"), [("33 for 692.", 6), ("Thirty three, four", 3), ("", 0)])
def test_figures_count_as_the_words_they_are(text: str, words: int) -> None:
    assert spoken_length(text) == words


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("I'd like a coffee with milk. I'd like a coffee with milk", True),
        ("Wait, wait, wait, what about the pool?", False),
        ("One, two, three, four, one, two, three, five.", False),
        ("", False),
    ],
)
def test_a_loop_says_five_words_in_a_row_twice(text: str, again: bool) -> None:
    assert has_repetition(text) is again


@pytest.mark.parametrize(
    ("text", "runaway"),
    [
        ("Montreal forced um " + "m" * 80, True),
        ("I think " + "so, " * 40, True),
        ("um, um, um, um, um, um", False),
        ("words, words, words, words, and that should be all", False),
        ("five five five five five five five", False),
        ("", False),
    ],
)
def test_row_of_equal_parts_is_a_runaway(text: str, runaway: bool) -> None:
    assert is_runaway(text) is runaway


def test_of_a_row_of_equal_parts_one_is_left() -> None:
    assert without_runs("forced um " + "m" * 80) == "forced um m"
    assert without_runs("I think " + "so, " * 40 + "yes") == "I think so, yes"
    assert without_runs("words, words, words, words") == "words, words, words, words"
