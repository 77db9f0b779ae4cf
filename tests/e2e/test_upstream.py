"""Calls whose core is another server of this kind: by phone, over the Realtime API and over WebRTC."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import numpy as np
import phone_lines
import zstandard
from phone_caller import calling as phoning
from recordings import recorded
from rtc_caller import RtcCaller, rtc_calling
from served import served

from voiceagent.calls.log.event_log import read_log
from voiceagent.calls.log.summary import summarise
from voiceagent.calls.replaying.replay import replay
from voiceagent.cli.remote_call import remote_call
from voiceagent.transports.local_call import Exchange
from voiceagent.upstream.replaying import begin_again

ROOT = Path(__file__).parents[2]
HEARD = "Could you help me with something?"
FRONT = """
[upstream]
url = "ws://{upstream}/v1"
voice = "default"

[agent]
python = "clerk:Clerk"

[calls]
folder = "./kept"

[telephony.twilio]
"""


@asynccontextmanager
async def bridged(folder: Path) -> AsyncIterator[str]:
    """A server without engines, in front of one that has them, with a model that calls tools."""
    core = folder / "core"
    core.mkdir()
    shutil.copy(ROOT / "tests/bench/fixed_engines.py", core)
    shutil.copy(ROOT / "tests/e2e/clerk.py", core)
    before, after = (ROOT / "tests/bench/fixed.toml").read_text().split("[llm]")
    synthesizer = after.split("[synthesizer]")[1]
    text = f'{before}[llm]\nengine = "clerk:OrderingLlm"\n\n[synthesizer]{synthesizer}'
    (core / "core.toml").write_text(text)
    shutil.copy(ROOT / "tests/e2e/clerk.py", folder)
    async with served(core / "core.toml") as upstream:
        (folder / "front.toml").write_text(FRONT.format(upstream=upstream))
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


async def test_calls_are_the_upstreams_with_agent_line_and_records_here(tmp_path: Path) -> None:
    async with bridged(tmp_path) as address, httpx.AsyncClient() as client:
        _, exchange, browser = await asyncio.gather(phone(address), ask(address), browse(address))
        page = (await client.get(f"http://{address}/metrics")).text
    told = [json.loads(line) for line in (tmp_path / "clerk.log").read_text().splitlines()]
    assert [line for line in told if "turn" in line] == [{"turn": HEARD}] * 3
    assert [line["ordered"] for line in told if "ended" in line] == [["tuna"]] * 3, "the tool ran here, once"
    assert 'voiceagent_upstream_connections_total{outcome="connected"} 3.0' in page

    assert exchange.failures == []
    assert exchange.tools == ['order({"pizza": "tuna", "number": 2})', "-> 2 tuna ordered"]
    assert exchange.understood == [HEARD]
    assert "tuna ordered" in "".join(exchange.answered)
    assert np.abs(exchange.sound).max() > 1_000

    assert [event["response"]["status"] for event in browser.of("response.done")] == ["completed"] * 3
    assert browser.of("conversation.item.input_audio_transcription.completed")[0]["transcript"] == HEARD
    assert np.abs(browser.sound).max() > 1_000

    kept = tmp_path / "kept"
    assert [path.stat().st_size > 10_000 for path in kept.rglob("sound.*")] == [True] * 3
    for path in kept.rglob("log.jsonl.zst"):
        log = zstandard.decompress(path.read_bytes())
        assert replay(read_log(log), begin=begin_again) is None, "run again it comes to the same"
        summary = summarise(log)
        turns = [(turn.said, turn.written) for turn in summary.turns if turn.said]
        assert turns[-1] == (HEARD, "I have 2 tuna ordered.")
        assert [tool.name for tool in summary.tools][:1] == ["order"]
