from __future__ import annotations

import io
import json
import logging
import traceback
from dataclasses import replace

import pytest
import structlog
from prometheus_client import REGISTRY, Counter
from prometheus_client.parser import text_string_to_metric_families

from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.latency import LatencyBudget, Outcome, TurnCounts, TurnLedger, TurnReport
from voiceagent.telemetry.log import Personal, RepeatFilter, configure_log
from voiceagent.telemetry.metrics import Metrics, render


def turn(outcome: Outcome = "completed", counts: TurnCounts | None = None, **stamps: float) -> TurnReport:
    ledger = TurnLedger("item_7")
    moments = {"speech_end": 1.0, "turn_decided": 1.2, "transcript_final": 1.25, "first_frame": 1.25}
    for name, at_s in (stamps or moments).items():
        ledger.stamp(name, at_s)
    return ledger.report(LatencyBudget({"recognition": 0.04}, total_s=0.6), outcome, counts)


def page(metrics: Metrics) -> dict[tuple[str, str], float]:
    """Value of every sample on the page, by its name and its labels' values."""
    text = render(metrics.registry).decode()
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_stage_of_a_turn_is_in_its_histogram():
    metrics = Metrics()
    metrics.observe(turn())
    values = page(metrics)
    assert values["voiceagent_stage_seconds_count", "endpointing"] == 1
    assert values["voiceagent_stage_seconds_sum", "recognition"] == pytest.approx(0.05)
    assert values["voiceagent_turn_seconds_sum", ""] == pytest.approx(0.25)


def test_a_response_to_nobodys_speech_is_no_wait_of_the_caller():
    metrics = Metrics()
    metrics.observe(turn(llm_request=1.0, first_token=1.1))
    assert page(metrics)["voiceagent_turn_seconds_count", ""] == 0
    assert page(metrics)["voiceagent_turns_total", "completed"] == 1


def test_a_response_that_failed_before_its_audio_is_no_wait_of_the_caller():
    metrics, stream = Metrics(), io.StringIO()
    configure_log("json", stream=stream)
    metrics.observe(turn("failed", speech_end=1.0, turn_decided=1.2, llm_request=1.3, first_token=1.4))
    assert page(metrics)["voiceagent_turn_seconds_count", ""] == 0
    assert "wait_ms" not in json.loads(stream.getvalue())


def test_turns_are_counted_by_their_outcome():
    metrics = Metrics()
    for outcome in ("completed", "interrupted", "interrupted", "failed"):
        metrics.observe(turn(outcome))
    values = page(metrics)
    assert [values["voiceagent_turns_total", o] for o in ("completed", "interrupted", "failed")] == [1, 2, 1]


def test_a_turn_that_the_caller_hung_up_on_unheard_is_counted_without_times():
    metrics, stream = Metrics(), io.StringIO()
    configure_log("json", stream=stream)
    metrics.observe(replace(turn("hung_up_unheard"), stages=(), over_budget=()))
    values = page(metrics)
    assert values["voiceagent_turns_total", "hung_up_unheard"] == 1
    assert values["voiceagent_turn_seconds_count", ""] == 0
    assert not {"wait_ms", "endpointing_ms"} & json.loads(stream.getvalue()).keys()


def test_broken_budgets_are_counted_by_stage():
    metrics = Metrics()
    metrics.observe(turn())
    assert page(metrics)["voiceagent_over_budget_total", "recognition"] == 1


def test_what_a_turn_cost_is_counted():
    metrics = Metrics()
    metrics.observe(turn(counts=TurnCounts(3, 1, 40, 900, 850, 50)))
    values = page(metrics)
    assert values["voiceagent_preemptive_total", "hit"] == 1
    assert values["voiceagent_preemptive_total", "miss"] == 2
    assert values["voiceagent_tokens_wasted_total", ""] == 40
    assert values["voiceagent_prompt_tokens_total", ""] == 900
    assert values["voiceagent_cached_tokens_total", ""] == 850
    assert values["voiceagent_prompt_tokens_after_turn_total", ""] == 50


def test_calls_and_engine_errors_are_counted_where_they_happen():
    metrics = Metrics()
    metrics.calls.inc()
    metrics.engine_errors.labels("llm").inc()
    assert page(metrics)["voiceagent_calls", ""] == 1
    assert page(metrics)["voiceagent_engine_errors_total", "llm"] == 1


def test_servers_in_one_process_count_apart():
    one, other = Metrics(), Metrics()
    one.calls.inc()
    assert page(other)["voiceagent_calls", ""] == 0


def test_the_page_has_what_engines_keep_in_the_process_wide_registry():
    counter = Counter("an_engine_steps", "Steps.", registry=REGISTRY)
    try:
        counter.inc(5)
        assert page(Metrics())["an_engine_steps_total", ""] == 5
    finally:
        REGISTRY.unregister(counter)


