"""WAV files of every rate and width, and compressed recordings."""

import struct

import av
import numpy as np
import pytest

from audio.pcm import AudioFormat, encode
from audio.wav import read_wav, write_wav

PCM, FLOAT, A_LAW, MU_LAW = 1, 3, 6, 7
RAMP = np.linspace(-0.9, 0.9, 1_001)


def wav_bytes(data: bytes, tag: int, bits: int, rate_hz: int = 16_000, channels: int = 1) -> bytes:
    """A WAV file as the format's specification (Microsoft, 1991) lays it out."""
    block = channels * bits // 8
    format_chunk = struct.pack("<HHIIHH", tag, channels, rate_hz, rate_hz * block, block, bits)
    chunks = b"fmt " + struct.pack("<I", len(format_chunk)) + format_chunk
    chunks += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def int24(values: np.ndarray) -> bytes:
    return b"".join(int(value).to_bytes(3, "little", signed=True) for value in values)


WIDTHS = {
    "8-bit": (np.rint(RAMP * 128 + 128).astype(np.uint8).tobytes(), PCM, 8, 256),
    "16-bit": (np.rint(RAMP * 32_767).astype("<i2").tobytes(), PCM, 16, 1),
    "24-bit": (int24(np.rint(RAMP * 8_388_607)), PCM, 24, 1),
    "32-bit": (np.rint(RAMP * 2_147_483_647).astype("<i4").tobytes(), PCM, 32, 1),
    "float": (RAMP.astype("<f4").tobytes(), FLOAT, 32, 1),
    "mu-law": (encode(np.rint(RAMP * 32_767).astype(np.int16), AudioFormat.PCMU), MU_LAW, 8, 512),
    "a-law": (encode(np.rint(RAMP * 32_767).astype(np.int16), AudioFormat.PCMA), A_LAW, 8, 512),
}


@pytest.mark.parametrize("width", WIDTHS)
def test_every_width_reads_to_the_same_sound(tmp_path, width):
    data, tag, bits, step = WIDTHS[width]
    (tmp_path / "ramp.wav").write_bytes(wav_bytes(data, tag, bits))
    samples, _ = read_wav(tmp_path / "ramp.wav")
    assert samples.dtype == np.int16
    assert len(samples) == len(RAMP)
    assert np.abs(samples - RAMP * 32_768).max() <= step + 1


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 22_050, 44_100, 48_000, 96_000])
def test_the_rate_is_that_of_the_file(tmp_path, rate_hz):
    data = np.arange(5_000, dtype="<i2")
    (tmp_path / "ramp.wav").write_bytes(wav_bytes(data.tobytes(), PCM, 16, rate_hz))
    samples, read_hz = read_wav(tmp_path / "ramp.wav")
    assert read_hz == rate_hz
    assert np.array_equal(samples, data)


def test_stereo_is_mixed_to_the_mean_of_both(tmp_path):
    both = np.array([[1_000, 3_000], [-500, 500], [20_000, 20_000]], "<i2")
    (tmp_path / "stereo.wav").write_bytes(wav_bytes(both.tobytes(), PCM, 16, channels=2))
    assert np.abs(read_wav(tmp_path / "stereo.wav")[0] - [2_000, 0, 20_000]).max() <= 1


def test_floats_beyond_full_scale_are_clipped(tmp_path):
    (tmp_path / "loud.wav").write_bytes(wav_bytes(np.array([2.0, -2.0], "<f4").tobytes(), FLOAT, 32))
    assert read_wav(tmp_path / "loud.wav")[0].tolist() == [32_767, -32_768]


def test_a_file_without_sound_reads_to_nothing(tmp_path):
    (tmp_path / "empty.wav").write_bytes(wav_bytes(b"", PCM, 16))
    assert len(read_wav(tmp_path / "empty.wav")[0]) == 0


def test_what_is_written_reads_back(tmp_path):
    sound = np.random.default_rng(0).integers(-32_768, 32_768, 4_000).astype(np.int16)
    write_wav(tmp_path / "sound.wav", sound, 22_050)
    samples, rate_hz = read_wav(tmp_path / "sound.wav")
    assert rate_hz == 22_050
    assert np.array_equal(samples, sound)


@pytest.mark.parametrize("content", [b"", b"not a sound", b"RIFF\x00\x00\x00\x00WAVE", b"ID3" + bytes(500)])
def test_a_file_that_is_no_wav_is_refused_by_name(tmp_path, content):
    (tmp_path / "odd.wav").write_bytes(content)
    with pytest.raises(ValueError, match=r"odd\.wav cannot be read as WAV"):
        read_wav(tmp_path / "odd.wav")


def test_a_file_that_is_not_there_is_reported_as_such(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_wav(tmp_path / "none.wav")


@pytest.mark.parametrize(
    ("name", "codec"), [("call.mp3", "mp3"), ("call.ogg", "libopus"), ("CALL.FLAC", "flac")]
)
def test_compressed_recording_has_its_sound(tmp_path, name, codec):
    tone = np.rint(8_000 * np.sin(np.arange(48_000) * 0.05)).astype(np.int16)
    kind = name.lower().rpartition(".")[2]
    with av.open(tmp_path / name, "w", format=kind) as container:
        stream = container.add_stream(codec, rate=48_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(tone[None], format="s16", layout="mono")
        frame.rate = 48_000
        resampler = av.AudioResampler(
            format=stream.format, layout="mono", rate=48_000, frame_size=stream.frame_size or None
        )
        for part in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))
    samples, rate_hz = read_wav(tmp_path / name)
    assert rate_hz == 48_000
    assert abs(len(samples) - len(tone)) < 5_000
    assert 4_000 < np.sqrt(np.mean(np.square(samples[10_000:40_000].astype(float)))) < 7_000


def test_file_of_another_format_says_what_can_be_read(tmp_path):
    (tmp_path / "call.ogg").write_bytes(b"no sound")
    with pytest.raises(ValueError, match=r"call.ogg cannot be read as OGG: .*allowed: .wav, .mp3, .ogg"):
        read_wav(tmp_path / "call.ogg")
