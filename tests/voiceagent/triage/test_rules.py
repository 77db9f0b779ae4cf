"""The rules of triage, their figures, and the files that they are written into."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from voiceagent.config.tables import load
from voiceagent.conversation.latency import Outcome, StageName, StageTime, TurnCounts, TurnReport
from voiceagent.server.app import Server
from voiceagent.telemetry.metrics import Metrics
from voiceagent.triage.exports import ALERTS, CLUSTER, DASHBOARD, alerts, dashboard
from voiceagent.triage.expressions import (
    WINDOW_S,
    Gauge,
    History,
    Quantile,
    Reading,
    Share,
    Spread,
    Window,
    reading,
)
from voiceagent.triage.page import as_json, as_page
from voiceagent.triage.rules import RULES, judge

CONFIGS = Path(__file__).parents[3] / "configs/prometheus"
BOUNDS = (0.01, 0.1, 1.0)
NOTHING: Reading = {}


def counted(**values: float) -> Reading:
    return {(name, frozenset()): value for name, value in values.items()}


def observed(values: list[float]) -> Reading:
    registry = CollectorRegistry()
    histogram = Histogram("waits", "Waits.", registry=registry, buckets=BOUNDS)
    for value in values:
        histogram.observe(value)
    return reading(list(registry.collect()))


def test_a_share_is_that_of_the_window_alone() -> None:
    window = Window(counted(part=10, whole=100), counted(part=15, whole=120))
    assert Share("part", "whole", 20).value(window) == 0.25


def test_a_counter_that_began_anew_grew_by_what_it_has() -> None:
    window = Window(counted(part=50, whole=100), counted(part=5, whole=20))
    assert Share("part", "whole", 20).value(window) == 0.25


def test_too_little_says_nothing() -> None:
    assert Share("part", "whole", 20).value(Window(NOTHING, counted(part=19, whole=19))) is None
    assert Quantile("waits", 0.5, 3).value(Window(NOTHING, observed([0.5, 0.5]))) is None
    assert Gauge("nowhere").value(Window(NOTHING, NOTHING)) is None


def test_the_highest_number_of_a_gauge_counts() -> None:
    samples = {
        ("usage", frozenset({("engine", name)})): value for name, value in (("a", 0.2), ("b", math.nan))
    }
    assert Gauge("usage").value(Window(NOTHING, samples)) == 0.2


@given(st.lists(st.floats(0, 2), min_size=1, max_size=50), st.sampled_from([0.5, 0.95]))
def test_a_quantile_lies_in_the_bucket_of_the_value_of_that_rank(
    values: list[float], quantile: float
) -> None:
    found = Quantile("waits", quantile, 1).value(Window(NOTHING, observed(values)))
    exact = sorted(values)[math.ceil(quantile * len(values)) - 1]
    upper = next((bound for bound in BOUNDS if exact <= bound), BOUNDS[-1])
    lower = max((bound for bound in BOUNDS if bound < exact), default=0.0)
    assert found is not None
    assert min(lower, upper) <= found <= upper


def test_a_spread_is_how_many_times_the_median_a_quantile_is() -> None:
    window = Window(NOTHING, observed([0.005] * 90 + [0.5] * 10))
    high, median = Quantile("waits", 0.99, 1).value(window), Quantile("waits", 0.5, 1).value(window)
    assert high and median
    assert Spread("waits", 0.99, 1).value(window) == high / median
    assert Spread("waits", 0.99, 101).value(window) is None


def test_observations_before_the_window_do_not_count() -> None:
    window = Window(observed([0.5] * 9), observed([0.5] * 9 + [0.05]))
    assert (Quantile("waits", 0.95, 1).value(window) or 1) <= 0.1


@given(st.lists(st.integers(0, 1200), min_size=1, max_size=40).map(sorted))
def test_a_window_is_no_shorter_than_it_may_be(times_s: list[int]) -> None:
    history = History()
    for at_s in times_s:
        history.keep(at_s, counted(kept=at_s))
    length_s, window = history.window(times_s[-1], NOTHING)
    assert window.before[("kept", frozenset())] == times_s[-1] - length_s
    assert length_s >= WINDOW_S or length_s == times_s[-1] - times_s[0]


def test_the_likeliest_cause_comes_first_the_unmeasured_last() -> None:
    usage = {("voiceagent_llm_cache_usage", frozenset()): 0.99}
    missed = counted(voiceagent_llm_cached_tokens_total=0, voiceagent_llm_prompt_tokens_total=9000)
    findings = judge(Window(NOTHING, {**usage, **missed}))
    assert [finding.rule.cause for finding in findings if finding.found] == ["kv_pressure", "cache_misses"]
    told = as_json(findings, 60.0)
    assert told["likeliest"] == "kv_pressure"
    assert len(told["causes"]) == len(RULES)
    page = as_page(findings, 60.0)
    assert page.index("The KV cache is nearly full") < page.index("Prompts are read anew")
    assert page.count("<section") == 2
    summary = f"<summary>{len(RULES) - 2} with too little measured</summary>"
    assert page.index("Prompts are read anew") < page.index(summary) < page.index("too little measured</td>")


def test_what_is_well_is_one_line_of_the_page() -> None:
    findings = judge(Window(NOTHING, {("voiceagent_llm_cache_usage", frozenset()): 0.3}))
    page = as_page(findings, 60.0)
    assert "Nothing is beyond its limit" in page and "<section" not in page
    assert f"<summary>1 well, {len(RULES) - 1} with too little measured</summary>" in page


def turn(outcome: Outcome, *stages: StageName, late: bool = False) -> TurnReport:
    times = tuple(StageTime(stage, 100_000) for stage in stages)
    return TurnReport("item_1", outcome, times, stages if late else (), TurnCounts())


def found(metrics: Metrics, cause: str) -> float | None:
    window = Window(NOTHING, reading(list(metrics.registry.collect())))
    return next(finding.value for finding in judge(window) if finding.rule.cause == cause)


@pytest.mark.parametrize(
    ("cause", "stage"), [("stt", "recognition"), ("tts", "synthesis"), ("network", "network")]
)
def test_a_stage_is_late_in_a_share_of_the_turns_that_had_it(cause: str, stage: StageName) -> None:
    metrics = Metrics(log_turns=False)
    for late in (True, True, True, *[False] * 9):
        metrics.observe(turn("completed", stage, late=late))
    for _ in range(12):
        metrics.observe(turn("hung_up_unheard"))
        metrics.observe(turn("completed", "llm_ttft"))
    assert found(metrics, cause) == 0.25


def test_speech_engines_fail_in_a_share_of_all_turns_those_that_nobody_heard_too() -> None:
    metrics = Metrics(log_turns=False)
    for _ in range(10):
        metrics.observe(turn("hung_up_unheard"))
    metrics.speech_failures.labels("recognizer", "timeout").inc(4)
    assert found(metrics, "speech_fallback") == 0.4


def test_every_rule_names_threshold_evidence_and_remedy() -> None:
    assert len({rule.cause for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.look and rule.change and rule.limit > 0


def test_the_files_for_prometheus_and_grafana_are_those_of_the_rules() -> None:
    again = "python -m voiceagent.triage.exports configs/prometheus"
    assert (CONFIGS / ALERTS).read_text() == alerts(), again
    assert (CONFIGS / DASHBOARD).read_text() == dashboard(), again
    panels = json.loads(dashboard())["panels"]
    titles = [rule.title for rule in RULES] + [title for title, *_ in CLUSTER]
    assert [panel["title"] for panel in panels] == titles


async def test_what_is_drawn_and_alarmed_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway with replicas and a Redis measures all of it, before anything has happened; the values of a
    semantic cache or of a GPU are measured where there is one.
    """
    pytest.importorskip(
        "redis", reason="Redis' client is not installed: pip install 'voiceagent-server[cluster]'"
    )
    monkeypatch.setenv("GATEWAY_URL", "https://one.example")
    page = (await Server(load(CONFIGS.parent / "cluster/gateway.toml")).metrics_page()).decode()
    measured = set(re.findall(r"^# TYPE (\w+)", page, re.MULTILINE))
    for name in (ALERTS, DASHBOARD, "voiceagent.rules.yml"):
        for asked in re.findall(r"\bvoiceagent_(?!semantic_cache|gpu_)\w+", (CONFIGS / name).read_text()):
            assert {asked, re.sub("_(bucket|sum|count)$", "", asked)} & measured, f"{name}: {asked}"