def test_a_turn_is_one_line_of_json():
    stream = io.StringIO()
    configure_log("json", stream=stream)
    Metrics().observe(turn(counts=TurnCounts(2, 1, 12, 300, 280, 20)))
    line = json.loads(stream.getvalue())
    assert line["event"] == "turn" and line["turn"] == "item_7" and line["outcome"] == "completed"
    assert (line["endpointing_ms"], line["recognition_ms"], line["wait_ms"]) == (200.0, 50.0, 250.0)
    assert line["over_budget"] == ["recognition"]
    assert line["preemptive"] == "1/2" and line["tokens_wasted"] == 12


def test_the_line_of_a_turn_says_what_ended_it():
    stream = io.StringIO()
    configure_log("json", stream=stream)
    ended = EndOfTurn(0.875, 0.16, (("bias", 0.25), ("asks", 1.0)))
    Metrics().observe(replace(turn(), end_of_turn=ended))
    line = json.loads(stream.getvalue())
    assert (line["end_of_turn_probability"], line["silence_ms"]) == (0.875, 160)
    assert line["end_of_turn_log_odds"] == {"bias": 0.25, "asks": 1.0}


def test_what_is_bound_to_a_call_is_in_its_lines():
    stream = io.StringIO()
    configure_log("json", stream=stream)
    with structlog.contextvars.bound_contextvars(call="call_3"):
        Metrics().observe(turn())
    assert json.loads(stream.getvalue())["call"] == "call_3"


def test_the_log_of_libraries_takes_the_same_form():
    stream = io.StringIO()
    configure_log("json", stream=stream)
    logging.getLogger("a.library").warning("port %d is taken", 8080)
    line = json.loads(stream.getvalue())
    assert (line["event"], line["level"], line["logger"]) == (
        "port 8080 is taken",
        "warning",
        "a.library",
    )


def test_an_exception_in_the_log_is_still_one_line():
    stream = io.StringIO()
    configure_log("json", stream=stream)
    try:
        raise ValueError("no such voice")
    except ValueError:
        structlog.get_logger("voiceagent").exception("engine_failed")
    (line,) = stream.getvalue().splitlines()
    assert "no such voice" in json.dumps(json.loads(line)["exception"])


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_an_exception_in_the_log_tells_no_local_variables(log_format):
    stream = io.StringIO()
    configure_log(log_format, stream=stream)
    key = "sk-" + "secret"
    try:
        raise ValueError(f"a key of {len(key)} characters")
    except ValueError:
        structlog.get_logger("voiceagent").exception("engine_failed")
    assert "a key of 9 characters" in stream.getvalue()
    assert key not in stream.getvalue()


def test_people_read_the_traceback_that_python_itself_writes():
    # One that is drawn, with its boxes and colours, holds the event loop for up to a second.
    stream = io.StringIO()
    configure_log("console", stream=stream)
    try:
        raise ValueError("no such voice")
    except ValueError as error:
        structlog.get_logger("voiceagent").exception("engine_failed")
        plain = "".join(traceback.format_exception(error)).strip()
    assert plain in stream.getvalue()


def test_lines_below_the_level_are_not_written():
    stream = io.StringIO()
    configure_log("json", "warning", stream)
    Metrics().observe(turn())
    assert stream.getvalue() == ""


def test_people_read_plain_lines():
    stream = io.StringIO()
    configure_log("console", stream=stream)
    Metrics().observe(turn())
    assert "endpointing_ms=200.0" in stream.getvalue()


def test_only_the_kind_of_line_that_floods_is_cut() -> None:
    now_s = 0.0
    repeats = RepeatFilter(lambda: now_s)

    def passed(name: str, count: int) -> int:
        records = [
            logging.LogRecord("a", logging.INFO, "", 0, {"event": name, "n": n}, None, None)
            for n in range(count)
        ]
        return sum(repeats.filter(record) for record in records)

    assert passed("flood", 5_000) == RepeatFilter.BURST
    assert passed("other", 1) == 1
    now_s = 1.0
    record = logging.LogRecord("a", logging.INFO, "", 0, {"event": "flood"}, None, None)
    assert repeats.filter(record)
    assert record.msg["left_out"] == 5_000 - RepeatFilter.BURST
    assert passed("flood", 100) == RepeatFilter.PER_S - 1


@pytest.mark.parametrize("personal", [False, True])
def test_what_is_known_of_callers_is_logged_only_where_it_is_wanted(personal: bool) -> None:
    stream = io.StringIO()
    configure_log("json", stream=stream, personal=personal)
    parameters = Personal({"from": "+15550100"})
    structlog.get_logger("x").info("phone_call_started", provider="twilio", parameters=parameters)
    line = json.loads(stream.getvalue())
    assert line.get("parameters") == ({"from": "+15550100"} if personal else None)
    assert line["provider"] == "twilio"


@pytest.mark.parametrize("renderer", [structlog.processors.JSONRenderer(), structlog.dev.ConsoleRenderer()])
def test_the_log_of_another_application_has_nothing_of_what_is_known_of_callers(renderer) -> None:
    line = renderer(
        None, "info", {"event": "phone_call_started", "parameters": Personal({"from": "+15550100"})}
    )
    assert "left out: personal" in line and "+15550100" not in line
