"""Alarms of an LLM engine: figures beyond the limits at which an operator should act.

`configs/prometheus/voiceagent.rules.yml` has the same limits as Prometheus rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from llmcore.engine import Usage
from llmcore.engine_load import EngineLoad
from voiceagent.conversation.latency import percentile

WINDOW_S = 300.0
"""Age up to which figures count, in seconds."""
MIN_RESPONSES = 20
"""Responses needed for a percentile or a rate."""
MIN_DRAFTED = 200
"""Proposed tokens needed to judge their acceptance."""
MIN_FOR_P99 = 100
"""Responses needed for a 99th percentile."""
MAX_SPREAD = 2.0
"""Largest ratio of p95 to p50 of the time to first token. A larger one shows long prompts or bursts."""
MAX_P99_S = 5.0
"""Largest p99 of the time to first token."""
MAX_STEP_SPREAD = 10.0
"""Largest ratio of p99 to p50 of the time between pieces, as for `MAX_SPREAD`."""
MIN_GAPS = 500
"""Gaps needed for that ratio."""
MAX_GAPS = 4000
"""Newest gaps between pieces of responses that are kept."""
MIN_ACCEPTANCE = 0.5
"""Smallest accepted share of proposed tokens; below it, speculation usually costs more than it saves."""
MIN_HIT_RATE = 0.6
"""Smallest cached share of prompt tokens. A smaller one shows changing prompts or too small a cache."""
MAX_CACHE_USAGE = 0.9
"""Largest used share of the KV cache; beyond it the engine soon preempts replies and evicts prefixes."""
MAX_WAITING_S = 10.0
"""Longest time for which requests wait at the engine without a break: it has more calls than it can serve."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A figure beyond its limit; `text` describes it."""

    name: str
    value: float
    limit: float
    text: str


def speculation_off(acceptance: float, minimum: float) -> Alarm:
    """Return the alarm for a draft that is off because too few of its tokens were accepted."""
    text = f"speculation is off: {acceptance:.0%} of the proposed tokens were accepted"
    return Alarm("speculation_off", acceptance, minimum, text)


class LlmAlarms:
    """Sliding window over one engine's figures. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._responses: deque[tuple[float, float, Usage]] = deque()
        self._gaps: deque[tuple[float, float]] = deque(maxlen=MAX_GAPS)
        self._loads: deque[tuple[float, EngineLoad]] = deque()
        self._waiting_since_s: float | None = None

    def observe_response(
        self, now_s: float, ttft_s: float, usage: Usage, gaps_s: Sequence[float] = ()
    ) -> None:
        """Record a finished response. gaps_s: between its pieces: the step times of the engine's batch."""
        self._responses.append((now_s, ttft_s, usage))
        self._gaps.extend((now_s, gap_s) for gap_s in gaps_s)

    def observe_load(self, now_s: float, load: EngineLoad) -> None:
        """Record a sample of the engine's load, about once a second."""
        self._loads.append((now_s, load))
        if load.waiting == 0:
            self._waiting_since_s = None
        elif self._waiting_since_s is None:
            self._waiting_since_s = now_s

    def alarms(self, now_s: float) -> tuple[Alarm, ...]:
        for window in (self._responses, self._loads, self._gaps):
            while window and window[0][0] < now_s - WINDOW_S:
                window.popleft()
        found = (
            self._ttft_spread(),
            self._ttft_p99(),
            self._step_spread(),
            self._hit_rate(),
            self._acceptance(),
            self._cache(),
            self._waiting(now_s),
        )
        return tuple(alarm for alarm in found if alarm is not None)

    def _ttft_spread(self) -> Alarm | None:
        if len(self._responses) < MIN_RESPONSES:
            return None
        times = [ttft_s for _, ttft_s, _ in self._responses]
        p50, p95 = percentile(times, 50), percentile(times, 95)
        if p95 <= MAX_SPREAD * p50:
            return None
        text = f"p95 of the time to first token is {p95 * 1000:.0f} ms, p50 is {p50 * 1000:.0f} ms"
        return Alarm("ttft_spread", p95 / p50 if p50 else float("inf"), MAX_SPREAD, text)

    def _ttft_p99(self) -> Alarm | None:
        if len(self._responses) < MIN_FOR_P99:
            return None
        p99 = percentile((ttft_s for _, ttft_s, _ in self._responses), 99)
        text = f"p99 of the time to first token is {p99:.1f} s"
        return Alarm("ttft_p99", p99, MAX_P99_S, text) if p99 > MAX_P99_S else None

    def _step_spread(self) -> Alarm | None:
        """Return an alarm if step times vary much: a long prompt or large batch delays other replies."""
        if len(self._gaps) < MIN_GAPS:
            return None
        gaps = [gap_s for _, gap_s in self._gaps]
        p50, p99 = percentile(gaps, 50), percentile(gaps, 99)
        if p99 <= MAX_STEP_SPREAD * p50:
            return None
        text = f"p99 of the time between two pieces is {p99 * 1000:.0f} ms, p50 is {p50 * 1000:.1f} ms"
        return Alarm("step_spread", p99 / p50 if p50 else float("inf"), MAX_STEP_SPREAD, text)

    def _hit_rate(self) -> Alarm | None:
        prompt = sum(usage.prompt_tokens for _, _, usage in self._responses)
        if len(self._responses) < MIN_RESPONSES or prompt == 0:
            return None
        rate = sum(usage.cached_tokens for _, _, usage in self._responses) / prompt
        text = f"{rate:.0%} of the prompts' tokens came from the prefix cache"
        return Alarm("prefix_hit_rate", rate, MIN_HIT_RATE, text) if rate < MIN_HIT_RATE else None

    def _acceptance(self) -> Alarm | None:
        if not self._loads:
            return None
        first, last = self._loads[0][1], self._loads[-1][1]
        drafted = (last.drafted or 0) - (first.drafted or 0)
        if drafted < MIN_DRAFTED:
            return None
        rate = ((last.accepted or 0) - (first.accepted or 0)) / drafted
        text = f"{rate:.0%} of the proposed tokens were accepted"
        return Alarm("acceptance", rate, MIN_ACCEPTANCE, text) if rate < MIN_ACCEPTANCE else None

    def _cache(self) -> Alarm | None:
        usage = self._loads[-1][1].cache_usage if self._loads else None
        if usage is None or usage <= MAX_CACHE_USAGE:
            return None
        return Alarm("cache_usage", usage, MAX_CACHE_USAGE, f"{usage:.0%} of the KV cache is taken")

    def _waiting(self, now_s: float) -> Alarm | None:
        waited_s = now_s - self._waiting_since_s if self._waiting_since_s is not None else 0.0
        if waited_s < MAX_WAITING_S:
            return None
        return Alarm("waiting", waited_s, MAX_WAITING_S, f"requests have been waiting for {waited_s:.0f} s")
