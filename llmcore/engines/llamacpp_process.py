"""The life of llama.cpp's server: started in a process of its own, and again when that process dies."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import secrets
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from llmcore.engine import LlmError, ServerError, SetupError
from llmcore.policies.circuit_breaker import Backoff
from llmcore.serving.busy_time import busy_time_s

SERVER_MODULE = "llmcore.engines.llamacpp_server"
_RESTART = Backoff(base_s=1.0, max_s=30.0)
_START_S = 120.0
"""Limit of the time in which a start computes nothing; a model of 1 GB from a cold disk takes about 10 s."""
_LOOK_S = 5.0
"""Time between two looks at what a start has computed."""
_LONGEST_START_S = 900.0
"""Limit of a start, whatever it computes."""
_END_S = 2.0
_CACHE_MIB = 1024
"""Bound of the prompts that llama.cpp keeps outside its context."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of the server's process, as LlamaCppLlm documents them."""

    model: Path
    threads: int
    max_running: int
    context_tokens: int
    gpu_layers: int


class LlamaCppProcess:
    """Keeps one server running. While there is none, `client` says why."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._client: httpx2.AsyncClient | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._shows_special_tokens = False
        self._problem = "the engine is not started"

    @property
    def client(self) -> httpx2.AsyncClient:
        """Connections to the server that runs. Raises LlmError."""
        if self._client is None:
            kind = ServerError if self._keeper is not None else SetupError
            raise kind(f"{self._settings.model}: {self._problem}")
        return self._client

    async def start(self, shows_special_tokens: bool = False) -> None:
        """Start the server and monitor it from now on. Raises LlmError.

        shows_special_tokens: text of special tokens is part of the replies.
        """
        self._shows_special_tokens = shows_special_tokens
        self._client = await self._launch()
        self._problem = "llama.cpp died and is being started again"
        self._keeper = asyncio.create_task(self._keep_alive())

    async def close(self) -> None:
        """End the process; a second call does nothing."""
        keeper, self._keeper = self._keeper, None
        self._problem = "the engine was closed"
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait([keeper])
        await self._end()

    async def _launch(self) -> httpx2.AsyncClient:
        key = secrets.token_urlsafe()
        settings: dict[str, Any] = {
            "model": str(self._settings.model),
            "threads": self._settings.threads,
            "max_running": self._settings.max_running,
            "context_tokens": self._settings.context_tokens,
            "gpu_layers": self._settings.gpu_layers,
            "cache_mib": _CACHE_MIB,
            "special": self._shows_special_tokens,
            "api_key": key,
        }
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", SERVER_MODULE, stdin=pipe, stdout=pipe
        )
        self._process = process
        told = await self._answer(process, settings)
        if told is None:
            await self._end()
            limits = f"{_LONGEST_START_S:.0f} s, or computed nothing for {_START_S:.0f} s"
            raise ServerError(f"{self._settings.model}: llama.cpp did not start within {limits}")
        if "url" not in told:
            await self._end()
            raise ServerError(f"{self._settings.model}: llama.cpp cannot start: {told['error']}")
        return httpx2.AsyncClient(
            base_url=told["url"],
            headers={"Authorization": f"Bearer {key}"},
            timeout=None,
            trust_env=False,
            # the server closes idle connections, which may meet a request on its way
            limits=httpx2.Limits(max_keepalive_connections=0),
        )

    async def _answer(
        self, process: asyncio.subprocess.Process, settings: dict[str, Any]
    ) -> dict[str, str] | None:
        """Return the answer to the settings; None if the process computes nothing, or for too long.

        On a crowded machine a start takes minutes: slow is not hung.
        """
        asking = asyncio.create_task(self._ask(process, settings))
        waited_s = idle_s = busy_before_s = 0.0
        try:
            while idle_s < _START_S and waited_s < _LONGEST_START_S:
                done, _ = await asyncio.wait([asking], timeout=_LOOK_S)
                if done:
                    return asking.result()
                busy_s = busy_time_s(process.pid) or 0.0
                idle_s = 0.0 if busy_s - busy_before_s > _LOOK_S / 10 else idle_s + _LOOK_S
                waited_s, busy_before_s = waited_s + _LOOK_S, busy_s
        finally:
            asking.cancel()
        return None

    async def _ask(self, process: asyncio.subprocess.Process, settings: dict[str, Any]) -> dict[str, str]:
        """Send the settings, and return the answer. A command line with the key could be seen by others."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(ConnectionError):
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            await process.stdin.drain()
        line = await process.stdout.readline()
        if not line:
            return {"error": f"its process ended ({await process.wait()})"}
        told: dict[str, str] = json.loads(line)
        return told

    async def _keep_alive(self) -> None:
        """Start the server again whenever it has died, until cancelled."""
        failures = 0
        while True:
            if self._client is not None:
                assert self._process is not None
                status = await self._process.wait()
                log.error("%s: llama.cpp died (%s); starting it again", self._settings.model, status)
                await self._end()
            try:
                self._client = await self._launch()
                failures = 0
                log.warning("%s: llama.cpp is back", self._settings.model)
            except LlmError as error:
                failures += 1
                self._problem = f"llama.cpp died and cannot be started again: {error}"
                log.error("%s", self._problem)
                await asyncio.sleep(_RESTART.wait_s(failures, random.random))

    async def _end(self) -> None:
        client, self._client = self._client, None
        process, self._process = self._process, None
        if client is not None:
            await client.aclose()
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(_END_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
