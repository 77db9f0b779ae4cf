"""Interface of a streaming recognition protocol: messages to and from the server, without the connection."""

from __future__ import annotations

from typing import Protocol

from audio.pcm import Samples

Messages = list[str | bytes]


class DialogueError(Exception):
    """The server refused, or sent an invalid message, which is quoted."""


class Dialogue(Protocol):
    """Protocol state of one utterance: decides what to send and interprets what arrives. No I/O.

    pending: a flush is not answered yet.
    """

    pending: bool

    @property
    def confidence(self) -> float | None:
        """Confidence of the transcript; see `Hypothesis`."""
        ...

    @property
    def text(self) -> str:
        """Transcript of the utterance so far."""
        ...

    @property
    def stable(self) -> str:
        """Leading part of the transcript that will not change."""
        ...

    @property
    def lags(self) -> bool:
        """True if the server lags so far behind that sending should pause."""
        ...

    @property
    def settled_samples(self) -> int:
        """Samples that need not be sent again."""
        ...

    @property
    def is_idle(self) -> bool:
        """True if nothing is left to transcribe and the connection is no longer useful."""
        ...

    def on_connected(self) -> Messages:
        """Return the messages for a new connection: all unsettled audio, and the unanswered flush."""
        ...

    def push_audio(self, sound: Samples) -> Messages:
        """Add audio. Return the messages that send it to the server; none while it is collected."""
        ...

    def flush(self) -> Messages:
        """Request the transcript of all audio so far. Sets `pending` if the answer must be awaited."""
        ...

    def on_message(self, message: str) -> None:
        """Process a server message.

        Raises:
            DialogueError: the server reported an error, or the message is invalid.
        """
        ...

    def on_timeout(self) -> Messages:
        """Handle a timeout: no answer to a flush or, without a flush, no audio for a while. Return the
        messages to send.

        Raises:
            DialogueError: the missing answer is an error.
        """
        ...
