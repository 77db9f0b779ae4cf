"""What the turns of a measurement came to. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from voiceagent.bench.voiced import voice_end_s
from voiceagent.conversation.latency import STAGES, TurnCounts, percentile
from voiceagent.transports.local_call import FORMAT, Exchange, Recording

Summary = dict[str, float]

HEARD_S = 0.2
"""Sound that a caller takes for words: a short one, or the beginning of another."""


@dataclass(slots=True)
class Measured:
    """Times in milliseconds, of the turns that were answered as a whole.

    stages: by stage, in pipeline order, then "total", the last voiced sample to the first frame sent, as the
    server sees it. to_first_frame: the same, with the last voiced sample found by the energy of what was
    said, not by the detector.
    hidden: work of the response that was done before the turn was decided.
    cut_off: turns that were decided before the speech had ended. heard: those of them where `HEARD_S` of a
    response sounded, or more. in_two: those where one was played out or left words in the history; these have
    no latency, the others were answered as a whole. unanswered: turns without any response.
    attempts, hits, tokens_wasted: preemptive responses, those that were used, and the cost of the others.
    prefilled, prompts: tokens a turn that were read after its end, and those of its whole prompt.
    """

    stages: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in (*STAGES, "total")})
    to_first_frame: list[float] = field(default_factory=list)
    hidden: list[float] = field(default_factory=list)
    turns: int = 0
    cut_off: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    in_two: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    attempts: int = 0
    hits: int = 0
    tokens_wasted: int = 0
    prefilled: list[int] = field(default_factory=list)
    prompts: list[int] = field(default_factory=list)

    def add(self, question: Recording, exchange: Exchange) -> None:
        """Count one turn; only one that was answered as a whole has a latency."""
        self.turns += 1
        self._count({report.turn_id: report.counts for report in exchange.reports})
        speech_end_s = exchange.spoken_from_s + voice_end_s(question.sound, FORMAT.rate_hz)
        if self._cut_off(question.name, exchange, speech_end_s):
            return
        if not exchange.reports or exchange.first_frame_s is None:
            self.unanswered.append(question.name)
            return
        report = exchange.reports[-1]
        for stage in report.stages:
            self.stages[stage.name].append(stage.duration_us / 1000)
        self.stages["total"].append(report.total_us / 1000)
        self.hidden.append(report.hidden_us / 1000)
        self.to_first_frame.append((exchange.first_frame_s - speech_end_s) * 1000)
        self.prefilled.append(report.counts.prefilled_tokens)
        self.prompts.append(report.counts.prompt_tokens)

    def _cut_off(self, name: str, exchange: Exchange, speech_end_s: float) -> bool:
        """Whether the turn was answered in two, at a pause that was taken for its end."""
        if all(decided_s >= speech_end_s for decided_s in exchange.decided_s):
            return False
        self.cut_off.append(name)
        early = [
            response
            for response in exchange.responses
            if response.first_frame_s is not None and response.first_frame_s < speech_end_s
        ]
        in_two = any(
            not response.cut or (response.sound_s >= HEARD_S and not response.false_end) for response in early
        )
        if in_two:
            self.in_two.append(name)
        if in_two or sum(response.sound_s for response in early) >= HEARD_S:
            self.heard.append(name)
        return in_two

    def _count(self, turns: dict[str, TurnCounts]) -> None:
        """The counts of a turn grow from one report of it to the next: the last one holds."""
        for counts in turns.values():
            self.attempts += counts.preemptive_attempts
            self.hits += counts.preemptive_hits
            self.tokens_wasted += counts.tokens_wasted

    def rows(self) -> dict[str, list[float]]:
        """All times that have values, by name."""
        rows = {**self.stages, "speech end to first frame": self.to_first_frame, "hidden": self.hidden}
        return {name: values for name, values in rows.items() if values}

    def summary(self) -> Summary:
        """The figures by which two measurements are compared; percentages of turns, tokens a turn."""
        figures: Summary = {}
        if self.to_first_frame:
            figures |= {
                "speech end to first frame p50 ms": percentile(self.to_first_frame, 50),
                "speech end to first frame p95 ms": percentile(self.to_first_frame, 95),
                "speech end to first frame max ms": max(self.to_first_frame),
                "prompt tokens read after the turn": sum(self.prefilled) / len(self.prefilled),
                "prompt tokens": sum(self.prompts) / len(self.prompts),
            }
        if self.turns:
            figures |= {
                "false cut-offs %": 100 * len(self.cut_off) / self.turns,
                "of these heard, % of all turns": 100 * len(self.heard) / self.turns,
                "of these answered in two, % of all turns": 100 * len(self.in_two) / self.turns,
                "unanswered %": 100 * len(self.unanswered) / self.turns,
                "preemptive responses": self.attempts / self.turns,
                "preemptive hits": self.hits / self.turns,
                "tokens wasted": self.tokens_wasted / self.turns,
            }
        return figures
