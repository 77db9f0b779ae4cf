"""Texts of agents and their spoken form: two labelled lists, tested through the spoken fragments.

`spoken_kinds.tsv` has the kinds that once failed, each with related ones; all are right, commas included.
`spoken.tsv` has 300 sentences of agents, 100 a language, labelled before any code ran on them. In each
language the odd rows were read while the rules were written. The even rows were held out: 145 of 150 were
right before the failures were inspected; those five kinds were fixed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spoken_lists import Labelled, fragments_of, labelled, said, words_of

from audio.synthesizers import Speech, WordTiming
from voiceagent.conversation.response.played_text import PlayedText
from voiceagent.text_normalization import normalize

KINDS = labelled("spoken_kinds.tsv")
SENTENCES = labelled("spoken.tsv")
LANGUAGES = ("en", "de", "es", "fr", "it", "nl")
MAX_WRONG = 0.03


@pytest.mark.parametrize("language", sorted({row.language for row in KINDS}))
def test_each_kind_is_spoken_as_people_say_it(language: str) -> None:
    assert differing(language, lambda row: said(fragments_of(row.text, language))) == []


@pytest.mark.parametrize("language", sorted({row.language for row in KINDS}))
def test_a_text_in_one_piece_is_spoken_as_its_fragments(language: str) -> None:
    assert differing(language, lambda row: normalize(row.text, language)[0]) == []


def differing(language: str, spoken: Callable[[Labelled], str]) -> list[tuple[Labelled, str]]:
    """Return the rows of `KINDS` that are spoken otherwise than labelled, and how."""
    rows = [(row, spoken(row)) for row in KINDS if row.language == language]
    return [(row, words) for row, words in rows if words.casefold() != row.spoken.casefold()]


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_nearly_all_sentences_of_agents_are_read_as_labelled(language: str) -> None:
    rows = [row for row in SENTENCES if row.language == language]
    wrong = [
        row for row in rows if words_of(said(fragments_of(row.text, row.language))) != words_of(row.spoken)
    ]
    assert len(rows) == 100
    assert len(wrong) <= MAX_WRONG * len(rows), wrong


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, str, tuple[int, ...]]:
    """Draw one or more joined texts of a language, and the indexes at which the stream is cut."""
    language = draw(st.sampled_from(LANGUAGES))
    rows = [row for row in KINDS + SENTENCES if row.language == language]
    chosen = draw(st.lists(st.sampled_from(rows), min_size=1, max_size=3))
    text = draw(st.sampled_from([" ", "\n", "  "])).join(row.text for row in chosen)
    cuts = draw(st.lists(st.integers(0, len(text)), max_size=40))
    return text, language, tuple(cuts)


@settings(deadline=None, max_examples=300)
@given(cut_texts())
def test_the_cutting_of_the_stream_changes_nothing(drawn: tuple[str, str, tuple[int, ...]]) -> None:
    text, language, cuts = drawn
    assert fragments_of(text, language, cuts) == fragments_of(text, language)


@settings(deadline=None, max_examples=300)
@given(cut_texts(), st.booleans(), st.data())
def test_played_text_grows_word_by_word(
    drawn: tuple[str, str, tuple[int, ...]], timed: bool, data: st.DataObject
) -> None:
    text, language, _ = drawn
    played = PlayedText(rate_hz=100)
    for fragment in fragments_of(text, language):
        played.add_fragment(fragment)
        if fragment.spoken:
            timings = tuple(WordTiming(at, 10 * at) for at, _ in fragment.alignment) if timed else ()
            played.add_audio(Speech(np.zeros(10 * len(fragment.spoken), np.int16), timings))
        played.complete_fragment()
    moments = sorted(data.draw(st.lists(st.floats(0, played.sound_s), max_size=8)))
    said_so_far = [played.played(moment) for moment in moments]
    for earlier, later in pairwise(said_so_far):
        assert later.startswith(earlier)
    for part in said_so_far:
        assert text.startswith(part)
        rest = text[len(part) :]
        assert not part or not rest or rest[0].isspace() or begins_word(text, len(part), language)
    assert played.played(played.sound_s + 1) == (text.rstrip() if played.sound_s else "")


def begins_word(text: str, at: int, language: str) -> bool:
    """Return True if a fragment begins here with no space before it, as in "Great!Your"."""
    position, starts = 0, set()
    for fragment in fragments_of(text, language):
        starts.add(position)
        starts |= {position + written for _, written in fragment.alignment}
        position += len(fragment.text)
    return at in starts
