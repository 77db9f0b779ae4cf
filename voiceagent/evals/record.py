"""Record of one simulated call, for checks, judges and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, Literal

from voiceagent.testing.words import says

Role = Literal["caller", "agent"]
Manner = Literal["turn", "interruption", "backchannel"]
Limit = Literal["", "max_turns", "time"]
HEARD_S = 0.1
"""Minimum audio of the agent that is heard; less is a click."""


@dataclass(frozen=True, slots=True)
class Said:
    """A line of the caller or a response of the agent; times are seconds of the call, 0 in a typed one.

    text: the caller's line, or the words of the agent that were played. manner: of a caller's line.
    cut: the response was interrupted.
    """

    role: Role
    text: str
    begin_s: float = 0.0
    end_s: float = 0.0
    manner: Manner = "turn"
    cut: bool = False


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call. output: "" while there is none."""

    name: str
    arguments: Mapping[str, Any]
    output: str = ""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call. understood: the caller's turns as the agent understood them. failures: of engines or of the
    agent. processor_s: CPU time of the call's thread: audio, recognizer and turns, not LLM and synthesizer.
    call_id: of the kept call, "" if it was not kept. heard: the agent's words as the caller understood them,
    before each line; empty if the caller read them. cut_by: the limit at which the caller hung up, "" without
    one.
    """

    said: tuple[Said, ...]
    tools: tuple[ToolUse, ...] = ()
    understood: tuple[str, ...] = ()
    seconds: float = 0.0
    ended_by: Role = "caller"
    failures: tuple[str, ...] = ()
    spoken: bool = True
    language: str = "en"
    processor_s: float = 0.0
    call_id: str = ""
    heard: tuple[str, ...] = ()
    cut_by: Limit = ""

    @property
    def lines(self) -> list[Said]:
        """The caller's lines without backchannels."""
        return [one for one in self.said if one.role == "caller" and one.manner != "backchannel"]

    def says(self, words: str) -> bool:
        """Return True if the agent said these words; "a | b" allows a or b. "2" equals "two"."""
        return says_any(" ".join(one.text for one in self.said if one.role == "agent"), words, self.language)

    def waits(self) -> Iterator[tuple[Said, float | None]]:
        """Yield each line and the time from its end to the agent's voice, None if it was not answered.

        A response that began before the end of the line is no answer to it unless none follows.
        """
        spoken = [one for one in self.said if one.role == "agent" and one.end_s - one.begin_s >= HEARD_S]
        lines = self.lines
        for line, following in zip_longest(lines, lines[1:]):
            until_s = float("inf") if following is None else following.end_s
            begins = [one.begin_s for one in spoken if line.end_s <= one.begin_s < until_s]
            yield line, min(begins) - line.end_s if begins else None

    def yields(self) -> Iterator[tuple[Said, float]]:
        """Yield each interruption and the time for which the agent continued to speak."""
        for line in self.said:
            if line.role == "caller" and line.manner == "interruption":
                ends = [
                    one.end_s
                    for one in self.said
                    if one.role == "agent" and one.begin_s < line.begin_s < one.end_s
                ]
                if ends:
                    yield line, max(ends) - line.begin_s

    def begun_over(self) -> list[Said]:
        """Return the caller's lines during which the agent began to speak."""
        starts = [
            one.begin_s for one in self.said if one.role == "agent" and one.end_s - one.begin_s >= HEARD_S
        ]
        return [line for line in self.lines if any(line.begin_s < at_s < line.end_s for at_s in starts)]

    def as_json(self) -> dict[str, Any]:
        return {
            "call_id": self.call_id,
            "seconds": round(self.seconds, 3),
            "processor_s": round(self.processor_s, 3),
            "ended_by": self.ended_by,
            "cut_by": self.cut_by,
            "said": [asdict(one) for one in self.said],
            "understood": list(self.understood),
            "heard": list(self.heard),
            "tools": [asdict(one) for one in self.tools],
            "failures": list(self.failures),
        }


def says_any(text: str, words: str, language: str) -> bool:
    """Return True if a text has these words; "a | b" allows a or b. "2" equals "two"."""
    parts = (part.strip() for part in words.split("|"))
    return any(says(text, part, language, heard=False) for part in parts if part)


@dataclass(frozen=True, slots=True)
class Failure:
    """A check that did not hold. at_s: second of the call that shows it, None for the whole call."""

    reason: str
    at_s: float | None = None
