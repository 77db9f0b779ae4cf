"""Each cause of slow calls, caused in a server, and read from its page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from faulty_lines import FaultyLine
from recordings import recorded
from rtc_caller import RtcCaller, rtc_calling
from sdk_caller import calling
from websockets.asyncio.client import connect

from audio.pcm import Samples
from voiceagent.config.tables import load
from voiceagent.server.app import Server
from voiceagent.triage.rules import MIN_TURNS

PATIENCE_S = 60
CALLS, RESPONSES = 4, MIN_TURNS // 2
TABLES = """
[server]
port = 0
{server}
[agent]
instructions = "You are a helpful assistant."
[recognizer]
engine = "troubled_engines:TroubledRecognizer"
{recognizer}
[llm]
engine = "troubled_engines:TroubledLlm"
{llm}
[synthesizer]
engine = "troubled_engines:TroubledSynthesizer"
{synthesizer}
[budget]
{budget}
[priority]
max_running = {max_running}
max_utilization = 1.0
"""


class Caller:
    """A client of the Realtime API. tool_s: how long its function takes."""

    def __init__(self, address: str, tool_s: float) -> None:
        self._url = f"ws://{address}/v1/realtime?model=x"
        self._tool_s = tool_s

    async def talk(self) -> None:
        """One call of a few responses."""
        async with connect(self._url, proxy=None) as call:
            for _ in range(RESPONSES):
                await self._ask(call)

    async def _ask(self, call: Any) -> None:
        await call.send('{"type": "response.create"}')
        done = await self._done(call)
        for item in done["output"]:
            if item["type"] == "function_call":
                await asyncio.sleep(self._tool_s)
                output = {"type": "function_call_output", "call_id": item["call_id"], "output": "seen"}
                await call.send(json.dumps({"type": "conversation.item.create", "item": output}))
                await call.send('{"type": "response.create"}')
                await self._done(call)

    async def _done(self, call: Any) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            while (event := json.loads(await call.recv()))["type"] != "response.done":
                pass
        response: dict[str, Any] = event["response"]
        return response


@asynccontextmanager
async def served(folder: Path, **tables: Any) -> AsyncIterator[str]:
    """The address of a server in this process."""
    defaults: dict[str, Any] = dict.fromkeys(("server", "recognizer", "llm", "synthesizer", "budget"), "")
    path = folder / "troubled.toml"
    path.write_text(TABLES.format(**defaults | {"max_running": 100} | tables))
    announced = asyncio.get_running_loop().create_future()
    server = Server(load(path))
    serving = asyncio.create_task(server.run(announced.set_result))
    await asyncio.wait({serving, announced}, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        await serving
    yield (await announced).partition(" on http://")[2].partition(" ")[0]
    serving.cancel()
    await asyncio.wait([serving])


async def triage(address: str, path: str = "/triage.json", key: str = "") -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}", "X-Forwarded-For": "203.0.113.9"} if key else {}
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.get(f"http://{address}{path}", headers=headers)


async def found_after_calls(address: str, tool_s: float = 0.0) -> set[str]:
    """The causes that are found once some calls have talked."""
    await asyncio.gather(*(Caller(address, tool_s).talk() for _ in range(CALLS)))
    return await found_by(address)


async def found_by(address: str) -> set[str]:
    """The causes that the server finds."""
    told = (await triage(address)).json()
    return {cause["cause"] for cause in told["causes"] if cause["found"]}


@pytest.mark.parametrize(
    ("cause", "tables"),
    [
        ("kv_pressure", {"llm": "cache_usage = 0.95"}),
        ("cache_misses", {"llm": "cached = 0.3"}),
        ("low_acceptance", {"llm": "accepted = 0.2"}),
        ("queueing", {"llm": "ttft_s = 0.15", "max_running": 1}),
        ("prefill", {"llm": "ttft_s = 0.4"}),
        ("decode", {"llm": "word_s = 0.15"}),
        ("tts", {"synthesizer": "delay_s = 0.3"}),
    ],
)
async def test_a_cause_is_found_where_it_was_caused(
    tmp_path: Path, cause: str, tables: dict[str, Any]
) -> None:
    async with served(tmp_path, **tables) as address:
        assert cause in await found_after_calls(address)


async def test_a_slow_function_is_found(tmp_path: Path) -> None:
    async with served(tmp_path, llm="tool = true") as address:
        assert "tool" in await found_after_calls(address, tool_s=1.2)


async def test_a_held_event_loop_comes_before_what_it_delays(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, llm="stall_s = 0.15") as address:
        while "loop_stalls" not in await found_after_calls(address):
            pass
        told = (await triage(address)).json()
        assert told["likeliest"] == "loop_stalls"
        page = (await triage(address, "/triage")).text
        assert "<h2>Likeliest cause: The event loop stands still</h2>" in page


async def test_a_slow_recognizer_is_found_where_callers_speak(tmp_path: Path) -> None:
    # a turn is over after a silence of 1.5 s at the latest, beside which it recognizes
    tables = {"recognizer": "delay_s = 2.5", "budget": "recognition_ms = 200"}
    async with served(tmp_path, **tables) as address:
        await asyncio.gather(*(speak(address, recorded("goforward.wav", 24_000)) for _ in range(MIN_TURNS)))
        assert "stt" in await found_by(address)
        assert "Speech-to-text is late" in (await triage(address, "/triage")).text


async def speak(address: str, question: Samples) -> None:
    """One call, of one question that is answered."""
    async with calling(address) as caller:
        await caller.speak(question)
        await caller.until("response.done")


async def test_a_slow_network_is_found_where_a_line_tells_of_it(tmp_path: Path) -> None:
    """Over WebRTC, whose remote reports the round trip and the jitter of what it hears."""
    tables = {"synthesizer": "sound_s = 0.8"}
    async with served(tmp_path, **tables) as address, rtc_calling(address) as caller:
        caller.over(FaultyLine(lost=0.05, delay_s=(0.2, 0.3)))
        while "network" not in await found_by(address):
            await caller_asks(caller, MIN_TURNS)
        assert "The network to callers is slow" in (await triage(address, "/triage")).text


async def caller_asks(caller: RtcCaller, turns: int) -> None:
    """So many responses, each heard to its end."""
    for _ in range(turns):
        done = len(caller.of("response.done"))
        caller.send(type="response.create")
        await caller.until("response.done", done + 1)


async def test_nothing_is_found_that_is_not_there(tmp_path: Path) -> None:
    async with served(tmp_path) as address:
        found = await found_after_calls(address)
        assert not found & {"kv_pressure", "cache_misses", "low_acceptance", "tool", "network"}


async def test_from_elsewhere_the_page_is_for_those_who_have_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEYS", "secret")
    async with served(tmp_path, server='api_keys_env = "TEST_KEYS"') as address:
        for path in ("/triage", "/triage.json"):
            assert (await triage(address, path, "wrong")).status_code == 401
            assert (await triage(address, path, "secret")).status_code == 200
