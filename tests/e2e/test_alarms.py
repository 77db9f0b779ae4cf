"""A regression of a running server's scores is an alarm at `/triage`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from fixed_config import write_config
from sdk_caller import calling
from served import served
from sounds import voice_like

from audio.resample import resample
from voiceagent.triage.rules import MIN_TURNS

RATE_HZ = 24_000
CALLERS = 5
TURNS = -(-MIN_TURNS // CALLERS)
pytestmark = pytest.mark.timeout(300)
USUAL, SLOW = 'response = "Yes."\nttft_s = 0.1', 'response = "Yes."\nttft_s = 3.0'


async def speak(address: str) -> None:
    """Make one call of some turns, each of which is answered."""
    voice = resample(voice_like(40), 16_000, RATE_HZ)
    async with calling(address) as caller:
        for turn in range(1, TURNS + 1):
            await caller.speak(voice, silence_s=0.5)
            await caller.until("response.done", turn)
            await asyncio.sleep(0.5)


def configured(folder: Path, llm: str) -> Path:
    folder.mkdir()
    config = write_config(folder, '[calls]\nfolder = "./kept"\n')
    config.write_text(config.read_text().replace("ttft_s = 0.1", llm))
    return config


async def scores(folder: Path, llm: str) -> tuple[dict[str, Any], str]:
    """Serve some calls, which are kept. Return the causes at `/triage.json` by name, and `/metrics`."""
    config = configured(folder, llm)
    async with (
        served(config) as address,
        httpx.AsyncClient(base_url=f"http://{address}", timeout=60) as client,
    ):
        await asyncio.gather(*(speak(address) for _ in range(CALLERS)))
        triage, metrics = await client.get("/triage.json"), await client.get("/metrics")
        page = await client.get("/triage")
    causes = {cause["cause"]: cause for cause in triage.json()["causes"]}
    assert causes["slow_answers"]["title"] in page.text
    return causes, metrics.text


async def test_answers_that_become_slow_are_an_alarm(tmp_path: Path) -> None:
    usual, metrics = await scores(tmp_path / "usual", USUAL)
    assert f"voiceagent_turn_seconds_count {float(CALLERS * TURNS)}" in metrics
    assert not usual["slow_answers"]["found"]
    slow, _ = await scores(tmp_path / "slow", SLOW)
    assert slow["slow_answers"]["found"]
    assert slow["slow_answers"]["value"] > slow["slow_answers"]["limit"] > usual["slow_answers"]["value"]
