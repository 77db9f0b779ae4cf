"""Which voices over the agent are the caller's, by how loud they are. Pure.

A voice much lower than the caller's own comes from across the room, or it is his, and his telephone cancels
the agent's echo: it lowers him too, by 6 to 20 dB, for as long as the agent sounds. What tells them apart is
the agent's silence, in which he is as loud as ever, and who is across the room is not.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from statistics import median_low

TURNS = 3
"""The caller's own level is that of his newest turns: after a change of telephone it is right from the second
turn on."""
VARIES_DB = 6.0
"""How much louder one person across the room may be another time."""


class Nearness(Enum):
    """Whose a voice over the agent is, as far as its loudness tells."""

    NEAR = auto()
    """The caller's, or of somebody as loud."""
    LOW = auto()
    """Either that of a caller whom his telephone lowers, or of somebody across the room."""
    DISTANT = auto()
    """That of somebody across the room: as low as a voice that stayed low when the agent was silent."""


class Levels:
    """How loud the voices of one call are, in decibels of full scale; None where that is not known.

    others_db: the loudest that stayed low when the agent was silent.
    """

    def __init__(self) -> None:
        self._callers: deque[float] = deque(maxlen=TURNS)
        self.others_db: float | None = None

    @property
    def callers_db(self) -> float | None:
        """How loud this caller speaks; None before the first turn."""
        return median_low(self._callers) if self._callers else None

    def said(self, level_db: float) -> None:
        """The caller said a turn of this level."""
        self._callers.append(level_db)

    def stayed_low(self, level_db: float) -> None:
        """A voice was no louder than that though the agent was silent."""
        self.others_db = level_db if self.others_db is None else max(level_db, self.others_db)

    def nearness(self, level_db: float | None, margin_db: float) -> Nearness:
        """Whose a voice over the agent is, by the level of its loudest window so far. margin_db: how much
        lower than the caller a voice is low; 0 for none.
        """
        callers_db = self.callers_db
        if level_db is None or callers_db is None or not margin_db or level_db >= callers_db - margin_db:
            return Nearness.NEAR
        known = self.others_db is not None and level_db <= self.others_db + VARIES_DB
        return Nearness.DISTANT if known else Nearness.LOW
