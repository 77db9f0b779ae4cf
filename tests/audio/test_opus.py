"""A voice through Opus and back, with packets lost on the way."""

from __future__ import annotations

import numpy as np
import pytest

from audio.opus import RATE_HZ, OpusDecoder, OpusEncoder, OpusError, packet_samples
from audio.pcm import Samples

FRAME = RATE_HZ // 50


def tone(frames: int, hz: float = 300.0) -> list[Samples]:
    """A tone in frames of 20 ms."""
    wave = 8000 * np.sin(2 * np.pi * hz * np.arange(frames * FRAME) / RATE_HZ)
    return list(wave.astype(np.int16).reshape(frames, FRAME))


def loudness(sound: Samples) -> float:
    return float(np.sqrt(np.mean(sound.astype(np.float64) ** 2)))


def test_what_is_encoded_is_decoded_with_its_length_and_pitch() -> None:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    sound = np.concatenate([decoder.decode(encoder.encode(frame)) for frame in tone(50)])
    assert len(sound) == 50 * FRAME
    spectrum = np.abs(np.fft.rfft(sound[-RATE_HZ // 2 :]))
    assert int(spectrum.argmax()) * 2 == 300


def test_a_packet_tells_how_long_it_lasts() -> None:
    encoder = OpusEncoder()
    assert packet_samples(encoder.encode(tone(1)[0]), 48_000) == 960
    assert packet_samples(encoder.encode(np.zeros(3 * FRAME, np.int16)), 48_000) == 2880


@pytest.mark.parametrize("speech_coder", [True, False])
def test_a_lost_packet_is_concealed_and_a_long_gap_fades(speech_coder: bool) -> None:
    encoder, decoder = OpusEncoder(speech_coder=speech_coder), OpusDecoder()
    for frame in tone(25):
        heard = decoder.decode(encoder.encode(frame))
    concealed = decoder.conceal(25 * FRAME)
    assert len(concealed) == 25 * FRAME
    assert loudness(concealed[:FRAME]) > loudness(heard) / 3
    assert loudness(concealed[-FRAME:]) < loudness(heard) / 20


def test_a_gap_fades_away_in_whatever_pieces_it_is_made_up_for() -> None:
    encoder, whole, pieces = OpusEncoder(), OpusDecoder(), OpusDecoder()
    for packet in map(encoder.encode, tone(25)):
        whole.decode(packet)
        pieces.decode(packet)
    gap = np.concatenate([pieces.conceal(FRAME) for _ in range(15)])
    assert loudness(gap[-FRAME:]) == loudness(whole.conceal(15 * FRAME)[-FRAME:]) == 0.0
    following = pieces.decode(encoder.encode(tone(1)[0]))
    assert loudness(following) > 1000


def test_with_loss_expected_a_lost_packet_comes_from_the_next_ones_copy() -> None:
    """A tone begins in the very packet that is lost: only the copy can know of it."""
    encoder = OpusEncoder()
    encoder.expect_loss(0.2)
    quiet = [encoder.encode(np.zeros(FRAME, np.int16)) for _ in range(25)]
    lost, following = (encoder.encode(frame) for frame in tone(2))
    recovering, guessing = OpusDecoder(), OpusDecoder()
    for packet in quiet:
        recovering.decode(packet)
        guessing.decode(packet)
    assert lost
    assert loudness(recovering.conceal(FRAME, following)) > 10 * loudness(guessing.conceal(FRAME)) + 100


def coded_by(packet: bytes) -> str:
    """Return the coder that made a packet (RFC 6716, table 2)."""
    return "transform" if packet[0] >> 3 >= 16 else "speech coder"


def test_the_speech_coder_is_used_only_while_packets_are_lost() -> None:
    encoder, frames = OpusEncoder(), tone(10)
    assert {coded_by(encoder.encode(frame)) for frame in frames} == {"transform"}
    encoder.expect_loss(0.02)
    assert coded_by([encoder.encode(frame) for frame in frames][-1]) == "speech coder"
    encoder.expect_loss(0.0)
    assert coded_by([encoder.encode(frame) for frame in frames][-1]) == "transform"


def test_an_encoder_told_to_uses_the_speech_coder_always() -> None:
    encoder = OpusEncoder(24_000, rate_hz=RATE_HZ, speech_coder=True)
    assert {coded_by(encoder.encode(frame)) for frame in tone(10)} == {"speech coder"}


@pytest.mark.parametrize("samples", [0, 1, 479, 1_920, 2_880])
def test_a_frame_of_another_length_is_refused(samples: int) -> None:
    with pytest.raises(OpusError):
        OpusEncoder().encode(np.zeros(samples, np.int16))


def test_what_is_no_packet_is_refused_and_the_stream_goes_on() -> None:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    with pytest.raises(OpusError):
        decoder.decode(b"\xff" * 3)
    assert len(decoder.decode(encoder.encode(tone(1)[0]))) == FRAME


@pytest.mark.parametrize(("frames", "samples"), [(1, 960), (2, 1_920), (3, 2_880)])
def test_the_second_byte_tells_how_many_frames_a_packet_of_several_has(frames: int, samples: int) -> None:
    frames_of_20_ms_whose_number_follows = 31 << 3 | 3  # RFC 6716, section 3.1
    assert packet_samples(bytes((frames_of_20_ms_whose_number_follows, frames, 0, 0)), 48_000) == samples


def test_a_packet_of_one_frame_may_go_on_with_any_byte() -> None:
    one_frame_of_20_ms = 31 << 3
    assert {packet_samples(bytes((one_frame_of_20_ms, byte)), 48_000) for byte in range(256)} == {960}
