"""What is said to a server that hears a stream, and what its answers mean: one utterance, no connection."""

from __future__ import annotations

from typing import Protocol

from audio.pcm import Samples

Messages = list[str | bytes]


class DialogueError(Exception):
    """The server refused, or said what nobody understands; the text says what."""


class Dialogue(Protocol):
    """One utterance as an API has it. Pure: it says what is to be sent, and takes what came.

    pending: a flush is not answered yet.
    """

    pending: bool

    @property
    def confidence(self) -> float | None:
        """As of a `Hypothesis`, as are the next two."""
        ...

    @property
    def text(self) -> str:
        """All words so far."""
        ...

    @property
    def stable(self) -> str:
        """The part of it that stays."""
        ...

    @property
    def behind(self) -> bool:
        """Whether so much is still unheard that no more should be sent."""
        ...

    @property
    def settled_samples(self) -> int:
        """How much will not be sent again."""
        ...

    @property
    def resting(self) -> bool:
        """Nothing is left to be heard, and the connection is of no more use."""
        ...

    def begin(self) -> Messages:
        """What a new connection is sent: all that is not settled, and the flush that is not answered."""
        ...

    def hear(self, sound: Samples) -> Messages:
        """More sound."""
        ...

    def flush(self) -> Messages:
        """The words of all sound so far are wanted; `pending` tells whether they must be waited for."""
        ...

    def receive(self, message: str) -> None:
        """What the server sent. Raises DialogueError."""
        ...

    def silent(self) -> Messages:
        """Nothing came: no answer to a flush within the time limit or, without a flush, no sound for a while.
        Returns what is sent to the server then. Raises DialogueError.
        """
        ...
