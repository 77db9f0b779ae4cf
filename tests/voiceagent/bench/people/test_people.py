"""The command, on a synthetic voice: no recording of people is part of the repository."""

from __future__ import annotations

import json
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_people import main
from people.material import Clip
from people.outcome import Outcome
from people.smart_turn_alone import ASKED_AFTER_S, LONGEST_S, Judged
from sounds import said

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.wav import write_wav
from voiceagent.bench.server_process import serve_command

ROOT = Path(__file__).parents[4]


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Engines of fixed cost, of which only the recognizer is asked."""
    shutil.copy(ROOT / "tests/bench/fixed_engines.py", tmp_path / "people_engines.py")
    text = (ROOT / "tests/bench/fixed.toml").read_text().replace("fixed_engines:", "people_engines:")
    (tmp_path / "fixed.toml").write_text(text)
    return str(tmp_path / "fixed.toml")


async def with_a_pause(seconds: float) -> Samples:
    first, second = await said("I would like to ask"), await said("when breakfast is.")
    return np.concatenate([first, np.zeros(round(seconds * SAMPLE_RATE_HZ), np.int16), second])


@pytest.fixture
async def people(tmp_path: Path) -> str:
    """A folder with a question that has a pause of 2 s inside, and one that has none."""
    folder = tmp_path / "people"
    folder.mkdir()
    write_wav(folder / "paused.wav", await with_a_pause(2.0), SAMPLE_RATE_HZ)
    write_wav(folder / "whole.wav", await said("Could you help me with something?"), SAMPLE_RATE_HZ)
    manifest = [
        {"file": "paused.wav", "kind": "spontaneous", "text": None},
        {"file": "whole.wav", "kind": "question", "text": "Could you help me with something?"},
    ]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return str(folder)


def bench(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_bench_of_people_counts_turns_waits_and_words_by_kind(config, people, capsys):
    found = bench(capsys, people, "--config", config)
    whole, paused = found["kinds"]["question"], found["kinds"]["spontaneous"]
    assert (whole["turns too many"], whole["words wrong"], whole["words"]) == (0, 0, 6)
    assert (paused["more than one turn"], paused["false starts"], paused["words"]) == (1, 1, 0)
    assert 0 < whole["wait p50 ms"] < 1_000


def test_a_bench_of_people_says_each_recording_as_often_as_was_asked(config, people, capsys):
    found = bench(capsys, people, "--config", config, "--kinds", "question", "--times", "3")
    assert found["kinds"]["question"]["recordings"] == 3
    assert found["kinds"]["question"]["words"] == 18


@pytest.mark.parametrize("over", ["realtime", "webrtc"])
def test_real_calls_come_to_the_same_as_virtual_ones(over, config, people, capsys):
    found = bench(capsys, people, "--config", config, "--over", over)
    assert found["alike offline"] == 2
    assert found["kinds"]["question"]["words wrong"] == 0
    assert 0 < found["kinds"]["question"]["wait p50 ms"] < 2_000


def test_another_server_takes_the_same_calls(config, people, capsys):
    ours = shlex.join(serve_command(Path(config), 2, workers=1))
    options = ("--over", "twilio", "--kinds", "question")
    found = bench(capsys, people, "--config", config, *options, "--peer", ours)
    assert found["peer"]["question"]["recordings"] == found["kinds"]["question"]["recordings"] == 1
    assert found["peer"]["question"]["wait p50 ms"] is not None


def test_offline_figures_are_the_same_at_every_run(config, people, capsys):
    first = bench(capsys, people, "--config", config, "--conditions", "telephone,noise=30")
    assert first == bench(capsys, people, "--config", config, "--conditions", "telephone,noise=30")


@pytest.mark.skipif(find_spec("pipecat") is None, reason="Smart Turn comes in pipecat-ai's wheel")
def test_beside_it_silence_alone_cuts_off_the_fewer_the_longer_it_is(config, people, capsys, tmp_path):
    plot = tmp_path / "curves.png"
    curves = bench(capsys, people, "--config", config, "--plot", str(plot))["curves"]
    cut_off = [point["cut off"] for point in curves["silence alone"]]
    assert cut_off == sorted(cut_off, reverse=True)
    assert set(curves) == {"this agent", "silence alone", "Smart Turn v3 alone"}
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_smart_turn_alone_waits_out_what_it_calls_a_pause():
    clip = Clip("clip", np.zeros(0, np.int16), None, "question", 4.0)
    judged = Judged(Outcome(clip, (1.0, 2.0, 6.0), (), None), (0.9, 0.2, 0.1))
    long_after_s = LONGEST_S - ASKED_AFTER_S
    assert judged.at(0.5).decided_s == pytest.approx((1.0, 2.0 + long_after_s, 6.0 + long_after_s))
    assert judged.at(0.95).decided_s == pytest.approx((2.0 + long_after_s, 6.0 + long_after_s))
