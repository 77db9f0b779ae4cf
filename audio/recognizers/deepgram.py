"""Deepgram's streaming recognition, `wss://api.deepgram.com/v1/listen`.

Sound goes out as raw PCM, and results come back: interim ones, which change, and final ones, each of the
sound from `start` on for `duration` seconds. `Finalize` asks for the rest; it is mostly answered by a result
with `from_finalize`, which is not promised, so that the wait for it ends. Its own endpointing is off: where a
turn ends is found here.
"""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlencode

from audio.agreement import LocalAgreement
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.recognizers.decoding.unsettled_sound import UnsettledSound
from audio.recognizers.dialogue import DialogueError, Messages
from audio.recognizers.streamed import StreamedRecognizer

_KEEP_ALIVE = json.dumps({"type": "KeepAlive"})
"""Without sound or this one a connection ends after 10 s."""
_FINALIZE = json.dumps({"type": "Finalize"})
_CLOSE = json.dumps({"type": "CloseStream"})
_ROUNDING_SAMPLES = SAMPLE_RATE_HZ // 100
"""Deepgram's times are rounded to this."""
_BEHIND_SAMPLES = 20 * SAMPLE_RATE_HZ


@dataclass(eq=False)
class DeepgramRecognizer(StreamedRecognizer):
    """Deepgram, by its first streaming API.

    model: its name there. language: a code such as "en", or "multi". keyterms: words that callers say and
    that are rare elsewhere, for models from nova-3 on. parameters: others of the API, such as { numerals =
    "true" }. timeout_s: how long the rest of the words is waited for, before the interim ones count. The
    others: see HostedServer.
    """

    base_url: str = "wss://api.deepgram.com/v1"
    _: KW_ONLY
    api_key_env: str = "DEEPGRAM_API_KEY"
    timeout_s: float = 2.0
    model: str = "nova-3"
    language: str = "en"
    keyterms: tuple[str, ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)

    farewell: ClassVar[tuple[str, ...]] = (_CLOSE,)

    def path(self) -> str:
        """The path of the connection, with its query."""
        fixed = {
            "encoding": "linear16",
            "sample_rate": SAMPLE_RATE_HZ,
            "channels": 1,
            "interim_results": "true",
        }
        chosen = {"model": self.model, "language": self.language, "punctuate": "true", "endpointing": "false"}
        terms = [("keyterm", term) for term in self.keyterms]
        return f"listen?{urlencode([*(chosen | self.parameters | fixed).items(), *terms])}"

    def headers(self, key: str) -> dict[str, str]:
        """The headers of the handshake."""
        return {"Authorization": f"Token {key}"}

    def dialogue(self) -> DeepgramDialogue:
        """A new utterance."""
        return DeepgramDialogue()


class DeepgramDialogue:
    """One utterance. Pure."""

    def __init__(self) -> None:
        self.pending = False
        self._sound = UnsettledSound()
        self._begun_at = 0  # where the sound of this connection begins, samples of the utterance
        self._heard = 0
        self._final: list[tuple[str, float]] = []
        self._interim = ""
        self._agreed = LocalAgreement()

    @property
    def text(self) -> str:
        """The utterance so far."""
        return " ".join(filter(None, [*(words for words, _ in self._final), self._interim]))

    @property
    def stable(self) -> str:
        """What is final, or what interim results agree on."""
        final = " ".join(words for words, _ in self._final)
        return max(final, self._agreed.stable, key=len)

    @property
    def confidence(self) -> float | None:
        """The mean of a word of the final results."""
        counts = [len(words.split()) for words, _ in self._final]
        if not counts:
            return None
        return sum(count * sure for count, (_, sure) in zip(counts, self._final, strict=True)) / sum(counts)

    @property
    def behind(self) -> bool:
        """Whether no result covers much of the sound."""
        return self._sound.taken - self._heard > _BEHIND_SAMPLES

    @property
    def settled_samples(self) -> int:
        """Up to where results are final."""
        return self._sound.settled

    @property
    def resting(self) -> bool:
        """Before the first sound; then the connection is kept, as the caller may go on."""
        return self._sound.taken == 0

    def begin(self) -> Messages:
        """The sound of which nothing is final, and the flush that is not answered."""
        self._begun_at = self._heard = self._sound.settled
        rest = self._sound.rest
        sound: Messages = [rest.tobytes()] if len(rest) else []
        return [*sound, _FINALIZE] if self.pending else sound

    def hear(self, sound: Samples) -> Messages:
        """More sound; an empty message would end the stream."""
        self._sound.push(sound)
        return [sound.tobytes()] if len(sound) else []

    def flush(self) -> Messages:
        """Ask for the rest, unless all is final."""
        if self._sound.settled == self._sound.taken:
            return []
        self.pending = True
        return [_FINALIZE]

    def receive(self, message: str) -> None:
        """A result, or what else the server tells. Raises DialogueError."""
        try:
            event = json.loads(message)
            if event["type"] == "Results":
                self._result(event)
            elif event["type"] == "Error":
                raise DialogueError(str(event.get("description") or event.get("message") or event)[:200])
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise DialogueError(f"it answered {message[:200]!r}; allowed: events of v1/listen") from error

    def silent(self) -> Messages:
        """The rest did not come: the interim words count. A caller who rests keeps the connection."""
        if not self.pending:
            return [_KEEP_ALIVE]
        self._settle(self._sound.taken, self._interim, 0.0)
        return []

    def _result(self, event: dict[str, Any]) -> None:
        best = event["channel"]["alternatives"][0]
        words = " ".join(best["transcript"].split())
        end = self._begun_at + round((event["start"] + event["duration"]) * SAMPLE_RATE_HZ)
        self._heard = max(self._heard, end)
        if event.get("from_finalize") and self.pending:
            self._settle(self._sound.taken, words, best.get("confidence", 0.0))
        elif event.get("is_final"):
            all_of_it = end >= self._sound.taken - _ROUNDING_SAMPLES
            self._settle(self._sound.taken if all_of_it else end, words, best.get("confidence", 0.0))
        else:
            self._interim = words
        self._agreed.push(self.text)

    def _settle(self, position: int, words: str, confidence: float) -> None:
        self._sound.settle(position)
        self._interim = ""
        if words:
            self._final.append((words, confidence))
        if self._sound.settled == self._sound.taken:
            self.pending = False
