"""Monitoring of the LLM's engines: metrics, alarms and load shedding."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

import structlog

from llmcore.cache.cached_engine import CachedLlm
from llmcore.engine import Llm, SupportsSpeculation, Usage
from llmcore.engine_load import EngineLoad
from llmcore.policies.admission import Refusal
from llmcore.policies.load_shedding import TOKEN_BUDGET_S, LoadShedder, SheddingLevel, TokenTimes
from llmcore.policies.speculation import Speculation, SpeculationLimits
from llmcore.serving.fallback_engine import FallbackLlm
from llmcore.serving.metered_engine import MeteredLlm, RequestFigures
from llmcore.serving.priority_engine import PriorityLlm
from llmcore.serving.replicated_engine import ReplicatedLlm
from llmcore.serving.speculating_engine import SpeculatingLlm
from llmcore.text.message_shapes import AsksShapes, KnowsShapes
from llmcore.text.prompt import PromptLayout
from voiceagent.conversation.commands import StartResponse
from voiceagent.engines.config import EngineConfig
from voiceagent.llm.alarms import Alarm, LlmAlarms, speculation_off
from voiceagent.telemetry.llm_metrics import LlmMetrics
from voiceagent.telemetry.log import Personal

log = structlog.get_logger()

SAMPLE_S = 1.0
LOAD_RATIO = 1.5
"""Ratio to an idle engine's time to first token above which the excess counts as load."""
RETRY_AFTER_S = 10.0
"""Time after which a caller refused at the highest level may retry: the level is then about one lower."""


