"""Separates the caller's voice from distant ones over the agent, by loudness.

A voice much quieter than the caller's own comes from across the room, or it is the caller's and their
telephone cancels the agent's echo, which attenuates the caller too, by 6 to 20 dB, while the agent sounds.
The agent's silence tells them apart: then the caller is as loud as ever, and a distant voice is not.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from statistics import median_low

TURNS = 3
"""Newest turns that define the caller's level: on a new telephone it is right from the second on."""
VARIES_DB = 6.0
"""Maximum variation in level of one distant speaker."""


class SpeakerProximity(Enum):
    """Source of a voice over the agent, as far as its loudness shows."""

    NEAR = auto()
    """The caller's, or of someone as loud."""
    LOW = auto()
    """Either the caller's, attenuated by their telephone, or a distant one."""
    DISTANT = auto()
    """A distant one: as low as a voice that stayed low while the agent was silent."""


class VoiceLevels:
    """Levels of the voices of one call, in dBFS; None if unknown.

    distant_db: the loudest that stayed low while the agent was silent.
    """

    def __init__(self) -> None:
        self._callers: deque[float] = deque(maxlen=TURNS)
        self.distant_db: float | None = None

    @property
    def caller_db(self) -> float | None:
        """Level of this caller; None before the first turn."""
        return median_low(self._callers) if self._callers else None

    def add_turn(self, level_db: float) -> None:
        """Record the level of a caller's turn."""
        self._callers.append(level_db)

    def add_low_voice(self, level_db: float) -> None:
        """Record the level of a voice that stayed low although the agent was silent."""
        self.distant_db = level_db if self.distant_db is None else max(level_db, self.distant_db)

    def proximity(self, level_db: float | None, margin_db: float) -> SpeakerProximity:
        """Return the proximity of a voice over the agent, by the level of its loudest window so far.
        margin_db: difference to the caller's level from which a voice is low; 0 for none.
        """
        caller_db = self.caller_db
        if level_db is None or caller_db is None or not margin_db or level_db >= caller_db - margin_db:
            return SpeakerProximity.NEAR
        known = self.distant_db is not None and level_db <= self.distant_db + VARIES_DB
        return SpeakerProximity.DISTANT if known else SpeakerProximity.LOW
