from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recordings import recorded

from audio.pcm import AudioFormat, Samples, decode, encode
from tests.voiceagent.transports.telephony import test_plivo as plivo_line
from tests.voiceagent.transports.telephony import test_telnyx as telnyx_line
from voiceagent.transports.telephony.stream.arrival import (
    DEPTH,
    ByteOrder,
    ReorderBuffer,
)
from voiceagent.transports.telephony.stream.serializer import Media


def ordered(numbers: list[int]) -> list[int]:
    order = ReorderBuffer()
    return [payload[0] for number in numbers for payload in order.push(number, bytes([number]))]


def test_what_comes_in_order_goes_through_at_once():
    order = ReorderBuffer()
    assert [order.push(number, b"x") for number in (1, 2, 3)] == [[b"x"]] * 3


def test_what_comes_early_waits_for_what_is_before_it():
    assert ordered([1, 3, 2, 4]) == [1, 2, 3, 4]


def test_what_comes_twice_is_dropped():
    assert ordered([1, 2, 2, 4, 4, 3]) == [1, 2, 3, 4]


def test_what_never_comes_is_given_up_and_late_is_dropped():
    numbers = [1, *range(3, 3 + DEPTH + 1), 2]
    assert ordered(numbers) == [1, *range(3, 3 + DEPTH + 1)]


def test_a_stream_whose_beginning_was_missed_is_heard():
    assert ordered(list(range(100, 110))) == list(range(100, 110))


@given(st.permutations(list(range(1, 30))))
def test_any_order_is_put_right_but_for_the_late(numbers):
    heard = ordered(numbers)
    assert heard == sorted(set(heard))


@given(st.lists(st.integers(0, DEPTH - 1), min_size=30, max_size=30))
def test_nothing_is_lost_where_messages_change_places_within_the_depth(delays):
    numbers = sorted(range(1, 31), key=lambda number: number + delays[number - 1])
    heard = ordered(numbers)
    assert heard[:25] == list(range(1, 26))


FRAME = 160  # samples
L16 = {
    telnyx_line: {"encoding": "L16", "rate_hz": 16_000},
    plivo_line: {"encoding": "audio/x-l16", "rate_hz": 16_000},
}
RESPONSE = b"\x01\x02\x03\x04"
SWAPPED_RESPONSE = b"\x02\x01\x04\x03"


def little(samples: Samples) -> bytes:
    return encode(samples, AudioFormat.PCM_8K)


def big(samples: Samples) -> bytes:
    return samples.astype(">i2").tobytes()


def heard(order: ByteOrder, sound: bytes) -> bytes:
    """Return the output of `sound`, frame by frame."""
    frames = range(0, len(sound), 2 * FRAME)
    return b"".join(order.received(sound[at : at + 2 * FRAME]) for at in frames)


@st.composite
def line_sounds(draw) -> Samples:
    """Half a second of a voice's kind of sound, or of a line's noise, however loud."""
    loudness = draw(st.sampled_from([4, 30, 300, 3_000, 20_000]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    time_s = np.arange(4_000) / 8_000
    tone = np.sin(2 * np.pi * draw(st.integers(80, 400)) * time_s)
    share = draw(st.floats(0, 1)) if loudness < 1_000 else draw(st.floats(0, 0.1))
    return np.rint(loudness * ((1 - share) * tone + share * rng.uniform(-1, 1, 4_000))).astype(np.int16)


@given(line_sounds())
def test_little_endian_sound_stays_as_it_is(sound):
    order = ByteOrder()
    assert heard(order, little(sound)) == little(sound)
    assert order.to_send(RESPONSE) == RESPONSE


@given(line_sounds())
def test_big_endian_sound_is_turned_both_ways_after_some_frames(sound):
    order = ByteOrder()
    out = heard(order, big(sound))
    assert out[len(out) // 2 :] == little(sound)[len(out) // 2 :]
    assert order.to_send(RESPONSE) == SWAPPED_RESPONSE


@pytest.mark.parametrize(
    "name", ["jfk.wav", "goforward.wav", "sb_spk1_snt1.wav", "ss_0870.wav", "cards_002.wav"]
)
def test_a_recorded_voice_tells_it_within_a_second(name):
    sound = recorded(name, 8_000)
    assert heard(ByteOrder(), little(sound)) == little(sound)
    assert heard(ByteOrder(), big(sound))[16_000:] == little(sound)[16_000:]


def test_silence_and_loud_noise_decide_nothing():
    order = ByteOrder()
    heard(order, bytes(8_000))
    heard(order, np.random.default_rng(0).bytes(8_000))
    assert order.to_send(RESPONSE) == RESPONSE


def test_what_is_settled_stays_settled():
    tone = np.rint(3_000 * np.sin(np.arange(4_000) / 8)).astype(np.int16)
    order = ByteOrder()
    heard(order, big(tone))
    heard(order, little(tone))
    assert order.to_send(RESPONSE) == SWAPPED_RESPONSE


def test_half_a_sample_is_left_to_who_reads_the_sound():
    order = ByteOrder()
    assert order.received(b"\x01\x02\x03") == b"\x01\x02\x03"
    with pytest.raises(ValueError, match="half a sample"):
        decode(order.received(b"\x01\x02\x03"), AudioFormat.PCM_8K)


@pytest.mark.parametrize("provider", [telnyx_line, plivo_line], ids=["telnyx", "plivo"])
def test_a_codec_understands_big_endian_l16_and_answers_in_it(provider):
    tone = np.rint(3_000 * np.sin(np.arange(320) / 8)).astype(np.int16)
    serializer, media = provider.started(**L16[provider]), provider.media(big(tone), 1)
    assert serializer.decode(media) == Media(little(tone), 1)
    assert base64.b64decode(json.loads(serializer.media(tone))["media"]["payload"]) == big(tone)
