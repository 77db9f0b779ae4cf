from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest

from llmcore.engine import Usage
from llmcore.engine_load import EngineLoad
from llmcore.serving.metered_engine import RequestFigures
from voiceagent.engines.engines import Engines
from voiceagent.llm.alarms import MIN_RESPONSES, WINDOW_S, LlmAlarms
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.server.health_monitor import HealthMonitor
from voiceagent.telemetry.event_loop import LoopMonitor
from voiceagent.telemetry.gpu import register_gpu_metrics
from voiceagent.telemetry.metrics import Metrics

RULES = Path(__file__).parents[3] / "configs/prometheus/voiceagent.rules.yml"
HIT = Usage(100, 90, 10)


def names(alarms: LlmAlarms, now_s: float) -> list[str]:
    return [alarm.name for alarm in alarms.alarms(now_s)]


def replied(ttft_s: list[float], usage: Usage = HIT) -> LlmAlarms:
    alarms = LlmAlarms()
    for seconds in ttft_s:
        alarms.observe_response(0.0, seconds, usage)
    return alarms


def loaded(*samples: tuple[float, EngineLoad]) -> LlmAlarms:
    alarms = LlmAlarms()
    for at_s, load in samples:
        alarms.observe_load(at_s, load)
    return alarms


def test_even_times_to_first_token_are_no_alarm():
    assert names(replied([0.1] * 40), 1.0) == []


def test_a_p95_over_twice_the_median_is():
    (alarm,) = replied([0.1] * 36 + [0.3] * 4).alarms(1.0)
    assert (alarm.name, alarm.limit) == ("ttft_spread", 2.0)
    assert "300 ms" in alarm.text


def test_a_few_responses_say_nothing():
    assert names(replied([0.1] * (MIN_RESPONSES - 2) + [9.0], Usage(100, 0, 1)), 1.0) == []


def test_one_in_a_hundred_that_waits_for_over_five_seconds_is():
    assert names(replied([1.0] * 50 + [1.9] * 48 + [5.1] * 2), 1.0) == ["ttft_p99"]
    assert names(replied([1.0] * 50 + [1.9] * 49 + [5.1]), 1.0) == []


def steps(*gaps_s: float) -> LlmAlarms:
    alarms = LlmAlarms()
    alarms.observe_response(0.0, 0.1, HIT, gaps_s)
    return alarms


def test_steps_of_very_different_length_are():
    assert names(steps(*[0.01] * 490, *[0.11] * 10), 1.0) == ["step_spread"]
    assert names(steps(*[0.01] * 490, *[0.09] * 10), 1.0) == []
    assert names(steps(*[0.01] * 90, *[0.11] * 10), 1.0) == []


def test_prompts_that_are_read_anew_are_an_alarm():
    assert names(replied([0.1] * 20, Usage(100, 59, 10)), 1.0) == ["prefix_hit_rate"]
    assert names(replied([0.1] * 20, Usage(100, 60, 10)), 1.0) == []


@pytest.mark.parametrize(("accepted", "expected"), [(99, ["acceptance"]), (100, [])])
def test_speculation_that_is_mostly_wrong_is_an_alarm(accepted, expected):
    before = EngineLoad(drafted=1000, accepted=900)
    now = EngineLoad(drafted=1200, accepted=900 + accepted)
    assert names(loaded((0.0, before), (1.0, now)), 1.0) == expected


def test_a_full_cache_is_an_alarm():
    assert names(loaded((0.0, EngineLoad(cache_usage=0.95))), 0.0) == ["cache_usage"]


def test_requests_that_wait_for_ten_seconds_on_end_are_an_alarm():
    alarms = loaded((0.0, EngineLoad(waiting=1)), (9.0, EngineLoad(waiting=3)))
    assert names(alarms, 9.9) == []
    assert names(alarms, 10.0) == ["waiting"]


def test_a_moment_without_waiting_begins_the_count_anew():
    busy, free = EngineLoad(waiting=1), EngineLoad()
    assert names(loaded((0.0, busy), (5.0, free), (6.0, busy)), 12.0) == []


@given(st.lists(st.floats(0, 10), min_size=1, max_size=50))
def test_what_is_older_than_the_window_is_forgotten(times):
    assert names(replied(times, Usage(100, 0, 1)), WINDOW_S + 0.1) == []


def test_the_rules_for_prometheus_name_metrics_that_there_are():
    whole = Metrics()
    metrics, registry = whole.llm, whole.registry
    LoopMonitor(whole.registry)
    HealthMonitor(whole, Engines(*[None] * 3), LlmMonitor(metrics))  # type: ignore[arg-type]  # never asked
    metrics.add_engine("vllm", "m", Loaded())
    metrics.request_over("vllm", "m", RequestFigures("turn", "finished", 0.1, [0.01], Usage(9, 5, 3, 0.01)))
    metrics.add_speculation("vllm", "m", Drafting())
    metrics.add_cache()
    register_gpu_metrics(registry, OneGpu())
    page = generate_latest(registry).decode()
    named = set(re.findall(r"voiceagent_\w+", RULES.read_text()))
    assert named
    assert {name for name in named if not re.search(rf"\n(# HELP )?{name}[{{ ]", page)} == set()


class OneGpu:
    NVMLError = RuntimeError

    def nvmlInit(self) -> None: ...

    def nvmlDeviceGetCount(self) -> int:
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return SimpleNamespace(gpu=50)

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(used=1, total=2)


class Drafting:
    state, acceptance = "on", 0.9


class Loaded:
    def load(self) -> EngineLoad:
        return EngineLoad(1, 0, 0.5, 0, 10, 30, 20, (10, 10))
