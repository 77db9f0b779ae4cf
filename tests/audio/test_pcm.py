"""Sound formats."""

import warnings

import numpy as np
import pytest

from audio.pcm import AudioFormat, decode, encode

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    audioop = pytest.importorskip(
        "audioop", reason="the reference G.711 left the standard library in Python 3.13"
    )

EVERY_SAMPLE = np.arange(-32_768, 32_768).astype(np.int16)
EVERY_CODE = bytes(range(256))


def test_every_sample_encodes_to_the_mu_law_code_of_the_reference():
    assert encode(EVERY_SAMPLE, AudioFormat.PCMU) == audioop.lin2ulaw(EVERY_SAMPLE.tobytes(), 2)


def test_every_sample_encodes_to_the_a_law_code_of_the_reference():
    assert encode(EVERY_SAMPLE, AudioFormat.PCMA) == audioop.lin2alaw(EVERY_SAMPLE.tobytes(), 2)


def test_every_mu_law_code_decodes_to_the_sample_of_the_reference():
    assert decode(EVERY_CODE, AudioFormat.PCMU).tobytes() == audioop.ulaw2lin(EVERY_CODE, 2)


def test_every_a_law_code_decodes_to_the_sample_of_the_reference():
    assert decode(EVERY_CODE, AudioFormat.PCMA).tobytes() == audioop.alaw2lin(EVERY_CODE, 2)


def test_linear_pcm_is_little_endian():
    assert encode(np.array([0x0102, -2], np.int16), AudioFormat.PCM_24K) == b"\x02\x01\xfe\xff"


def test_linear_pcm_comes_back_as_it_went():
    assert np.array_equal(
        decode(encode(EVERY_SAMPLE, AudioFormat.PCM_24K), AudioFormat.PCM_24K), EVERY_SAMPLE
    )


def test_half_a_sample_is_refused_with_the_length():
    with pytest.raises(ValueError, match="961 bytes"):
        decode(bytes(961), AudioFormat.PCM_24K)


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_nothing_encodes_and_decodes_to_nothing(audio_format):
    assert encode(np.zeros(0, np.int16), audio_format) == b""
    assert len(decode(b"", audio_format)) == 0


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_a_sample_takes_the_bytes_that_the_format_says(audio_format):
    assert len(encode(EVERY_SAMPLE[:100], audio_format)) == 100 * audio_format.bytes_per_sample


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_decoded_samples_may_be_written_to(audio_format):
    decode(bytes(4), audio_format)[0] = 1
