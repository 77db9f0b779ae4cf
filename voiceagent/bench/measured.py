"""Results of a measurement of turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean

from voiceagent.bench.speech import EARLY_S, voice_end_s
from voiceagent.conversation.latency import STAGES, TurnCounts, TurnReport, percentile
from voiceagent.transports.local_call import FORMAT, Exchange, Recording

Summary = dict[str, float]

HEARD_S = 0.2
"""Minimum audio that a caller takes for speech: a short word, or the beginning of a longer one."""


@dataclass(slots=True)
class Measured:
    """Results of the turns.

    answered: the server's last report of each turn answered as a whole. to_first_frame: of these turns,
    milliseconds from the last voiced sample, by the energy of the recording and not by the detector, to the
    first frame sent. counts: of every reported turn. cut_off: turns decided before the speech had ended.
    heard: those of them with at least `HEARD_S` of a response. in_two: those with a response that was played
    out or is in the history; these have no latency, the others were answered as a whole. unanswered: turns
    without a response.
    """

    turns: int = 0
    answered: list[TurnReport] = field(default_factory=list)
    to_first_frame: list[float] = field(default_factory=list)
    counts: list[TurnCounts] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    in_two: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)

    def add(self, question: Recording, exchange: Exchange) -> None:
        """Count a turn; only one answered as a whole has a latency."""
        self.turns += 1
        # A turn's counts grow from report to report: keep the last.
        self.counts += {report.turn_id: report.counts for report in exchange.reports}.values()
        speech_end_s = exchange.spoken_from_s + voice_end_s(question.sound, FORMAT.rate_hz)
        if self._cut_off(question.name, exchange, speech_end_s - EARLY_S):
            return
        if not exchange.reports or exchange.first_frame_s is None:
            self.unanswered.append(question.name)
            return
        self.answered.append(exchange.reports[-1])
        self.to_first_frame.append((exchange.first_frame_s - speech_end_s) * 1000)

    def _cut_off(self, name: str, exchange: Exchange, before_s: float) -> bool:
        """Return True if the turn was answered in two parts, a pause before `before_s` taken for its end."""
        if all(decided_s >= before_s for decided_s in exchange.decided_s):
            return False
        self.cut_off.append(name)
        early = [
            response
            for response in exchange.responses
            if response.first_frame_s is not None and response.first_frame_s < before_s
        ]
        in_two = any(
            not response.cut or (response.sound_s >= HEARD_S and not response.false_end) for response in early
        )
        if in_two:
            self.in_two.append(name)
        if in_two or sum(response.sound_s for response in early) >= HEARD_S:
            self.heard.append(name)
        return in_two

    def rows(self) -> dict[str, list[float]]:
        """Return all times with values, in milliseconds, by name.

        The stages in order; "total", from the last voiced sample to the first frame sent, as the server sees
        it; the same by the energy of the recording; "hidden", work on the response before the turn was
        decided.
        """
        rows: dict[str, list[float]] = {name: [] for name in STAGES}
        for report in self.answered:
            for stage in report.stages:
                rows[stage.name].append(stage.duration_us / 1000)
        rows["total"] = [report.total_us / 1000 for report in self.answered]
        rows["speech end to first frame"] = self.to_first_frame
        rows["hidden"] = [report.hidden_us / 1000 for report in self.answered]
        return {name: values for name, values in rows.items() if values}

    def summary(self) -> Summary:
        """Return the figures to compare; percentages of turns, tokens per turn."""
        figures: Summary = {}
        if self.to_first_frame:
            figures |= {
                "speech end to first frame p50 ms": percentile(self.to_first_frame, 50),
                "speech end to first frame p95 ms": percentile(self.to_first_frame, 95),
                "speech end to first frame max ms": max(self.to_first_frame),
                "prompt tokens read after the turn": fmean(
                    report.counts.prompt_tokens_after_turn for report in self.answered
                ),
                "prompt tokens": fmean(one.counts.prompt_tokens for one in self.answered),
            }
        if self.turns:
            figures |= {
                "false cut-offs %": 100 * len(self.cut_off) / self.turns,
                "of these heard, % of all turns": 100 * len(self.heard) / self.turns,
                "of these answered in two, % of all turns": 100 * len(self.in_two) / self.turns,
                "unanswered %": 100 * len(self.unanswered) / self.turns,
                "preemptive responses": sum(turn.preemptive_attempts for turn in self.counts) / self.turns,
                "preemptive hits": sum(turn.preemptive_hits for turn in self.counts) / self.turns,
                "tokens wasted": sum(turn.tokens_wasted for turn in self.counts) / self.turns,
            }
        return figures
