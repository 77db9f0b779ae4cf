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
from websockets.asyncio.client import connect

from voiceagent.config.tables import load
from voiceagent.conversation.latency import StageName, StageTime, TurnCounts, TurnReport
from voiceagent.server.app import Server
from voiceagent.server.status import Triage
from voiceagent.telemetry.metrics import Metrics
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
[llm]
engine = "troubled_engines:TroubledLlm"
{llm}
[synthesizer]
engine = "troubled_engines:TroubledSynthesizer"
{synthesizer}
[priority]
max_running = {max_running}
max_ttft_ms = 60000
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
    defaults: dict[str, Any] = dict.fromkeys(("server", "llm", "synthesizer"), "")
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
        assert "<h1>Likeliest cause: The event loop stands still</h1>" in page


@pytest.mark.parametrize(("stage", "cause"), [("recognition", "stt"), ("network", "network")])
async def test_what_makes_turns_late_is_found(stage: StageName, cause: str) -> None:
    """Only a caller who speaks, and one whose line tells what was heard, cause these."""
    metrics = Metrics()

    async def collect() -> Any:
        return list(metrics.registry.collect())

    late = StageTime(stage, 400_000, budget_s=0.06)
    for number in range(MIN_TURNS):
        metrics.observe(TurnReport(f"turn {number}", "completed", (late,), (stage,), TurnCounts()))
    findings = (await Triage(collect).judge()).findings
    assert [finding.rule.cause for finding in findings if finding.found] == [cause]


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
