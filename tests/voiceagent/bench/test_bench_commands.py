"""Short real runs with engines of fixed cost and a synthetic caller: what is measured, not how fast it
was.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import bench_llm
import interruptions
import pytest
from chat_process import chat_process

from voiceagent.bench.server_process import serve_command
from voiceagent.cli.main import main

ROOT = Path(__file__).parents[3]
VOICE = str(ROOT / "configs/demo.toml")


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Engines of fixed cost, with a voice that speaks three times as fast."""
    shutil.copy(ROOT / "tests/bench/fixed_engines.py", tmp_path)
    text = (ROOT / "tests/bench/fixed.toml").read_text()
    assert "character_s = 0.06 " in text
    (tmp_path / "fixed.toml").write_text(text.replace("character_s = 0.06 ", "character_s = 0.02 "))
    return str(tmp_path / "fixed.toml")


def test_a_bench_of_turns_measures_each_variant(config, capsys):
    material = ["--voice", VOICE, "--spoken", "plain", "--turns", "2", "--calls", "2"]
    # the configuration may stand without --config, as in `serve my.toml`
    assert main(["bench", "turns", config, *material, "--compare", "preemptive", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["turns"] == result["measured"] == 2 and not result["cut_off"]
    assert result["summary"]["preemptive hits"] == 1
    without = result["variants"]["preemptive off"]
    assert without["turns"] == 2 and without["summary"]["preemptive responses"] == 0
    assert set(result["milliseconds"]["total"]) == {"p50", "p95", "max"}


@pytest.mark.flaky(reruns=1)  # calls in real time, as those of `REAL_TIME` in tests/conftest.py
def test_a_bench_of_interruptions_measures_how_the_agent_yields(config, capsys):
    material = ["--voice", VOICE, "--interruptions", "2", "--noises", "2", "--resumed", "1", "--calls", "3"]
    assert interruptions.main(["--config", config, *material, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["interruptions"] == 2 and not result["missed"]
    assert set(result["milliseconds"]) == {
        "to_ducked", "to_silence", "held_by_backchannel", "held_by_noise",
    }  # fmt: skip
    assert result["noises"] == 2
    resumed = result["resumed"]
    assert len(resumed["silent"]) + len(resumed["later"]) == 1 and not resumed["in_two"]


def test_a_bench_of_calls_measures_a_served_server(config, capsys, tmp_path):
    plot = tmp_path / "calls.png"
    options = ["--calls", "2", "--seconds", "12", "--plot", str(plot), "--json"]
    assert main(["bench", "calls", "--config", config, "--voice", VOICE, *options]) == 0
    (result,) = json.loads(capsys.readouterr().out)["measurements"]
    assert result["calls"] == 2 and result["turns"] >= 1 and not result["missed"]
    assert result["CPU s a call-minute"] > 0 and result["MB a call"] > 0
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_bench_of_calls_measures_over_twilio_whatever_server_it_is_told_to_run(config, capsys):
    server = shlex.join(serve_command(Path(config), 2, 1))
    options = ["--server", server, "--over", "twilio", "--calls", "2", "--seconds", "12", "--json"]
    assert main(["bench", "calls", "--config", VOICE, *options]) == 0
    (result,) = json.loads(capsys.readouterr().out)["measurements"]
    assert result["turns"] >= 1 and not result["missed"]


@pytest.mark.parametrize(
    ("server", "told"),
    [("/no/such/server", "cannot be run"), ("echo hello", "the server did not start: hello")],
)
def test_a_server_that_does_not_start_is_named(server, told, config, capsys):
    assert main(["bench", "calls", "--config", config, "--voice", VOICE, "--server", server]) == 1
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--server", "serve 'it"], '--server is "serve \'it": No closing quotation'),
        (["--server", "serve", "--workers", "2"], "--workers is 2: only our own server takes it"),
    ],
)
def test_a_server_that_cannot_be_understood_is_refused(options, told, config, capsys):
    assert main(["bench", "calls", "--config", config, *options]) == 1
    assert told in capsys.readouterr().err


def test_a_bench_of_the_llm_measures_variants_by_calls(capsys, tmp_path):
    plot = tmp_path / "llm.png"
    options = ["--calls", "1,2", "--turns", "4", "--compare", "prefix_caching", "--json"]
    assert bench_llm.main(["--config", VOICE, *options, "--plot", str(plot)]) == 0
    results = json.loads(capsys.readouterr().out)["measurements"]
    assert [(result["variant"], result["calls"]) for result in results] == [
        (variant, calls) for variant in ("as configured", "prefix_caching off") for calls in (1, 2)
    ]
    assert all(result["turns"] == 4 and result["failed"] == 0 for result in results)
    assert results[0]["cached % of prompts"] > 50
    assert results[-1]["cached % of prompts"] == 0
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("moved", ["people", "llm"])
def test_a_measurement_that_left_the_commands_is_named_with_its_program(moved, capsys):
    assert main(["bench", moved, "--calls", "1,2", "FOLDER", "--plot=a.png", "-h"]) == 1
    error = capsys.readouterr().err
    assert f"python tests/bench/bench_{moved}.py" in error and "\n" not in error.rstrip()


@pytest.mark.parametrize("calls", ["0", "many", "2,"])
def test_a_number_of_calls_that_is_none_is_refused(calls, config, capsys):
    assert main(["bench", "calls", "--config", config, "--calls", calls]) == 1
    assert f"--calls is {calls!r}; allowed: whole numbers" in capsys.readouterr().err


def test_a_part_that_there_is_not_is_refused(config, capsys):
    assert main(["bench", "turns", "--config", config, "--compare", "magic"]) == 1
    assert "allowed: preemptive, prefill_while_speaking, turn_model, semantic" in capsys.readouterr().err


@pytest.fixture
def plain_server() -> Iterator[str]:
    """The base URL of an OpenAI-compatible server."""
    with chat_process("0.01") as server:
        yield server.base_url


def test_the_llm_is_measured_beside_a_plain_server(plain_server, capsys):
    options = ["--calls", "1", "--turns", "2", "--baseline", plain_server, "m", "--json"]
    assert bench_llm.main(["--config", VOICE, *options]) == 0
    ours, plain = json.loads(capsys.readouterr().out)["measurements"]
    assert (ours["variant"], plain["variant"]) == ("as configured", "baseline")
    assert plain["turns"] == 2 and plain["failed"] == 0
