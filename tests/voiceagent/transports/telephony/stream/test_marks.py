from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.transports.telephony.stream.marks import EVERY_FRAMES, MAX_PENDING, Marks, Played

FRAME = 160


def sent(marks: Marks, frames: int, response_id: str = "r1") -> list[str]:
    names = [marks.sent(response_id, FRAME) for _ in range(frames)]
    return [name for name in names if name is not None]


def test_the_first_frame_is_marked_and_then_every_seventh():
    marks = Marks()
    first, second = sent(marks, EVERY_FRAMES + 1)
    assert marks.played(first) == Played("r1", FRAME, last=False)
    assert marks.played(second) == Played("r1", (EVERY_FRAMES + 1) * FRAME, last=False)


def test_the_end_of_a_response_is_marked_if_it_had_sound():
    marks = Marks()
    sent(marks, 5)
    assert marks.ended("r2") is None
    name = marks.ended("r1")
    assert name is not None
    assert marks.played(name) == Played("r1", 5 * FRAME, last=True)


def test_each_response_is_counted_from_its_own_beginning():
    marks = Marks()
    sent(marks, 30)
    (name,) = sent(marks, 1, "r2")
    assert marks.played(name) == Played("r2", FRAME, last=False)


def test_marks_that_come_back_after_a_clear_say_nothing():
    marks = Marks()
    (name,) = sent(marks, 1)
    marks.clear()
    assert marks.played(name) is None
    assert marks.ended("r1") is None


def test_a_mark_says_something_once_and_a_foreign_one_nothing():
    marks = Marks()
    (name,) = sent(marks, 1)
    assert marks.played("somebody else's") is None
    assert marks.played(name) is not None
    assert marks.played(name) is None


def test_marks_that_never_come_back_are_forgotten():
    marks = Marks()
    names = sent(marks, EVERY_FRAMES * (MAX_PENDING + 1))
    assert marks.played(names[0]) is None
    assert marks.played(names[-1]) is not None


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.data())
def test_what_was_played_only_grows_within_a_response(lengths, data):
    marks, names = Marks(), []
    for number, frames in enumerate(lengths):
        names += sent(marks, frames, f"r{number}")
        names.append(marks.ended(f"r{number}"))
    lost = data.draw(st.sets(st.sampled_from(names)))
    played = [marks.played(name) for name in names if name not in lost]
    positions = [(one.response_id, one.samples) for one in played if one is not None]
    assert len(positions) == len(names) - len(lost)
    assert positions == sorted(positions)
