"""The alerts in Prometheus' own evaluation, where `promtool` is on the PATH (Debian's package prometheus)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from voiceagent.triage.exports import ALERTS

RULES = Path(__file__).parents[3] / "configs/prometheus" / ALERTS
PROMTOOL = shutil.which("promtool")
STEP_MIN, DAY_MIN = 10, 1_440
DAY, HOUR = DAY_MIN // STEP_MIN, 60 // STEP_MIN
pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")


def grows(name: str, before: int, since: int) -> dict[str, str]:
    """A counter that grows by `before` in each step for a day, and by `since` for two hours more."""
    return {
        "series": name,
        "values": f"0+{before}x{DAY} {before * DAY}+{since}x{2 * HOUR}",
    }


def histogram(name: str, before: dict[str, int], since: dict[str, int]) -> list[dict[str, str]]:
    """A histogram of seconds: observations in a step up to each bound, for a day and for two hours more."""
    buckets = [grows(f'{name}_bucket{{le="{le}"}}', count, since[le]) for le, count in before.items()]
    return [*buckets, grows(f"{name}_count", before["+Inf"], since["+Inf"])]


WAITS = "voiceagent_turn_seconds"
REGRESSIONS = {
    "RegressionSlowAnswers": histogram(
        WAITS, {"0.5": 10, "1.0": 20, "+Inf": 20}, {"0.5": 4, "1.0": 20, "+Inf": 20}
    ),
    "RegressionSlowYield": histogram(
        "voiceagent_yield_seconds", {"0.2": 10, "0.4": 10, "+Inf": 10}, {"0.2": 2, "0.4": 10, "+Inf": 10}
    ),
    "RegressionAgentInterrupts": [
        grows("voiceagent_turns_total", 20, 20),
        grows("voiceagent_agent_interruptions_total", 2, 3),
    ],
    "RegressionBackchannelsHold": histogram(
        "voiceagent_backchannel_hold_seconds",
        {"0.0": 1, "0.5": 10, "1.0": 10, "+Inf": 10},
        {"0.0": 1, "0.5": 2, "1.0": 10, "+Inf": 10},
    ),
}


def alarms(folder: Path, alert: str, series: list[dict[str, str]], at_min: int) -> bool:
    """Return True if an alert fires at a minute. promtool prints the alerts that it did not expect."""
    test = {
        "interval": f"{STEP_MIN}m",
        "input_series": series,
        "alert_rule_test": [{"eval_time": f"{at_min}m", "alertname": alert, "exp_alerts": []}],
    }
    file = folder / "alerts.json"  # JSON is YAML
    file.write_text(
        json.dumps({"rule_files": [str(RULES)], "evaluation_interval": f"{STEP_MIN}m", "tests": [test]})
    )
    ran = subprocess.run(
        [str(PROMTOOL), "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    fired = f'alertname="{alert}"' in ran.stdout + ran.stderr
    assert fired == bool(ran.returncode), ran.stderr
    return fired


@pytest.mark.parametrize("alert", REGRESSIONS)
def test_a_score_that_is_25_per_cent_worse_than_a_day_earlier_is_an_alarm(alert: str, tmp_path: Path) -> None:
    assert not alarms(tmp_path, alert, REGRESSIONS[alert], DAY_MIN)
    assert alarms(tmp_path, alert, REGRESSIONS[alert], DAY_MIN + 100)


def test_a_score_that_stays_the_same_is_none(tmp_path: Path) -> None:
    same = {"0.5": 10, "1.0": 20, "+Inf": 20}
    assert not alarms(tmp_path, "RegressionSlowAnswers", histogram(WAITS, same, same), DAY_MIN + 100)
