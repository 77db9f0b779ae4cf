"""Calls by phone, over the Realtime API and over WebRTC, whose core is another server of this kind.

The core speaks either API.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
import phone_lines
import pytest
import zstandard
from phone_caller import calling as phoning
from recordings import recorded
from rtc_caller import RtcCaller, rtc_calling
from served import served

from voiceagent.calls.log.event_log import read_log
from voiceagent.calls.replaying.replay import replay
from voiceagent.calls.summary import summarise
from voiceagent.cli.remote_call import remote_call
from voiceagent.transports.local_call import Exchange
from voiceagent.upstream.replaying import replay_handler

ROOT = Path(__file__).parents[2]
HEARD = "Could you help me with something?"
FRONT = """
[upstream]
api = "{api}"
url = "ws://{upstream}/v1"
voice = "default"

[agent]
python = "clerk:Clerk"

[calls]
folder = "./kept"

[telephony.twilio]
"""


@asynccontextmanager
async def bridged(folder: Path, api: str) -> AsyncIterator[str]:
    """A server without engines, in front of one that has them, with a model that calls tools."""
    core = folder / "core"
    core.mkdir()
    shutil.copy(ROOT / "tests/bench/fixed_engines.py", core)
    shutil.copy(ROOT / "tests/e2e/clerk.py", core)
    before, after = (ROOT / "tests/bench/fixed.toml").read_text().split("[llm]")
    synthesizer = after.split("[synthesizer]")[1]
    text = f'{before}[llm]\nengine = "clerk:OrderingLlm"\n\n[synthesizer]{synthesizer}'
    # over the Live API the core's own settings hold: the recording has a pause, and a filler would be said
    text = text.replace("silence_s = 0.2", "silence_s = 0.8").replace("[agent]", '[agent]\nfiller = ""')
    (core / "core.toml").write_text(text)
    shutil.copy(ROOT / "tests/e2e/clerk.py", folder)
    async with served(core / "core.toml") as upstream:
        (folder / "front.toml").write_text(FRONT.format(upstream=upstream, api=api))
        async with served(folder / "front.toml") as address:
            yield address


async def phone(address: str) -> None:
    """A call by telephone, until the agent hangs up."""
    async with phoning(phone_lines.Twilio(), f"ws://{address}/telephony/twilio") as caller:
        await caller.until(lambda: caller.playing_s > 0.3)  # the greeting
        rate_hz = caller.provider.format.rate_hz
        question = recorded("goforward.wav", rate_hz)
        await caller.speak(np.concatenate([question, np.zeros(2 * rate_hz, np.int16)]))
        await caller.until(lambda: caller.hung_up)


async def ask(address: str) -> Exchange:
    """A call over the Realtime API."""
    async with remote_call(f"http://{address}", "voiceagent", "") as call:
        return await call.say(recorded("goforward.wav", 24_000))


async def browse(address: str) -> RtcCaller:
    """A call over WebRTC: the greeting, a response that calls the tool, and one about its result."""
    async with rtc_calling(address) as caller:
        await caller.until("response.done")
        await caller.microphone.say(recorded("goforward.wav", 48_000))
        await caller.until("response.done", 3)
        await caller.until("output_audio_buffer.stopped", 2)
    return caller


class ThreeCalls(NamedTuple):
    """Outcomes of a call by phone, one over the Realtime API and one over WebRTC, all at once.

    told: the notes of the agent's code. metrics: of the server in front.
    """

    exchange: Exchange
    browser: RtcCaller
    told: list[dict[str, Any]]
    metrics: str
    kept: Path


async def call_three_times(folder: Path, api: str) -> ThreeCalls:
    async with bridged(folder, api) as address, httpx.AsyncClient() as client:
        _, exchange, browser = await asyncio.gather(phone(address), ask(address), browse(address))
        metrics = (await client.get(f"http://{address}/metrics")).text
    told = [json.loads(line) for line in (folder / "clerk.log").read_text().splitlines()]
    return ThreeCalls(exchange, browser, told, metrics, folder / "kept")


@pytest.fixture(scope="module", params=["realtime", "live"])
def shared_calls(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ThreeCalls:
    """Made once for each API of the core: all tests only look at what came of them."""
    return asyncio.run(call_three_times(tmp_path_factory.mktemp("bridged"), request.param))


def test_each_call_is_one_connection_to_the_upstream(shared_calls: ThreeCalls) -> None:
    assert 'voiceagent_upstream_connections_total{outcome="connected"} 3.0' in shared_calls.metrics


def test_the_agents_code_here_is_told_what_callers_say(shared_calls: ThreeCalls) -> None:
    assert [line for line in shared_calls.told if "turn" in line] == [{"turn": HEARD}] * 3


def test_the_agents_tool_runs_here_once_a_call(shared_calls: ThreeCalls) -> None:
    assert [line["ordered"] for line in shared_calls.told if "ended" in line] == [["tuna"]] * 3


def test_a_call_over_the_realtime_api_is_answered_aloud(shared_calls: ThreeCalls) -> None:
    exchange = shared_calls.exchange
    assert exchange.failures == []
    assert exchange.tools == ['order({"pizza": "tuna", "number": 2})', "-> 2 tuna ordered"]
    assert exchange.understood == [HEARD]
    assert "tuna ordered" in "".join(exchange.answered)
    assert np.abs(exchange.sound).max() > 1_000


def test_a_call_over_webrtc_is_answered_aloud(shared_calls: ThreeCalls) -> None:
    browser = shared_calls.browser
    assert [event["response"]["status"] for event in browser.of("response.done")] == ["completed"] * 3
    assert browser.of("conversation.item.input_audio_transcription.completed")[0]["transcript"] == HEARD
    assert np.abs(browser.sound).max() > 1_000


def test_all_calls_are_kept_here_with_their_sound(shared_calls: ThreeCalls) -> None:
    assert [path.stat().st_size > 10_000 for path in shared_calls.kept.rglob("sound.*")] == [True] * 3


def test_a_kept_log_replays_to_the_same_and_tells_turns_and_tools(shared_calls: ThreeCalls) -> None:
    logs = [zstandard.decompress(path.read_bytes()) for path in shared_calls.kept.rglob("log.jsonl.zst")]
    assert len(logs) == 3
    for log in logs:
        assert replay(read_log(log), begin=replay_handler) is None
        summary = summarise(log)
        turns = [(turn.said, turn.written) for turn in summary.turns if turn.said]
        assert turns[-1] == (HEARD, "I have 2 tuna ordered.")
        assert [tool.name for tool in summary.tools][:1] == ["order"]
