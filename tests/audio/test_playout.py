"""Playout: frames paced out, and what was played of them. Time is an argument."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.playout import DUCKED_GAIN, LOST_REPORTS_S, UNREPORTED_S, Playout, Reports

RATE_HZ = 8_000
FRAME = 160
FRAME_S = 0.02
LEAD_S = 0.06


def sound(seconds: float) -> np.ndarray:
    """Samples that are all different from their neighbours and none of them zero."""
    return (1 + np.arange(round(seconds * RATE_HZ)) % 30_000).astype(np.int16)


def playing(seconds: float, finished: bool = True) -> Playout:
    playout = Playout(RATE_HZ, FRAME_S, LEAD_S)
    playout.queue(sound(seconds))
    if finished:
        playout.finish()
    return playout


def run(playout: Playout, now_s: float, until_s: float) -> list[np.ndarray]:
    """Serve every frame at the moment it is due; returns them all."""
    frames = playout.due(now_s)
    while (next_s := playout.next_due_s(now_s)) is not None and next_s <= until_s:
        assert next_s > now_s
        now_s = next_s
        frames += playout.due(now_s)
    return frames


def test_a_held_voice_goes_on_where_it_was():
    playout = Playout(1000, lead_s=0.04)
    playout.queue(np.arange(100, dtype=np.int16))
    playout.finish()
    sent = playout.due(0.0)
    playout.hold()
    assert playout.due(5.0) == []
    assert playout.next_due_s(5.0) is None
    playout.restore()
    for now_s in (5.0, 5.02, 5.04, 5.06):
        sent += playout.due(now_s)
    assert np.concatenate(sent).tolist() == list(range(100))


def test_the_lead_is_sent_at_once_then_frame_by_frame():
    playout = playing(1.0)
    assert len(playout.due(100.0)) == 3
    assert playout.due(100.0) == []
    assert playout.next_due_s(100.0) == pytest.approx(100.02)
    assert len(playout.due(100.02)) == 1


def test_frames_have_one_length_and_the_last_is_filled_with_zeros():
    frames = run(playing(0.05), 0.0, 1.0)
    assert [len(frame) for frame in frames] == [FRAME, FRAME, FRAME]
    assert np.array_equal(np.concatenate(frames)[:400], sound(0.05))
    assert not frames[-1][80:].any()


def test_part_of_a_frame_waits_for_more_sound():
    playout = playing(0.03, finished=False)
    assert len(playout.due(0.0)) == 1
    assert playout.next_due_s(0.0) is None
    playout.queue(sound(0.01))
    assert len(playout.due(0.005)) == 1


def test_padding_is_not_counted_as_sound():
    playout = playing(0.03)
    playout.due(0.0)
    assert playout.sent_s == 0.03
    assert playout.played_s(10.0) == 0.03


def test_nothing_is_played_before_the_first_frame():
    playout = playing(1.0)
    assert playout.played_s(50.0) == 0.0
    assert playout.stop(50.0) == 0.0


def test_hearing_follows_the_clock_from_the_first_frame_on():
    playout = playing(1.0)
    run(playout, 100.0, 100.5)
    assert playout.played_s(100.5) == pytest.approx(0.5)
    assert playout.played_s(100.505) == pytest.approx(0.505)


def test_nothing_is_played_that_was_not_sent():
    playout = playing(1.0)
    playout.due(0.0)
    assert playout.played_s(0.5) == pytest.approx(LEAD_S)


def test_after_sound_ran_out_hearing_waits_for_the_next_frame():
    playout = playing(0.1, finished=False)
    run(playout, 0.0, 1.0)
    playout.queue(sound(0.1))
    playout.due(1.0)
    assert playout.played_s(1.01) == pytest.approx(0.11)


def test_sound_in_time_is_played_without_a_break():
    playout = playing(0.1, finished=False)
    run(playout, 0.0, 0.09)
    playout.queue(sound(0.1))
    run(playout, 0.09, 0.15)
    assert playout.played_s(0.15) == pytest.approx(0.15)


def test_a_late_timer_is_made_up_for_up_to_the_lead():
    playout = playing(1.0)
    playout.due(0.0)
    assert len(playout.due(0.05)) == 2
    assert playout.played_s(0.1) == pytest.approx(0.1)


def test_the_end_is_reported_when_sent_and_again_when_played():
    playout = playing(0.04)
    assert not playout.all_sent
    playout.due(0.0)
    assert playout.all_sent
    assert not playout.all_played(0.03)
    assert playout.next_due_s(0.03) == pytest.approx(0.04)
    assert playout.all_played(0.04)
    assert playout.next_due_s(0.04) is None


def test_an_unfinished_reply_is_never_all_sent():
    playout = playing(0.04, finished=False)
    playout.due(0.0)
    assert not playout.all_sent
    assert playout.next_due_s(0.0) is None


def test_a_reply_without_sound_is_over_once_finished():
    playout = playing(0.0)
    assert playout.due(0.0) == []
    assert playout.all_played(0.0)


def test_a_stopped_playout_says_what_was_played_and_sends_nothing_more():
    playout = playing(1.0)
    run(playout, 0.0, 0.25)
    assert playout.stop(0.25) == pytest.approx(0.25)
    playout.queue(sound(1.0))
    assert playout.due(0.5) == []
    assert playout.next_due_s(0.5) is None
    assert playout.unsent_s == 0.0
    assert playout.played_s(0.5) == pytest.approx(0.25)
    assert playout.all_played(0.25)


def test_what_waits_is_known():
    playout = playing(1.0)
    playout.due(0.0)
    assert playout.unsent_s == pytest.approx(0.94)


def test_a_report_of_the_transport_overrules_the_clock():
    playout = playing(1.0)
    run(playout, 0.0, 0.5)
    playout.reported(0.3, 0.5)
    assert playout.played_s(0.5) == pytest.approx(0.3)
    assert playout.played_s(0.55) == pytest.approx(0.35)


def test_a_report_late_by_the_round_trip_does_not_change_the_pace():
    reported, unreported = playing(1.0), playing(1.0)
    for playout in (reported, unreported):
        run(playout, 0.0, 0.5)
    reported.reported(0.3, 0.5)
    assert reported.next_due_s(0.5) == unreported.next_due_s(0.5)
    assert len(reported.due(0.6)) == len(unreported.due(0.6))


def test_a_response_ends_when_a_remote_that_lags_has_played_it():
    playout = playing(1.0)
    run(playout, 0.0, 0.5)
    playout.reported(0.3, 0.5)
    run(playout, 0.5, 1.1)
    assert playout.all_sent
    assert not playout.all_played(1.1)
    assert playout.next_due_s(1.1) == pytest.approx(1.2)
    assert playout.all_played(1.2)


def test_a_report_beyond_what_was_sent_counts_as_all_sent():
    playout = playing(1.0)
    playout.due(0.0)
    playout.reported(5.0, 0.01)
    assert playout.played_s(0.01) == playout.sent_s


def test_a_report_after_the_stop_changes_nothing():
    playout = playing(1.0)
    run(playout, 0.0, 0.25)
    playout.stop(0.25)
    playout.reported(1.0, 0.3)
    assert playout.played_s(0.3) == pytest.approx(0.25)


def test_a_ducked_voice_is_lower_from_the_next_frame_on():
    playout = Playout(RATE_HZ, FRAME_S, LEAD_S)
    playout.queue(np.full(10 * FRAME, 10_000, np.int16))
    before = playout.due(0.0)
    playout.duck()
    (gliding,) = playout.due(0.02)
    (ducked,) = playout.due(0.04)
    assert all((frame == 10_000).all() for frame in before)
    assert gliding[0] == 10_000
    assert (np.diff(gliding) <= 0).all()
    assert (ducked == round(10_000 * DUCKED_GAIN)).all()


def test_a_restored_voice_glides_back_to_what_it_was():
    playout = Playout(RATE_HZ, FRAME_S, LEAD_S)
    playout.queue(np.full(10 * FRAME, 10_000, np.int16))
    playout.duck()
    playout.due(0.0)
    playout.restore()
    (gliding,) = playout.due(0.02)
    (restored,) = playout.due(0.04)
    assert (np.diff(gliding) >= 0).all()
    assert (restored == 10_000).all()


def test_a_duck_undone_before_the_next_frame_leaves_the_sound_untouched():
    playout = playing(1.0)
    playout.duck()
    playout.restore()
    assert np.array_equal(np.concatenate(run(playout, 0.0, 2.0)), sound(1.0))


def test_a_lead_shorter_than_a_frame_is_refused():
    with pytest.raises(ValueError, match=r"lead_s is 0\.01"):
        Playout(RATE_HZ, 0.02, 0.01)


# ---- Over any course of a reply: pieces of sound, and the time that passes after each ----

courses = st.lists(st.tuples(st.integers(0, 4_000), st.floats(0, 0.3)), max_size=20)


@given(courses, st.sampled_from([8_000, 22_050, 24_000]))
def test_all_sound_is_sent_once_and_in_order(course, rate_hz):
    playout = Playout(rate_hz)
    queued, sent, now_s = [], [], 1_000.0
    for length, seconds in course:
        piece = np.random.default_rng(length).integers(-9_000, 9_000, length).astype(np.int16)
        playout.queue(piece)
        queued.append(piece)
        sent += playout.due(now_s)
        now_s += seconds
    playout.finish()
    sent += run(playout, now_s, now_s + 1_000)
    whole = np.concatenate([np.zeros(0, np.int16), *queued])
    got = np.concatenate([np.zeros(0, np.int16), *sent])
    assert np.array_equal(got[: len(whole)], whole)
    assert len(got) - len(whole) < round(0.02 * rate_hz)
    assert playout.all_sent


@given(courses)
def test_played_never_exceeds_sent_nor_sent_queued_or_the_lead(course):
    playout = Playout(RATE_HZ, FRAME_S, LEAD_S)
    queued, now_s, played_s = 0, 5.0, 0.0
    for length, seconds in course:
        playout.queue(sound(length / RATE_HZ))
        queued += length
        playout.due(now_s)
        now_played_s = playout.played_s(now_s)
        assert played_s - 1e-9 <= now_played_s <= playout.sent_s <= queued / RATE_HZ
        assert playout.sent_s - now_played_s <= LEAD_S + 1e-5
        played_s = now_played_s
        now_s += seconds


@given(courses)
def test_served_on_time_all_is_played_that_was_sent_as_time_passes(course):
    playout = Playout(RATE_HZ, FRAME_S, LEAD_S)
    playout.queue(sound(0.1))
    now_s = played_s = 0.0
    playout.due(now_s)
    for length, seconds in course:
        run(playout, now_s, now_s + seconds)
        now_s += seconds
        played_s = min(played_s + seconds, playout.sent_s)  # and then silence, until more comes
        playout.queue(sound(length / RATE_HZ))
        playout.due(now_s)
        assert playout.played_s(now_s) == pytest.approx(played_s, abs=1e-5)


@given(courses, st.floats(0, 1))
def test_what_a_stop_says_stays_true(course, stop_after_s):
    playout = Playout(RATE_HZ, FRAME_S, LEAD_S)
    now_s = 0.0
    for length, seconds in course:
        playout.queue(sound(length / RATE_HZ))
        playout.due(now_s)
        now_s += seconds
    played_s = playout.stop(now_s + stop_after_s)
    assert played_s <= playout.sent_s
    for later_s in (0.0, 0.5, 50.0):
        assert playout.due(now_s + stop_after_s + later_s) == []
        assert playout.played_s(now_s + stop_after_s + later_s) == played_s


def reporting() -> tuple[Playout, Reports]:
    """Return a playout with ten seconds of sound, to a remote that reported earlier playback."""
    reports = Reports()
    reports.add(2.0, -1.0)
    reports.begin(0.0)
    playout = Playout(RATE_HZ, FRAME_S, LEAD_S, reports)
    playout.queue(sound(10.0))
    playout.finish()
    return playout, reports


def test_what_a_remote_that_reports_does_not_tell_of_was_not_played():
    playout, reports = reporting()
    run(playout, 0.0, 1.5)
    reports.add(1.4, 1.5)
    playout.reported(1.4, 1.5)
    run(playout, 1.5, 8.0)  # its line stands still
    assert playout.sent_s > 7.0
    assert playout.stop(8.0) == pytest.approx(1.4 + UNREPORTED_S)


def test_where_the_line_stands_still_before_a_response_nothing_of_it_is_played():
    playout, _ = reporting()
    run(playout, 0.0, 8.0)
    assert playout.played_s(8.0) == pytest.approx(UNREPORTED_S)


def test_a_response_whose_reports_are_late_is_over_when_they_come():
    playout, reports = reporting()
    run(playout, 0.0, 12.0)
    assert playout.all_sent
    assert not playout.all_played(12.0)
    reports.add(10.0, 17.0)
    playout.reported(10.0, 17.0)
    assert playout.all_played(17.0)


def test_a_remote_that_has_lost_its_reports_is_taken_by_the_clock():
    playout, _ = reporting()
    run(playout, 0.0, LOST_REPORTS_S + 1.0)
    assert playout.all_played(LOST_REPORTS_S + 1.0)


def test_the_last_report_of_a_healthy_remote_is_not_waited_for():
    playout, reports = reporting()
    run(playout, 0.0, 10.0)
    reports.add(10.0 - UNREPORTED_S, 9.5)
    assert playout.all_played(10.0 + FRAME_S)


class Client:
    """A client that plays all audio in the order in which it came: speech, and other audio between."""

    def __init__(self) -> None:
        self.until_s = 0.0
        self.speech: list[tuple[float, float]] = []

    def receive(self, now_s: float, seconds: float, speech: bool) -> None:
        begin_s = max(now_s, self.until_s)
        self.until_s = begin_s + seconds
        if speech:
            self.speech.append((begin_s, self.until_s))

    def played_s(self, now_s: float) -> float:
        """Return the seconds of speech that were played by now."""
        return sum(max(0.0, min(end_s, now_s) - begin_s) for begin_s, end_s in self.speech)


@given(
    st.lists(
        st.tuples(st.sampled_from(["speak", "other", "wait", "hold", "restore"]), st.floats(0.0, 0.15)),
        min_size=1,
        max_size=60,
    )
)
def test_what_was_played_is_exact_with_other_audio_between_the_frames(moves: list[tuple[str, float]]):
    playout, client, now_s = Playout(RATE_HZ, FRAME_S, LEAD_S), Client(), 10.0
    for move, seconds in moves:
        if move == "speak":
            playout.queue(sound(0.1))
        elif move == "other":
            client.receive(now_s, FRAME_S, speech=False)
        elif move == "hold":
            playout.hold()
        elif move == "restore":
            playout.restore()
        playout.follow(client.until_s)
        for frame in playout.due(now_s):
            client.receive(now_s, len(frame) / RATE_HZ, speech=True)
        now_s += seconds
        assert playout.played_s(now_s) == pytest.approx(client.played_s(now_s), abs=1e-9)
    assert playout.dropped_s(now_s) == pytest.approx(max(0.0, client.until_s - now_s), abs=1e-9)


def test_speech_after_other_audio_is_played_when_that_is_over():
    playout = playing(0.02)
    playout.follow(100.06)
    assert len(playout.due(100.02)) == 1, "the lead counts the other audio"
    assert playout.played_s(100.06) == pytest.approx(0.0)
    assert playout.played_s(100.07) == pytest.approx(0.01)
    assert playout.next_due_s(100.07) == pytest.approx(100.08)


def test_a_report_corrects_the_position_across_other_audio():
    playout = playing(0.02, finished=False)
    playout.due(100.0)
    playout.follow(100.1)  # other audio from 100.02 to 100.1
    playout.queue(sound(0.02))
    playout.due(100.08)
    # the client is 50 ms late: at 100.07 it has just played the first frame
    playout.reported(0.02, 100.07)
    assert playout.played_s(100.15) == pytest.approx(0.02)
    assert playout.played_s(100.16) == pytest.approx(0.03)
