"""Files in place of raw audio are refused by name; raw audio never is."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.pcm import AudioFormat, encode
from audio.wav import wav_bytes
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.protocol.raw_audio import check_raw, may_be_file

FILES = {
    "WAV": wav_bytes(np.zeros(480, np.int16), 24_000),
    "Ogg": b"OggS\0\x02" + bytes(20),
    "FLAC": b"fLaC\0\0\0\x22" + bytes(20),
    "WebM": bytes.fromhex("1a45dfa3 9f 4286 8101 42f7 8101 42f2"),
    "AVI": b"RIFF\x24\x10\0\0AVI LIST" + bytes(20),
    "AU": b".snd\0\0\0\x18" + bytes(20),
    "AIFF": b"FORM\0\0\x10\0AIFFCOMM" + bytes(20),
    "CAF": b"caff\0\x01\0\0desc" + bytes(20),
    "AMR": b"#!AMR\n" + bytes(20),
    "MP4": b"\0\0\0\x1cftypM4A \0\0\0\0" + bytes(20),
    "MP3": b"ID3\x04\0\0" + bytes(20),
}


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("cut", [12, None])
def test_file_is_refused_by_name_with_the_format_that_is_allowed(name: str, cut: int | None):
    audio = to_base64(FILES[name][:cut])
    assert may_be_file(audio)
    with pytest.raises(RequestError, match=f"{name} file; allowed: raw audio/pcm at 24000 Hz") as refused:
        check_raw(audio, AudioFormat.PCM_24K, "audio")
    assert (refused.value.code, refused.value.param) == ("invalid_value", "audio")


def test_message_names_the_format_of_the_session():
    with pytest.raises(RequestError, match="raw audio/pcmu at 8000 Hz"):
        check_raw(to_base64(FILES["WAV"]), AudioFormat.PCMU, "audio")


@pytest.mark.parametrize(
    "audio", ["", "UklG", "UklG?", "GkXfo", to_base64(b"RIFF, said the guitar"), "AAAAAAAAeX==", "AAAAAAAAeX"]
)
def test_base64_that_only_begins_like_a_file_passes(audio: str):
    check_raw(audio, AudioFormat.PCM_24K, "audio")


def test_a_wav_file_of_64_bits_is_refused_as_one():
    with pytest.raises(RequestError, match="WAV file"):
        check_raw(to_base64(b"RF64\xff\xff\xff\xffWAVEds64" + bytes(20)), AudioFormat.PCM_24K, "audio")


@given(st.lists(st.integers(-32_768, 32_767), max_size=40))
def test_raw_audio_passes(values: list[int]):
    sound = np.array(values, np.int16)
    for audio_format in AudioFormat:
        check_raw(to_base64(encode(sound, audio_format)), audio_format, "audio")
