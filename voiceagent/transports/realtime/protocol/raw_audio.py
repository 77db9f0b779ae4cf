"""Refuses files where the API takes raw audio: headers would be heard, and compressed audio is noise."""

from __future__ import annotations

import re

from audio.pcm import AudioFormat
from voiceagent.transports.base64_text import from_base64
from voiceagent.transports.realtime.protocol.errors import RequestError

FORMAT_NAMES = {AudioFormat.PCMU: "audio/pcmu", AudioFormat.PCMA: "audio/pcma"}
"""The wire's names of formats; all others are "audio/pcm"."""
_FILES = re.compile(
    rb"(?P<AVI>RIFF....AVI )|(?P<MP4>\0\0..ftyp)|(?P<AU>\.snd\0\0)"
    rb"|(?P<AIFF>FORM....AIF[FC])|(?P<CAF>caff\0\x01)|(?P<AMR>#!AMR)"
    rb"|(?P<WAV>R(?:IF[FX]|F64)(?:....WAVE|.{0,7}\Z))|(?P<Ogg>OggS\0)|(?P<FLAC>fLaC[\0\x80]\0)"
    rb"|(?P<WebM>\x1aE\xdf\xa3[\x80-\xff])|(?P<MP3>ID3[\2-\4]\0)",
    re.DOTALL,
)
"""Beginnings of files: of 5 bytes and more, or all of an audio that is shorter than its header. Raw audio
begins so less than once in 100 years of a call.
"""
_FILE_HEADS = ("UklG", "T2dn", "Zkxh", "GkXf", "SUQz", "LnNu", "Rk9S", "Y2Fm", "IyFB", "UkY2")
"""The first three bytes of each in base64, but of MP4, which begins like silence. Audio without them needs no
closer look.
"""
_MP4_TYPE = "eX"
"""Characters of base64 at its eighth where an MP4 file (m4a, mov) has the end of "ftyp"."""
_HEAD_CHARACTERS = 16
"""Characters of base64 with the longest beginning, 12 bytes."""


def may_be_file(text: str, begin: int = 0) -> bool:
    """Return True if audio, in base64 from `begin` on, needs a closer look."""
    return text.startswith(_FILE_HEADS, begin) or text.startswith(_MP4_TYPE, begin + 8)


def check_raw(audio: str, audio_format: AudioFormat, param: str) -> None:
    """Raise RequestError if `audio`, in base64, begins like a file. Base64 that cannot be read passes.

    param: the audio's field, for the error.
    """
    if not may_be_file(audio):
        return
    try:
        found = _FILES.match(from_base64(audio[:_HEAD_CHARACTERS]))
    except ValueError:
        return
    if found is not None:
        allowed = f"raw {FORMAT_NAMES.get(audio_format, 'audio/pcm')} at {audio_format.rate_hz} Hz"
        message = f"{param} is a {found.lastgroup} file; allowed: {allowed}, without a header"
        raise RequestError("invalid_value", message, param)
