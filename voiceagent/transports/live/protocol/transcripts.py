"""Transcripts of both sides as timed deltas.

Pure. Times are milliseconds of the session. The deltas of one side, joined, are its transcript: each but the
first begins with a space.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from voiceagent.conversation.notifications import NotifyTranscript

CHARACTER_S = 0.065
"""Assumed duration of a spoken character until a response has been measured: 15 a second."""
_SLOWEST_S, _FASTEST_S = 0.15, 0.03
_MEASURED_CHARACTERS = 20
"""Shorter responses do not show how fast the voice speaks."""
_MAX_ITEMS = 16
_WORD = re.compile(r"\s*\S+")


class Piece(NamedTuple):
    """Text of one transcript delta, and its span in the session's audio."""

    text: str
    start_ms: int
    end_ms: int


@dataclass(slots=True)
class InputTranscript:
    """The caller's transcript. A recognizer may revise its words; a delta that was sent stays."""

    _sent: dict[str, str] = field(default_factory=dict)
    _ends_ms: dict[str, int] = field(default_factory=dict)
    _any: bool = False

    def on_speech_started(self, item_id: str, start_ms: int) -> None:
        """Begin a turn."""
        self._ends_ms[item_id] = start_ms
        if len(self._ends_ms) > _MAX_ITEMS:
            self.drop(next(iter(self._ends_ms)))

    def on_transcript(self, change: NotifyTranscript, now_ms: int) -> Piece | None:
        """Return the delta of newly stable words, or of the rest of a finished turn."""
        sent = self._sent.get(change.item_id, "")
        text = _rest(change.text, sent) if change.final else change.text
        start_ms = min(self._ends_ms.get(change.item_id, now_ms), now_ms)
        self._sent[change.item_id], self._ends_ms[change.item_id] = sent + text, now_ms
        if change.final:
            self.drop(change.item_id)
        if not text.strip():
            return None
        if not sent:  # a new turn
            text = (" " if self._any else "") + text.lstrip()
        self._any = True
        return Piece(text, start_ms, now_ms)

    def drop(self, item_id: str) -> None:
        """Forget a turn."""
        self._sent.pop(item_id, None)
        self._ends_ms.pop(item_id, None)


@dataclass(slots=True)
class OutputTranscript:
    """The agent's transcript, released word by word with the audio that is sent.

    The text of a fragment is known before the length of its audio, so the pace is that of earlier responses.
    When all audio is sent, the rest follows; when it is cut, only the part that was played. Both end with the
    audio.
    """

    _character_s: float = CHARACTER_S
    _text: str = ""
    _released: int = 0
    _sent_s: float = 0.0
    _end_ms: int = 0
    _any: bool = False

    def on_text(self, text: str) -> None:
        """Append text of the response in progress."""
        if not self._text and self._any:
            text = " " + text.lstrip()
        self._any = self._any or bool(text)
        self._text += text

    def on_audio(self, seconds: float, now_ms: int) -> Piece | None:
        """Advance by audio that is sent. Return the words that begin in it."""
        if not self._sent_s:
            self._end_ms = now_ms
        self._sent_s += seconds
        begin = self._released
        while self._released < len(self._text) and self._released * self._character_s < self._sent_s:
            word = _WORD.match(self._text, self._released)
            if word is None:
                break
            self._released = word.end()
        return self._piece(begin, now_ms)

    def on_sent(self, now_ms: int) -> Piece | None:
        """Return the rest of a response whose audio is all sent, and learn the pace of the voice."""
        if len(self._text) >= _MEASURED_CHARACTERS and self._sent_s:
            measured_s = self._sent_s / len(self._text)
            self._character_s = min(max(measured_s, _FASTEST_S), _SLOWEST_S)
        begin, self._released = self._released, len(self._text)
        piece = self._last_piece(begin, now_ms)
        self._reset()
        return piece

    def on_cut(self, played: str, now_ms: int) -> Piece | None:
        """Return the part that was played but not released of a response that was cut. played: its text."""
        end = len(self._text) - len(self._text.lstrip()) + len(played)
        begin = self._released
        piece = None
        if played and end > begin:
            self._released = end
            piece = self._last_piece(begin, now_ms)
        self._reset()
        return piece

    def _piece(self, begin: int, now_ms: int) -> Piece | None:
        text = self._text[begin : self._released]
        if not text:
            return None
        start_ms = max(now_ms, self._end_ms)
        self._end_ms = start_ms + round(len(text) * self._character_s * 1000)
        return Piece(text, start_ms, self._end_ms)

    def _last_piece(self, begin: int, now_ms: int) -> Piece | None:
        """Return the rest of the text: its audio is sent, so that it ends now if the former piece does."""
        text = self._text[begin : self._released]
        start_ms = self._end_ms if self._sent_s else now_ms
        return Piece(text, start_ms, max(start_ms, now_ms)) if text else None

    def _reset(self) -> None:
        self._text, self._released, self._sent_s, self._end_ms = "", 0, 0.0, 0


def _rest(whole: str, sent: str) -> str:
    """Return the part of a final transcript that follows what was sent. If words were revised, as many words
    are left out as were sent.
    """
    if whole.startswith(sent):
        return whole[len(sent) :]
    words = whole.split()[len(sent.split()) :]
    return "".join(f" {word}" for word in words)