class LlmMonitor:
    """Monitor of all LLM engines of a server."""

    def __init__(self, metrics: LlmMetrics, clock: Callable[[], float] = time.monotonic) -> None:
        self.metrics = metrics
        self._clock = clock
        self._engines: dict[str, tuple[MeteredLlm, LlmAlarms]] = {}
        self._speculating: dict[str, tuple[SpeculatingLlm, SpeculationLimits]] = {}
        self._active_alarms: set[tuple[str, str]] = set()
        self._priority_llm: PriorityLlm | None = None
        self._resilient: FallbackLlm | None = None
        self._replicated: dict[str, ReplicatedLlm] = {}
        self._shaped: dict[str, KnowsShapes] = {}
        self._budget_s = 0.0
        self._cache: CachedLlm | None = None
        self._token_times = TokenTimes()
        self.shedder = LoadShedder()

    def wrap_metered(self, name: str, table: EngineConfig, engine: Llm) -> Llm:
        model = str(table.options.get("model", ""))
        alarms = LlmAlarms()
        metered = MeteredLlm(engine, partial(self._on_request_done, table.engine, model, alarms), self._clock)
        self._engines[name] = metered, alarms
        self.metrics.add_engine(table.engine, model, metered)
        return metered

    def wrap_speculating(
        self, name: str, table: EngineConfig, engine: SupportsSpeculation, limits: SpeculationLimits
    ) -> SpeculatingLlm:
        """Wrap and register the engine of the table `name`, whose draft takes part within the limits."""
        model = str(table.options.get("model", ""))
        count = partial(self.metrics.speculation_decided, table.engine, model)
        speculating = SpeculatingLlm(engine, Speculation(limits), count, self._clock)
        self._speculating[name] = speculating, limits
        self.metrics.add_speculation(table.engine, model, speculating)
        return speculating

    def register_fallback(self, llm: FallbackLlm) -> None:
        """Register the circuit breaker of `[llm]`."""
        self._resilient = llm

    def register_shapes(self, name: str, engine: object) -> None:
        """Register the engine `name` for `refused_shapes`; it then probes its server at the start."""
        if isinstance(engine, AsksShapes):
            engine.asks_shapes = True
        if isinstance(engine, KnowsShapes):
            self._shaped[name] = engine

    def refused_shapes(self) -> dict[str, list[str]]:
        """Return, by engine, a line for each message shape that it refuses, with the replacement."""
        found = {name: engine.shapes.describe() for name, engine in self._shaped.items()}
        return {name: lines for name, lines in found.items() if lines}

    def register_replicas(self, name: str, llm: ReplicatedLlm) -> None:
        self._replicated[name] = llm
        self.metrics.add_replicas(name, llm)

    @property
    def problem(self) -> str:
        """Reason that the engine of `[llm]`, or some replicas, get no requests; "" if there is none."""
        if self._resilient is not None and self._resilient.problem:
            return self._resilient.problem
        lost = [name for llm in self._replicated.values() for name in llm.lost]
        return f"replicas that do not answer: {', '.join(lost)}" if lost else ""

    def register_queue(self, gate: PriorityLlm, budget_s: float) -> None:
        """Register the priority queue in front of the engines, and start to sample the load for it.

        budget_s: time to first token; load is shed while the prediction exceeds it.
        """
        self._priority_llm, self._budget_s = gate, budget_s
        self.metrics.add_prediction(lambda: gate.predicted_ttft_s)

    def load(self, name: str) -> EngineLoad:
        """Return the load reported by the engine of the table `name`."""
        return self._engines[name][0].load()

    def register_cache(self, cache: CachedLlm) -> None:
        """Register the semantic cache."""
        self._cache = cache

    @property
    def predicted_ttft_s(self) -> float:
        """Predicted time to first token of a turn that arrives now."""
        return 0.0 if self._priority_llm is None else self._priority_llm.predicted_ttft_s

    @property
    def cache_state(self) -> str | None:
        """State of the semantic cache: "on", or "off" with the reason; None without a cache."""
        if self._cache is None:
            return None
        why_off = self._cache.why_off
        return f"off: {why_off}" if why_off else "on"

    def refusal(self, calls: int) -> Refusal | None:
        """Return a refusal, and count it, if a new call while `calls` others are open would be late."""
        refusal = self.outlook(calls)
        if refusal is not None:
            self.metrics.call_refused(refusal)
        return refusal

    def outlook(self, calls: int) -> Refusal | None:
        """Return the same as `refusal` without counting it."""
        refusal = self._priority_llm.refusal(calls) if self._priority_llm is not None else None
        if refusal is None and calls and self.shedder.level >= SheddingLevel.REFUSE_CALLS:
            refusal = Refusal("busy: current calls are answered late", RETRY_AFTER_S)
        return refusal

    def alarms(self) -> dict[str, list[Alarm]]:
        """Return the current alarms by engine table."""
        now_s = self._clock()
        found = {name: list(alarms.alarms(now_s)) for name, (_, alarms) in self._engines.items()}
        for name, (engine, limits) in self._speculating.items():
            # No alarm for "cost": a draft that does not pay is rightly off.
            if engine.why_off == "acceptance":
                found.setdefault(name, []).append(
                    speculation_off(engine.acceptance or 0.0, limits.min_acceptance)
                )
        return {name: alarms for name, alarms in found.items() if alarms}

    def speculation(self) -> dict[str, dict[str, object]]:
        """Return the state of each draft, by engine table.

        accepted_at: since the engine's start, the share of proposals whose token at that position was
        accepted.
        """
        found: dict[str, dict[str, object]] = {}
        for name, (engine, _) in self._speculating.items():
            load = engine.load()
            shares = [round(tokens / load.drafts, 3) for tokens in load.accepted_at] if load.drafts else []
            found[name] = {
                "state": engine.state,
                "why_off": engine.why_off,
                "acceptance": engine.acceptance,
                "accepted_at": shares,
            }
        return found

    async def run(self, calls: Callable[[], int]) -> None:
        """Sample the load, shed load, and log alarms at their begin and end, until cancelled.

        calls: returns the number of open calls.
        """
        while True:
            for name, (metered, alarms) in self._engines.items():
                load = metered.load()
                alarms.observe_load(self._clock(), load)
                if name == "llm" and self._priority_llm is not None:
                    self._priority_llm.sample(load, calls())
            self._log_changes()
            self._shed_load()
            await asyncio.sleep(SAMPLE_S)

    def _log_changes(self) -> None:
        found = {(name, alarm.name): alarm for name, alarms in self.alarms().items() for alarm in alarms}
        for engine, name in found.keys() - self._active_alarms:
            log.warning("llm_alarm", engine=engine, alarm=name, text=found[engine, name].text)
        for engine, name in self._active_alarms - found.keys():
            log.info("llm_alarm_resolved", engine=engine, alarm=name)
        self._active_alarms = set(found)

    def _shed_load(self) -> None:
        if self._priority_llm is None:
            return
        predicted_s, before = self._priority_llm.predicted_ttft_s, self.shedder.level
        # A machine that misses the budget even when idle gains nothing from shedding.
        budget_s = max(self._budget_s, LOAD_RATIO * self._priority_llm.unloaded_ttft_s)
        now_s, tokens = self._clock(), self._token_times
        token_budget_s = max(TOKEN_BUDGET_S, LOAD_RATIO * tokens.fastest_s)
        pressure = max(predicted_s / budget_s, tokens.mean_s(now_s) / token_budget_s)
        if self.shedder.observe(now_s, pressure):
            self.metrics.shedding_changed(self.shedder.level, up=self.shedder.level > before)
            log.warning(
                "load_shedding",
                level=self.shedder.level.name.lower(),
                predicted_ms=round(predicted_s * 1000),
                token_ms=round(tokens.mean_s(now_s) * 1000),
            )

    def _on_request_done(self, engine: str, model: str, alarms: LlmAlarms, figures: RequestFigures) -> None:
        self.metrics.request_over(engine, model, figures)
        awaited = figures.priority_class not in ("summary", "review")  # by a caller
        if figures.tpot_s is not None and awaited:
            self._token_times.observe(self._clock(), figures.tpot_s)
        if figures.ttft_s is not None and awaited:
            alarms.observe_response(self._clock(), figures.ttft_s, figures.usage or Usage(), figures.itl_s)


class PromptMonitor:
    """Counts prompts that do not begin with the previous one, which defeats prefix caching.

    Logs a warning if the history was rewritten, but not after an intended change: of instructions or tools,
    or by a client that deleted, truncated or inserted items.
    """

    def __init__(self, call_id: str, metrics: LlmMetrics) -> None:
        self._log = log.bind(call=call_id)
        self._metrics = metrics
        self._layout = PromptLayout()
        self._replacements = self._edits = 0

    def check(self, start: StartResponse) -> None:
        """Compare a response's prompt with the previous one of the conversation."""
        # an interruption may still cut these words
        may_be_cut = start.preemptive and start.turn_id is None
        if start.say or start.own_prompt or may_be_cut:
            return
        if start.replacements != self._replacements:  # an intended replacement
            self._layout, self._replacements = PromptLayout(), start.replacements
        edited, self._edits = start.edits != self._edits, start.edits
        if change := self._layout.check(start.request.messages, start.request.tools):
            intended = edited and change.part == "history"
            self._metrics.prompt_parted("edited" if intended else change.part)
            if change.part == "history" and not intended:
                words = {"before": Personal(change.before), "now": Personal(change.now)}
                place, character = change.place, change.character
                self._log.warning("prompt_prefix_changed", place=place, character=character, **words)
