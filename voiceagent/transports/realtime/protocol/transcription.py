"""Transcription sessions: their `session` object, the accepted events, and the fields shown. Pure.

https://developers.openai.com/api/docs/guides/realtime-transcription
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from voiceagent.transports.realtime.protocol.errors import Wire
from voiceagent.transports.realtime.protocol.session_object import AudioInput, Include, SessionObject

LOGPROBS = "item.input_audio_transcription.logprobs"
"""Value of `include` that requests log probabilities."""
EVENTS = (
    "session.update",
    "input_audio_buffer.append",
    "input_audio_buffer.commit",
    "input_audio_buffer.clear",
    "conversation.item.delete",
    "conversation.item.retrieve",
)
"""Client events accepted in transcription sessions; all others need an LLM or a voice."""
_DETECTION = {
    "server_vad": ("type", "threshold", "prefix_padding_ms", "silence_duration_ms"),
    "semantic_vad": ("type", "eagerness"),
}


class TranscriptionAudio(Wire):
    """`audio` of a transcription session."""

    input: AudioInput | None = None


class TranscriptionSession(Wire):
    """`session` of a `session.update` that changes to a session that only transcribes."""

    type: Literal["transcription"]
    audio: TranscriptionAudio | None = None
    include: Include | None = None


AnySession = Annotated[SessionObject | TranscriptionSession, Field(discriminator="type")]


def show_transcription(session_id: str, audio_input: dict[str, Any], logprobs: bool) -> dict[str, Any]:
    """Return the session object of `session.created` and `session.updated`.

    audio_input: as shown in a session with responses.
    """
    detection = audio_input["turn_detection"]
    if detection is not None:
        detection = {name: detection[name] for name in _DETECTION[detection["type"]]}
    return {
        "type": "transcription",
        "object": "realtime.transcription_session",
        "id": session_id,
        "audio": {"input": {**audio_input, "turn_detection": detection}},
        "include": [LOGPROBS] if logprobs else None,
    }


def logprobs_of(text: str, logprob: float | None) -> list[dict[str, Any]] | None:
    """Return `logprobs` of a transcript, None if the recognizer has no probabilities.

    logprob: mean log probability of the tokens. Recognizers give no other, so the transcript is shown as one
    token.
    """
    if logprob is None or not text:
        return None
    return [{"token": text, "bytes": list(text.encode()), "logprob": logprob}]
