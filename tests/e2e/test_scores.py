"""`voiceagent score` on a call that a real server kept."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from fixed_config import write_config
from sdk_caller import calling
from served import served
from sounds import voice_like

from audio.resample import resample
from voiceagent.cli.main import main

RATE_HZ = 24_000
ANSWER = 'response = "Yes, there is."\nttft_s'


async def test_scores_of_a_kept_call_follow_from_its_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    config = write_config(tmp_path, '[calls]\nfolder = "./kept"\n')
    config.write_text(config.read_text().replace("ttft_s", ANSWER))
    voice = resample(voice_like(40), 16_000, RATE_HZ)
    turn = np.concatenate([voice, np.zeros(2 * RATE_HZ, np.int16)])
    async with served(config) as address, calling(address) as caller:
        for answers in (1, 2):
            await caller.speak(turn, silence_s=0)
            await caller.until("response.done", answers)
    (folder,) = {path.parent for path in (tmp_path / "kept").rglob("log.jsonl.zst")}
    said = [
        {"begin_s": begin_s, "end_s": begin_s + len(voice) / RATE_HZ, "text": "yes"}
        for begin_s in (0.0, len(turn) / RATE_HZ)
    ]
    (tmp_path / "said.jsonl").write_text(json.dumps({"call_id": folder.name, "said": said}) + "\n")
    capsys.readouterr()
    options = ["--config", str(config), "--said", str(tmp_path / "said.jsonl"), "--json"]
    assert await asyncio.to_thread(main, ["score", *options]) == 0
    scored = json.loads(capsys.readouterr().out)
    figures = {figure["name"]: figure for figure in scored["scores"]}
    (call,) = scored["calls"]
    responses = [event for event in call["events"] if event["kind"] == "response"]
    assert figures["turns answered"]["count"] == len(responses) == 2
    assert figures["response latency, mean"]["value"] == pytest.approx(
        sum(event["latency_s"] for event in responses) / 2
    )
    assert figures["interruptions by the agent"]["value"] == 0
    assert figures["word error rate"]["count"] == 2


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("nonsense", "line 1"),
        ('{"call_id": "a", "said": [{"begin_s": 2, "end_s": 1}]}', "begin_s is 2.0"),
        ('{"call_id": "a", "said": [{"begin_s": 1, "end_s": 2, "kind": "hum"}]}', "kind is 'hum'"),
    ],
)
def test_references_that_cannot_be_read_are_named(
    said: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "said.jsonl"
    path.write_text(said + "\n")
    config = write_config(tmp_path, '[calls]\nfolder = "./kept"\n')
    assert main(["score", "--config", str(config), "--said", str(path)]) == 1
    error = capsys.readouterr().err
    assert named in error
    assert "allowed" in error


def test_a_folder_without_calls_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = write_config(tmp_path, '[calls]\nfolder = "./kept"\n')
    assert main(["score", str(tmp_path), "--config", str(config)]) == 1
    assert "no call to score" in capsys.readouterr().err
