"""Shared counters of callers: waits and losses."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass(slots=True)
class FramesHeard:
    """Frames of the agent's audio. late: those that arrived after the previous one had been played."""

    count: int = 0
    late: int = 0


@dataclass(slots=True)
class Tally:
    """Counters over all turns; times in milliseconds.

    from_voice: from the last voiced sample, by the energy of the recording, to the first audible sample of
    the answer. from_detected: the same from the last voiced sample by the server's detector. yielded: from
    the first voiced sample of an interruption that stopped the agent to the agent's last one. missed: turns
    without an answer in time. answered_late: those of them that had one later. cut_off: turns answered before
    they were over. ignored: interruptions that did not stop the agent; if answered after it, they do not
    count as turns.
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
        """Number of finished turns."""
        return len(self.from_voice) + self.cut_off + self.missed

    def restart(self) -> None:
        """Reset all counters."""
        nothing = Tally()
        for each in fields(self):
            setattr(self, each.name, getattr(nothing, each.name))
