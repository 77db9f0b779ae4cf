"""Attribution of a voice over the agent, by its loudness."""

from __future__ import annotations

import pytest

from voiceagent.conversation.turn.proximity import TURNS, VARIES_DB, SpeakerProximity, VoiceLevels

MARGIN_DB = 12.0


@pytest.fixture
def levels() -> VoiceLevels:
    """Return the levels of a call whose caller speaks at -20 dB."""
    levels = VoiceLevels()
    levels.add_turn(-20.0)
    return levels


@pytest.mark.parametrize(
    "level_db, proximity", [(-32.0, SpeakerProximity.NEAR), (-32.1, SpeakerProximity.LOW)]
)
def test_what_is_lower_than_the_caller_by_the_margin_is_low(levels, level_db, proximity):
    assert levels.proximity(level_db, MARGIN_DB) is proximity


def test_a_voice_of_a_call_without_turns_is_near():
    assert VoiceLevels().proximity(-60.0, MARGIN_DB) is SpeakerProximity.NEAR


@pytest.mark.parametrize("level_db, margin_db", [(None, MARGIN_DB), (-60.0, 0.0)])
def test_without_a_level_or_a_margin_it_is_near(levels, level_db, margin_db):
    assert levels.proximity(level_db, margin_db) is SpeakerProximity.NEAR


def test_what_is_about_as_low_as_what_stayed_low_is_distant(levels):
    levels.add_low_voice(-45.0)
    levels.add_low_voice(-50.0)
    assert levels.proximity(-45.0 + VARIES_DB, MARGIN_DB) is SpeakerProximity.DISTANT
    assert levels.proximity(-44.9 + VARIES_DB, MARGIN_DB) is SpeakerProximity.LOW


def test_a_callers_level_is_that_of_the_newest_turns(levels):
    for _ in range(TURNS):
        levels.add_turn(-40.0)
    assert levels.caller_db == -40.0
