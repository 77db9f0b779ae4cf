from __future__ import annotations

import numpy as np
import pytest
from people.material import Clip, Kind
from people.outcome import (
    AgentSound,
    Outcome,
    Point,
    by_kind,
    cut_off_at,
    figures,
    operating_point,
    wait_at,
)

NO_SOUND = np.zeros(0, np.int16)


def outcome(
    *decided_s: float, begins_s: tuple[float, ...] = (), kind: Kind = "question", texts: tuple[str, ...] = ()
) -> Outcome:
    """Of a recording whose voice ends after 2 s; each sound of the agent's lasts 0.5 s."""
    clip = Clip("clip", NO_SOUND, "go on", kind, voice_end_s=2.0)
    return Outcome(clip, decided_s, tuple(AgentSound(at_s, 0.5) for at_s in begins_s), texts)


def test_the_wait_is_that_for_the_first_sound_after_the_voice():
    assert outcome(2.2, begins_s=(2.3, 4.0)).wait_s == pytest.approx(0.3)


def test_sound_before_the_last_voiced_sample_is_a_false_start():
    early = outcome(1.0, 2.2, begins_s=(1.2, 2.3))
    assert early.is_false_start and early.wait_s == pytest.approx(0.3)


def test_a_response_that_outlasts_the_voice_leaves_no_wait():
    assert outcome(1.6, begins_s=(1.7,)).wait_s is None


def test_a_click_of_sound_that_was_cut_is_not_heard():
    click = Outcome(outcome().clip, (1.0, 2.2), (AgentSound(1.2, 0.04), AgentSound(2.3, 1.0)), ())
    assert not click.is_false_start and click.is_cut_off


def test_untold_turns_are_as_many_as_the_agent_spoke():
    clip = outcome().clip
    assert Outcome(clip, None, (AgentSound(1.2, 0.5), AgentSound(2.3, 1.0)), None).turns == 2


def test_recordings_of_one_turn_count_for_turns_and_all_for_words():
    found = figures(
        [
            outcome(2.2, begins_s=(2.3,), texts=("go", "on")),
            outcome(1.0, 2.4, begins_s=(2.5,), texts=("go", "wrong")),
            outcome(1.0, 1.5, 2.2, kind="dialogue", texts=("go on",)),
        ]
    )
    assert (found.clips, found.split, found.extra_turns, found.cut_off) == (3, 0.5, 1, 0.5)
    assert (found.words.errors, found.words.words) == (1, 6)
    assert found.waits_ms == pytest.approx([300, 500])


def test_each_kind_has_its_figures_and_all_of_one_turn_have_theirs():
    kinds = by_kind([outcome(2.2), outcome(2.2, kind="noise"), outcome(2.2, kind="digits")])
    assert {kind: found.clips for kind, found in kinds.items()} == {
        "question": 1,
        "noise": 1,
        "digits": 1,
        "all of one turn": 2,
    }


def test_an_operating_point_is_cut_offs_and_mean_wait():
    point = operating_point("auto", [outcome(2.2), outcome(1.0, 2.4)])
    assert (point.name, point.cut_off) == ("auto", 0.5)
    assert point.wait_ms == pytest.approx(300)


def test_between_operating_points_a_system_is_taken_to_lie_on_the_line():
    points = [Point("quick", 0.2, 200.0), Point("slow", 0.0, 600.0)]
    assert cut_off_at(points, 300.0) == pytest.approx(0.15)
    assert wait_at(points, 0.05) == pytest.approx(500.0)
    assert cut_off_at(points, 700.0) is None


def test_wrong_answer_is_what_was_heard_before_the_last_voiced_sample() -> None:
    found = figures([outcome(1.0, 2.2, begins_s=(1.2, 1.9, 2.3)), outcome(2.2, begins_s=(2.3,))])
    assert found.wrong_answer_s == pytest.approx(0.5)
