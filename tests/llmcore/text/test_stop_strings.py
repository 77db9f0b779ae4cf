from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.text.stop_strings import StopStrings, partial_mark_length

FEW_LETTERS = st.text("ab\n", max_size=12)
STOPS = st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3).map(tuple)


def test_text_without_a_stop_string_passes_at_once() -> None:
    assert StopStrings(("###",)).push("hello") == "hello"


def test_only_what_may_begin_a_stop_string_is_held_back() -> None:
    stops = StopStrings(("###",))
    assert stops.push("hello #") == "hello "
    assert stops.push("1") == "#1"


def test_what_was_held_back_comes_out_at_the_end() -> None:
    stops = StopStrings(("###",))
    stops.push("a##")
    assert stops.finish() == "##"


def test_an_empty_stop_string_stops_nothing() -> None:
    stops = StopStrings(("",))
    assert stops.push("hello") == "hello"
    assert not stops.stopped


@given(FEW_LETTERS, st.lists(st.text("ab\n", min_size=1, max_size=4)))
def test_what_is_held_back_begins_a_mark(text: str, marks: list[str]) -> None:
    length = partial_mark_length(text, marks)
    assert length == 0 or any(mark.startswith(text[-length:]) and len(mark) > length for mark in marks)


@given(st.lists(FEW_LETTERS, max_size=8), STOPS)
def test_the_reply_is_cut_before_the_first_stop_string_however_it_comes(
    pieces: list[str], stop: tuple[str, ...]
) -> None:
    stops = StopStrings(stop)
    said = ""
    for piece in pieces:
        said += stops.push(piece)
        if stops.stopped:
            break
    said += stops.finish()
    whole = "".join(pieces)
    # Piece by piece the stop string that is complete first wins, as it must in a stream.
    ends = [end for end in range(len(whole) + 1) if any(whole[:end].endswith(one) for one in stop)]
    if ends:
        upto = whole[: ends[0]]
        assert stops.stopped
        assert whole.startswith(said)
        assert not any(one in said for one in stop)
        assert len(said) <= len(upto)
    else:
        assert said == whole
        assert not stops.stopped
