"""Keys as tones count once, whether the line reports them too or not."""

from __future__ import annotations

import numpy as np

from audio.dtmf import tones
from voiceagent.transports.telephony.stream.keypad import SAME_KEY_S, InbandKeys

RATE_HZ = 8_000


def test_tones_are_keys_on_a_line_that_reports_none() -> None:
    assert InbandKeys(RATE_HZ).push(tones("12#", RATE_HZ), 0.0) == "12#"


def test_a_key_that_was_heard_and_is_reported_too_counts_once() -> None:
    keys = InbandKeys(RATE_HZ)
    assert keys.push(tones("5", RATE_HZ), 10.0) == "5"
    assert not keys.is_new("5", 10.1)
    assert keys.is_new("5", 10.3), "pressed again"


def test_after_a_report_tones_no_longer_count() -> None:
    keys = InbandKeys(RATE_HZ)
    assert keys.is_new("5", 0.0)
    assert keys.push(tones("56", RATE_HZ), 0.1) == ""
    assert keys.is_new("6", 0.2)


def test_the_same_key_reported_much_later_is_another_one() -> None:
    keys = InbandKeys(RATE_HZ)
    keys.push(tones("5", RATE_HZ), 0.0)
    assert keys.is_new("5", SAME_KEY_S + 0.1)


def test_the_echo_of_our_own_tones_is_no_key() -> None:
    keys = InbandKeys(RATE_HZ)
    keys.mute(5.0)
    assert keys.push(tones("1", RATE_HZ), 4.0) == ""
    assert keys.push(np.zeros(800, np.int16), 4.5) == ""
    assert keys.push(tones("1", RATE_HZ), 6.0) == "1"
