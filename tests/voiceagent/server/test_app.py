from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from failing_engines import StoppedRecognizer
from fixed_config import write_config
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from voiceagent import __version__
from voiceagent.config.tables import ServerConfig, load
from voiceagent.llm.config import PriorityConfig
from voiceagent.server.app import Server
from voiceagent.validation.errors import CommandFailed


class Running:
    """A server in this process, and how to reach it."""

    def __init__(self, serving: asyncio.Task[None], line: str) -> None:
        self.serving = serving
        self.line = line
        self.address = line.partition(" on http://")[2].partition(" ")[0]

    async def get(self, path: str) -> httpx.Response:
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.get(f"http://{self.address}{path}")

    async def until(self, holds: Callable[[httpx.Response], bool]) -> httpx.Response:
        """The first answer about its health for which something holds."""
        while not holds(answer := await self.get("/health")):  # noqa: ASYNC110 - a client can only ask again
            await asyncio.sleep(0.01)
        return answer

    def call(self, **options: Any) -> connect:
        return connect(f"ws://{self.address}/v1/realtime?model=x", proxy=None, **options)

    def stop(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture
def running(tmp_path):
    """Starts a server with engines of fixed cost; `lines` go into the `[server]` table."""

    @asynccontextmanager
    async def running(lines: str = "") -> AsyncIterator[Running]:
        path = write_config(tmp_path, lines)
        announced = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(Server(load(path)).run(announced.set_result))
        await asyncio.wait({serving, announced}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving
        server = Running(serving, await announced)
        yield server
        if not serving.done():
            server.stop()
        await serving

    return running


async def test_the_ready_line_tells_address_engines_and_warm_up(running):
    async with running() as server:
        assert "\n" not in server.line
        assert f"voiceagent {__version__} on http://127.0.0.1:" in server.line
        for stage in ("recognition", "llm_ttft", "fragmenting", "synthesis", "playout"):
            assert f" {stage} " in server.line
        assert "served_engines:FixedLlm" in server.line


async def test_health_tells_engines_calls_and_version(running):
    async with running() as server:
        answer = await server.get("/health")
        assert answer.status_code == 200
        assert answer.json() == {
            "status": "ready",
            "degraded": {},
            "engines": {
                "recognizer": "served_engines:FixedRecognizer",
                "llm": "served_engines:FixedLlm",
                "synthesizer": "served_engines:FixedSynthesizer",
            },
            "about": "",
            "agents": [],
            "keeps_calls": False,
            "voices": [],
            "calls": 0,
            "shedding": "none",
            "speculation": {},
            "semantic_cache": None,
            "upstream": None,
            "alarms": {},
            "version": __version__,
        }


async def test_nothing_of_other_places_may_run_in_the_page(running):
    async with running() as server:
        page = await server.get("/")
        assert page.status_code == 200
        assert 'data-testid="talk"' in page.text
        assert "default-src 'self'" in page.headers["content-security-policy"]
        script = await server.get("/app.js")
        assert script.headers["content-type"].startswith("text/javascript")
        assert (await server.get("/no-such-file.js")).status_code == 404


async def test_health_is_503_and_calls_are_refused_until_the_engines_are_ready(running, tmp_path):
    async with running():
        pass
    starting = Server(load(tmp_path / "served.toml")).app()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(starting), base_url="http://test") as client:
        answer = await client.get("/health")
    assert answer.status_code == 503
    assert answer.json()["status"] == "starting"


async def test_the_warm_up_is_not_among_the_metrics(running):
    async with running() as server:
        answer = await server.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        assert "voiceagent_calls 0.0" in answer.text
        assert "voiceagent_turn_seconds_count 0.0" in answer.text
        assert 'voiceagent_turns_total{outcome="completed"}' not in answer.text


async def test_a_call_is_answered_and_counted(running):
    async with running() as server:
        async with server.call() as call:
            assert json.loads(await call.recv())["type"] == "session.created"
            assert (await server.get("/health")).json()["calls"] == 1
            assert "voiceagent_calls 1.0" in (await server.get("/metrics")).text
        await server.until(lambda health: health.json()["calls"] == 0)


async def test_a_call_too_many_is_refused_before_the_handshake(running):
    async with running("max_calls = 1") as server, server.call() as call:
        await call.recv()
        with pytest.raises(InvalidStatus) as refused:
            async with server.call():
                pass
        assert refused.value.response.status_code == 503
        assert b"all 1 calls are taken" in refused.value.response.body


async def test_a_call_that_would_wait_is_refused_with_when_to_retry(running, monkeypatch):
    monkeypatch.setattr(PriorityConfig, "max_ttft_ms", 0.001)
    async with running("") as server, server.call() as call:
        await call.recv()
        with pytest.raises(InvalidStatus) as refused:
            async with server.call():
                pass
        answer = refused.value.response
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert b"busy: the time to first token would be" in answer.body
        assert "voiceagent_llm_refused_calls_total 1.0" in (await server.get("/metrics")).text


async def test_without_a_key_that_is_accepted_there_is_no_call(running, monkeypatch):
    monkeypatch.setenv("TEST_KEYS", "secret")
    async with running('api_keys_env = "TEST_KEYS"') as server:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            with pytest.raises(InvalidStatus) as refused:
                async with server.call(additional_headers=headers):
                    pass
            assert refused.value.response.status_code == 401
        async with server.call(additional_headers={"Authorization": "Bearer secret"}) as call:
            assert json.loads(await call.recv())["type"] == "session.created"


async def test_a_message_over_the_limit_closes_the_call_with_1009(running, monkeypatch):
    monkeypatch.setattr(ServerConfig, "max_message_bytes", 5_000)
    async with running() as server, server.call() as call:
        await call.recv()
        await call.send("x" * 6_000)
        with pytest.raises(ConnectionClosed) as closed:
            await call.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


async def test_a_stopping_server_lets_its_calls_finish(running):
    async with running("drain_s = 30") as server:
        async with server.call() as call:
            await call.recv()
            server.stop()
            answer = await server.until(lambda health: health.status_code == 503)
            assert answer.json()["status"] == "draining"
            load_answer = await server.get("/load")
            assert (load_answer.status_code, load_answer.json()["state"]) == (503, "draining")
            with pytest.raises(InvalidStatus) as refused:
                async with server.call():
                    pass
            assert refused.value.response.status_code == 503
            await call.send('{"type": "response.create"}')
            while json.loads(await call.recv())["type"] != "response.output_audio.delta":
                pass
        await server.serving


async def test_the_load_report_tells_calls_lateness_and_first_token(running):
    async with running() as server, server.call() as call:
        await call.recv()
        answer = await server.get("/load")
        assert answer.status_code == 200
        report = answer.json()
        assert (report["state"], report["takes_calls"], report["reason"]) == ("ready", True, None)
        assert (report["calls"], report["max_calls"]) == (1, 20)
        assert report["loop_lag_ms"] >= 0
        assert report["predicted_ttft_ms"] >= 0


async def test_a_full_server_says_in_its_load_report_when_to_ask_again(running):
    async with running("max_calls = 1") as server, server.call() as call:
        await call.recv()
        answer = await server.get("/load")
        assert (answer.status_code, answer.json()["takes_calls"]) == (503, False)
        assert int(answer.headers["retry-after"]) >= 1
        with pytest.raises(InvalidStatus) as refused:
            async with server.call():
                pass
        assert refused.value.response.headers["retry-after"]


async def test_a_late_server_refuses_calls_and_says_when_to_retry(running):
    async with running("max_loop_lag_ms = 0.000001") as server, server.call() as call:
        await call.recv()
        while (answer := await server.get("/load")).status_code != 503:  # noqa: ASYNC110  it is measured first
            await asyncio.sleep(0.05)
        assert "ms late (server.max_loop_lag_ms is 1e-06)" in answer.json()["reason"]
        with pytest.raises(InvalidStatus) as refused:
            async with server.call():
                pass
        assert refused.value.response.status_code == 503
        assert refused.value.response.headers["retry-after"]


async def test_calls_that_outlast_the_drain_are_ended(running):
    async with running("drain_s = 0") as server, server.call() as call:
        await call.recv()
        server.stop()
        with pytest.raises(ConnectionClosed):
            await call.recv()
        await server.serving


async def test_a_second_signal_ends_the_calls_at_once(running):
    async with running("drain_s = 600") as server, server.call() as call:
        await call.recv()
        server.stop()
        await server.until(lambda health: health.json()["status"] == "draining")
        server.stop()
        with pytest.raises(ConnectionClosed):
            await call.recv()
        await server.serving


async def test_a_server_stopped_while_it_starts_closes_its_engines(tmp_path):
    config = load(write_config(tmp_path, FixedRecognizer="failing_engines:StoppedRecognizer"))
    announced: list[str] = []
    before = StoppedRecognizer.closed
    await Server(config).run(announced.append)
    assert not announced
    assert StoppedRecognizer.closed == before + 1


async def test_an_engine_that_cannot_start_ends_the_server_with_its_reason(tmp_path):
    config = load(write_config(tmp_path, FixedRecognizer="failing_engines:DeafRecognizer"))
    with pytest.raises(CommandFailed, match="cannot start: no model in /nowhere"):
        await Server(config).run(print)


async def test_a_stopped_server_leaves_no_task_behind(running):
    before = asyncio.all_tasks()
    async with running() as server, server.call() as call:
        await call.recv()
    assert asyncio.all_tasks() == before
