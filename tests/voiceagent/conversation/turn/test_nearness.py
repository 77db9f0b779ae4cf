"""Whose a voice over the agent is, by how loud it is."""

from __future__ import annotations

import pytest

from voiceagent.conversation.turn.nearness import TURNS, VARIES_DB, Levels, Nearness

MARGIN_DB = 12.0


@pytest.fixture
def levels() -> Levels:
    """Those of a call whose caller speaks at -20 dB."""
    levels = Levels()
    levels.said(-20.0)
    return levels


@pytest.mark.parametrize("level_db, nearness", [(-32.0, Nearness.NEAR), (-32.1, Nearness.LOW)])
def test_what_is_lower_than_the_caller_by_the_margin_is_low(levels, level_db, nearness):
    assert levels.nearness(level_db, MARGIN_DB) is nearness


def test_a_voice_of_a_call_without_turns_is_near():
    assert Levels().nearness(-60.0, MARGIN_DB) is Nearness.NEAR


@pytest.mark.parametrize("level_db, margin_db", [(None, MARGIN_DB), (-60.0, 0.0)])
def test_without_a_level_or_a_margin_it_is_near(levels, level_db, margin_db):
    assert levels.nearness(level_db, margin_db) is Nearness.NEAR


def test_what_is_about_as_low_as_what_stayed_low_is_distant(levels):
    levels.stayed_low(-45.0)
    levels.stayed_low(-50.0)
    assert levels.nearness(-45.0 + VARIES_DB, MARGIN_DB) is Nearness.DISTANT
    assert levels.nearness(-44.9 + VARIES_DB, MARGIN_DB) is Nearness.LOW


def test_a_callers_level_is_that_of_the_newest_turns(levels):
    for _ in range(TURNS):
        levels.said(-40.0)
    assert levels.callers_db == -40.0
