"""vLLM's streaming recognition, `/v1/realtime`, for streaming models such as Voxtral Realtime.

This is not OpenAI's protocol of that path. `session.update` names the model, a commit begins a transcription,
audio is appended, and a final commit requests the rest, which ends it. Audio appended before that end is
reported is lost, so a new connection is used after each flush.
"""

from __future__ import annotations

import base64
import json
from dataclasses import KW_ONLY, dataclass
from typing import Any

from audio.hosted.server import bearer
from audio.pcm import Samples
from audio.recognizers import ExpectedSpeech
from audio.recognizers.decoding.unsettled_audio import UnsettledAudio
from audio.recognizers.dialogue import DialogueError, Messages
from audio.recognizers.streamed import StreamedRecognizer


@dataclass(eq=False)
class VllmRecognizer(StreamedRecognizer):
    """A vLLM server, 0.24 to 0.33 by their source. Arguments not listed: see HostedServer.

    Args:
        model: the server's model name.
    """

    base_url: str = "ws://127.0.0.1:8000/v1"
    _: KW_ONLY
    api_key_env: str = ""
    model: str = "mistralai/Voxtral-Mini-4B-Realtime-2602"

    def path(self, expected: ExpectedSpeech) -> str:
        """Return the path of a connection."""
        return "realtime"

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers of the handshake."""
        return bearer(key)

    def dialogue(self) -> VllmDialogue:
        """Begin an utterance."""
        return VllmDialogue(self.model)


class VllmDialogue:
    """State of one utterance."""

    confidence: float | None = None
    lags = False  # the server does not report its progress

    def __init__(self, model: str) -> None:
        self.pending = False
        self._model = model
        self._sound = UnsettledAudio()
        self._finished_text = ""  # text of finished transcriptions
        self._partial_text = ""

    @property
    def text(self) -> str:
        """Transcript of the utterance so far."""
        return " ".join(f"{self._finished_text} {self._partial_text}".split())

    @property
    def stable(self) -> str:
        """The transcript without the newest word, which may be incomplete. Earlier words never change."""
        return self.text.rpartition(" ")[0] if self._partial_text else self.text

    @property
    def settled_samples(self) -> int:
        """Samples covered by finished transcriptions."""
        return self._sound.settled

    @property
    def is_idle(self) -> bool:
        """True if no transcription is in progress."""
        return self._sound.settled == self._sound.received

    def on_connected(self) -> Messages:
        """Begin a transcription of all unsettled audio."""
        self._partial_text = ""
        update = {"type": "session.update", "model": self._model}
        flush = [_commit(final=True)] if self.pending else []
        return [json.dumps(update), _commit(final=False), *_append(self._sound.rest), *flush]

    def push_audio(self, sound: Samples) -> Messages:
        """Add audio and return its message."""
        self._sound.push(sound)
        return _append(sound)

    def flush(self) -> Messages:
        """End the transcription, which yields the rest."""
        self.pending = True
        return [_commit(final=True)]

    def on_message(self, message: str) -> None:
        """Process a server message.

        Raises:
            DialogueError: the server reported an error, or the message is invalid.
        """
        try:
            event: dict[str, Any] = json.loads(message)
            if event["type"] == "transcription.delta":
                self._partial_text += event["delta"]
            elif event["type"] == "transcription.done":
                self._finished_text, self._partial_text = f"{self._finished_text} {event['text']}", ""
                self._sound.settle(self._sound.received)
                self.pending = False
            elif event["type"] == "error":
                raise DialogueError(str(event["error"])[:200])
        except (ValueError, KeyError, TypeError) as error:
            allowed = "allowed: events of vLLM's realtime transcription"
            raise DialogueError(f"it answered {message[:200]!r}; {allowed}") from error

    def on_timeout(self) -> Messages:
        """Handle a timeout.

        Raises:
            DialogueError: a flush was not answered.
        """
        if self.pending:
            raise DialogueError("it did not end its transcription in time (timeout_s)")
        return []


def _append(sound: Samples) -> Messages:
    """Return the message for `sound`; none if it is empty, which the server rejects."""
    audio = base64.b64encode(sound.tobytes()).decode()
    return [json.dumps({"type": "input_audio_buffer.append", "audio": audio})] if len(sound) else []


def _commit(final: bool) -> str:
    return json.dumps({"type": "input_audio_buffer.commit", "final": final})
