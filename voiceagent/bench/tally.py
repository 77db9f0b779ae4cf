"""What callers counted together: how long they waited, and what they missed."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass(slots=True)
class FramesHeard:
    """Frames of the agent's sound. late: those that came when the one before had been played out."""

    count: int = 0
    late: int = 0


@dataclass(slots=True)
class Tally:
    """All of their turns; times in milliseconds.

    from_voice: from the last voiced sample, by the energy of what was said, to the first audible sample of
    the answer. from_detected: the same from the last voiced sample as the server's detector has it.
    yielded: from the first voiced sample of an interruption that stopped the agent to the agent's last one.
    missed: turns without an answer in time. answered_late: those of them that had one after all. cut_off:
    turns that were answered before they were over. ignored: interruptions that did not stop the agent;
    answered when it had finished, they count as no turn.
    """

    from_voice: list[float] = field(default_factory=list)
    from_detected: list[float] = field(default_factory=list)
    yielded: list[float] = field(default_factory=list)
    missed: int = 0
    answered_late: int = 0
    cut_off: int = 0
    ignored: int = 0
    frames: FramesHeard = field(default_factory=FramesHeard)

    @property
    def turns(self) -> int:
        """Turns that are over, one way or the other."""
        return len(self.from_voice) + self.cut_off + self.missed

    def restart(self) -> None:
        """Count from nothing again."""
        nothing = Tally()
        for each in fields(self):
            setattr(self, each.name, getattr(nothing, each.name))
