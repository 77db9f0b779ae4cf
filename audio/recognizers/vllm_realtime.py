"""vLLM's streaming recognition, `/v1/realtime`, for models that hear a stream, such as Voxtral Realtime.

Not OpenAI's protocol of that path. `session.update` names the model, a commit begins a transcription, sound
is appended, and a final commit asks for the rest, which ends it. What is appended before that end has been
told is thrown away there, so what follows a flush begins on a connection of its own.
"""

from __future__ import annotations

import base64
import json
from dataclasses import KW_ONLY, dataclass
from typing import Any

from audio.hosted.server import bearer
from audio.pcm import Samples
from audio.recognizers.decoding.unsettled_sound import UnsettledSound
from audio.recognizers.dialogue import DialogueError, Messages
from audio.recognizers.streamed import StreamedRecognizer


@dataclass(eq=False)
class VllmRecognizer(StreamedRecognizer):
    """A server of vLLM's, 0.24 to 0.32 by their source.

    model: its name there. The others: see HostedServer.
    """

    base_url: str = "ws://127.0.0.1:8000/v1"
    _: KW_ONLY
    api_key_env: str = ""
    model: str = "mistralai/Voxtral-Mini-4B-Realtime-2602"

    def path(self) -> str:
        """The path of the connection."""
        return "realtime"

    def headers(self, key: str) -> dict[str, str]:
        """The headers of the handshake."""
        return bearer(key)

    def dialogue(self) -> VllmDialogue:
        """A new utterance."""
        return VllmDialogue(self.model)


class VllmDialogue:
    """One utterance. Pure."""

    confidence: float | None = None
    behind = False  # the server does not say how far it is

    def __init__(self, model: str) -> None:
        self.pending = False
        self._model = model
        self._sound = UnsettledSound()
        self._said = ""  # by the transcriptions that ended
        self._saying = ""

    @property
    def text(self) -> str:
        """The utterance so far."""
        return " ".join(f"{self._said} {self._saying}".split())

    @property
    def stable(self) -> str:
        """Nothing is taken back, but the newest word may be half of one."""
        return self.text.rpartition(" ")[0] if self._saying else self.text

    @property
    def settled_samples(self) -> int:
        """Up to where transcriptions have ended."""
        return self._sound.settled

    @property
    def resting(self) -> bool:
        """Whether a transcription has ended, or none begun."""
        return self._sound.settled == self._sound.taken

    def begin(self) -> Messages:
        """A transcription of all that is not settled."""
        self._saying = ""
        update = {"type": "session.update", "model": self._model}
        asked = [_commit(final=True)] if self.pending else []
        return [json.dumps(update), _commit(final=False), *_append(self._sound.rest), *asked]

    def hear(self, sound: Samples) -> Messages:
        """More sound."""
        self._sound.push(sound)
        return _append(sound)

    def flush(self) -> Messages:
        """End the transcription."""
        self.pending = True
        return [_commit(final=True)]

    def receive(self, message: str) -> None:
        """Words, or the end. Raises DialogueError."""
        try:
            event: dict[str, Any] = json.loads(message)
            if event["type"] == "transcription.delta":
                self._saying += event["delta"]
            elif event["type"] == "transcription.done":
                self._said, self._saying = f"{self._said} {event['text']}", ""
                self._sound.settle(self._sound.taken)
                self.pending = False
            elif event["type"] == "error":
                raise DialogueError(str(event["error"])[:200])
        except (ValueError, KeyError, TypeError) as error:
            allowed = "allowed: events of vLLM's realtime transcription"
            raise DialogueError(f"it answered {message[:200]!r}; {allowed}") from error

    def silent(self) -> Messages:
        """The rest did not come. Raises DialogueError."""
        if self.pending:
            raise DialogueError("it did not end its transcription in time (timeout_s)")
        return []


def _append(sound: Samples) -> Messages:
    """Empty sound is an error there."""
    audio = base64.b64encode(sound.tobytes()).decode()
    return [json.dumps({"type": "input_audio_buffer.append", "audio": audio})] if len(sound) else []


def _commit(final: bool) -> str:
    return json.dumps({"type": "input_audio_buffer.commit", "final": final})
