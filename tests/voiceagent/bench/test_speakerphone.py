from __future__ import annotations

import numpy as np
import pytest
from yielding.loudspeaker import Loudspeaker
from yielding.speakerphone import REFLECTIONS, SUPPRESSED_S, EchoSuppressor, Speakerphone

RATE_HZ = 24_000
FRAME = np.full(480, 9_000, np.int16)
VOICE = np.full(480, 100, np.int16)
DELAY_S, GAIN = REFLECTIONS[0]


@pytest.fixture
def phone() -> Speakerphone:
    loudspeaker = Loudspeaker()
    for _ in range(2):
        loudspeaker.play(FRAME, 1.0)
    return Speakerphone(loudspeaker, RATE_HZ)


def test_the_agent_comes_back_later_and_softer_beside_the_caller(phone):
    assert phone.hear(VOICE, 1.0 + DELAY_S) == pytest.approx(VOICE + FRAME * GAIN)


def test_before_and_long_after_there_is_only_the_caller(phone):
    assert (phone.hear(VOICE, 1.0) == VOICE).all()
    assert (phone.hear(VOICE, 3.0) == VOICE).all()


def test_an_echo_begins_within_a_frame_of_the_caller(phone):
    heard = phone.hear(VOICE, 0.99 + DELAY_S)
    assert (heard[:240] == 100).all() and (heard[240:] == 3_100).all()


def test_what_is_too_loud_is_clipped(phone):
    loud = np.full(480, 32_000, np.int16)
    assert (phone.hear(loud, 1.0 + DELAY_S) == 32_767).all()


@pytest.fixture
def suppressor() -> EchoSuppressor:
    loudspeaker = Loudspeaker()
    loudspeaker.play(FRAME, 1.0)
    loudspeaker.play(np.zeros(480, np.int16), 1.02)
    return EchoSuppressor(loudspeaker, RATE_HZ, lower_db=20.0)


@pytest.mark.parametrize("at_s", [1.0, 1.0 + SUPPRESSED_S])
def test_a_caller_is_lower_while_the_agent_sounds_and_shortly_after(suppressor, at_s):
    assert (suppressor.hear(VOICE, at_s) == 10).all()


@pytest.mark.parametrize("at_s", [0.98, 1.01 + SUPPRESSED_S])
def test_before_and_after_that_he_is_heard_as_he_is(suppressor, at_s):
    assert (suppressor.hear(VOICE, at_s) == VOICE).all()
