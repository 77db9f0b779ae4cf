"""Deepgram's streaming recognition, `wss://api.deepgram.com/v1/listen`.

Audio is sent as raw PCM. Results cover the audio from `start` for `duration` seconds; interim ones change,
final ones do not. `Finalize` requests the rest; the answer is usually a result with `from_finalize`, but that
is not guaranteed, so the wait has a timeout. Deepgram's endpointing is off: the server does its own.
"""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlencode

from audio.agreement import LocalAgreement
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, ExpectedSpeech
from audio.recognizers.decoding.unsettled_audio import UnsettledAudio
from audio.recognizers.dialogue import DialogueError, Messages
from audio.recognizers.streamed import StreamedRecognizer

_KEEP_ALIVE = json.dumps({"type": "KeepAlive"})
"""A connection without audio or this message is closed after 10 s."""
_FINALIZE = json.dumps({"type": "Finalize"})
_CLOSE = json.dumps({"type": "CloseStream"})
_ROUNDING_SAMPLES = SAMPLE_RATE_HZ // 100
"""Resolution of Deepgram's times."""
_MAX_LAG_SAMPLES = 20 * SAMPLE_RATE_HZ
_KEYTERM_MODELS = ("nova-3",)
"""Beginnings of the names of models that take key terms; others refuse the connection."""
_MAX_KEYTERMS, _MAX_KEYTERM_CHARACTERS = 100, 1_000
"""Bounds of the key terms of a connection. Deepgram recommends 100 at most, and refuses over 500 tokens; rare
names have a token for two characters or more.
"""


@dataclass(eq=False)
class DeepgramRecognizer(StreamedRecognizer):
    """Deepgram's first streaming API. Arguments not listed: see HostedServer.

    Args:
        model: Deepgram's model name. Models from nova-3 on favour the phrases of a call, too.
        language: a code such as "en", or "multi".
        keyterms: words to favour in all calls, for models from nova-3 on.
        parameters: further query parameters, such as { numerals = "true" }.
        timeout_s: wait for the answer to `Finalize`; then the interim results count.
    """

    base_url: str = "wss://api.deepgram.com/v1"
    _: KW_ONLY
    api_key_env: str = "DEEPGRAM_API_KEY"
    timeout_s: float = 2.0
    model: str = "nova-3"
    language: str = "en"
    keyterms: tuple[str, ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)

    closing_messages: ClassVar[tuple[str, ...]] = (_CLOSE,)
    takes_expected: ClassVar[bool] = True

    def path(self, expected: ExpectedSpeech) -> str:
        """Return the path of a connection, with its query."""
        fixed = {
            "encoding": "linear16",
            "sample_rate": SAMPLE_RATE_HZ,
            "channels": 1,
            "interim_results": "true",
        }
        chosen = {"model": self.model, "language": self.language, "punctuate": "true", "endpointing": "false"}
        terms = [("keyterm", term) for term in self._keyterms(expected)]
        return f"listen?{urlencode([*(chosen | self.parameters | fixed).items(), *terms])}"

    def _keyterms(self, expected: ExpectedSpeech) -> list[str]:
        """Return the key terms of all calls, then those of this one as far as the bounds allow."""
        terms = list(self.keyterms)
        if not self.model.startswith(_KEYTERM_MODELS):
            return terms
        for term in (*expected.phrases, *expected.words):
            characters = sum(map(len, terms)) + len(term)
            if len(terms) < _MAX_KEYTERMS and characters <= _MAX_KEYTERM_CHARACTERS and term not in terms:
                terms.append(term)
        return terms

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers of the handshake."""
        return {"Authorization": f"Token {key}"}

    def dialogue(self) -> DeepgramDialogue:
        """Begin an utterance."""
        return DeepgramDialogue()


class DeepgramDialogue:
    """State of one utterance."""

    def __init__(self) -> None:
        self.pending = False
        self._sound = UnsettledAudio()
        self._connection_start = 0  # start of this connection's audio, in samples of the utterance
        self._covered = 0
        self._final: list[tuple[str, float]] = []
        self._interim = ""
        self._agreement = LocalAgreement()

    @property
    def text(self) -> str:
        """Transcript of the utterance so far."""
        return " ".join(filter(None, [*(words for words, _ in self._final), self._interim]))

    @property
    def stable(self) -> str:
        """The final part, or the part on which interim results agree if that is longer."""
        final = " ".join(words for words, _ in self._final)
        return max(final, self._agreement.stable, key=len)

    @property
    def confidence(self) -> float | None:
        """Mean confidence per word of the final results."""
        counts = [len(words.split()) for words, _ in self._final]
        if not counts:
            return None
        return sum(
            count * confidence for count, (_, confidence) in zip(counts, self._final, strict=True)
        ) / sum(counts)

    @property
    def lags(self) -> bool:
        """True if results lag the audio sent by more than 20 s."""
        return self._sound.received - self._covered > _MAX_LAG_SAMPLES

    @property
    def settled_samples(self) -> int:
        """Samples covered by final results."""
        return self._sound.settled

    @property
    def is_idle(self) -> bool:
        """True before the first audio. Later the connection is kept, as the caller may continue."""
        return self._sound.received == 0

    def on_connected(self) -> Messages:
        """Return the audio without a final result, and the unanswered flush."""
        self._connection_start = self._covered = self._sound.settled
        rest = self._sound.rest
        sound: Messages = [rest.tobytes()] if len(rest) else []
        return [*sound, _FINALIZE] if self.pending else sound

    def push_audio(self, sound: Samples) -> Messages:
        """Add audio and return its message; none if empty, as an empty message would end the stream."""
        self._sound.push(sound)
        return [sound.tobytes()] if len(sound) else []

    def flush(self) -> Messages:
        """Request the rest, unless everything is final."""
        if self._sound.settled == self._sound.received:
            return []
        self.pending = True
        return [_FINALIZE]

    def on_message(self, message: str) -> None:
        """Process a server message.

        Raises:
            DialogueError: the server reported an error, or the message is invalid.
        """
        try:
            event = json.loads(message)
            if event["type"] == "Results":
                self._result(event)
            elif event["type"] == "Error":
                raise DialogueError(str(event.get("description") or event.get("message") or event)[:200])
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise DialogueError(f"it answered {message[:200]!r}; allowed: events of v1/listen") from error

    def on_timeout(self) -> Messages:
        """Accept the interim results if a flush timed out; else keep the connection alive."""
        if not self.pending:
            return [_KEEP_ALIVE]
        self._settle(self._sound.received, self._interim, 0.0)
        return []

    def _result(self, event: dict[str, Any]) -> None:
        best = event["channel"]["alternatives"][0]
        words = " ".join(best["transcript"].split())
        end = self._connection_start + round((event["start"] + event["duration"]) * SAMPLE_RATE_HZ)
        self._covered = max(self._covered, end)
        if event.get("from_finalize") and self.pending:
            self._settle(self._sound.received, words, best.get("confidence", 0.0))
        elif event.get("is_final"):
            covers_all = end >= self._sound.received - _ROUNDING_SAMPLES
            self._settle(self._sound.received if covers_all else end, words, best.get("confidence", 0.0))
        else:
            self._interim = words
        self._agreement.push(self.text)

    def _settle(self, position: int, words: str, confidence: float) -> None:
        self._sound.settle(position)
        self._interim = ""
        if words:
            self._final.append((words, confidence))
        if self._sound.settled == self._sound.received:
            self.pending = False
