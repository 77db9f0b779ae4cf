"""vLLM's own server with the model of a configuration, without this product."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from openai import APIError, AsyncOpenAI

from llmcore.engines.vllm_settings import set_environment
from voiceagent.bench.server_process import stop
from voiceagent.config.tables import Config
from voiceagent.validation.errors import CommandFailed
from voiceagent.validation.references import resolve_paths

NAME = "plain"
"""Model name at the server."""
READY_S, STOP_S = 300.0, 20.0
_ARGUMENTS = (
    "model",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "load_format",
    "max_model_len",
    "max_num_seqs",
)
"""Settings of the model, its formats and the number of calls. vLLM chooses all others."""


def plain_command(options: dict[str, Any], port: int) -> list[str]:
    """Return the command line that starts vLLM with prefix caching. Uses `python -m`: `vllm
    serve` fails in the CPU build.
    """
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--served-model-name", NAME]
    command += ["--enable-prefix-caching", "--enable-prompt-tokens-details"]
    for name in _ARGUMENTS:
        if options.get(name) is not None:
            command += [f"--{name.replace('_', '-')}", str(options[name])]
    if options.get("kv_cache_gib") is not None:
        command += ["--kv-cache-memory-bytes", str(int(options["kv_cache_gib"] * (1 << 30)))]
    return command


@asynccontextmanager
async def plain_vllm(config: Config) -> AsyncIterator[str]:
    """Start the server and yield its base URL.

    Raises CommandFailed if it does not start, or the configuration does not use vLLM.
    """
    if config.llm.engine != "vllm":
        raise CommandFailed(f"--plain-vllm is for the engine 'vllm'; that of [llm] is {config.llm.engine!r}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    set_environment()
    command = plain_command(resolve_paths(config.llm.options, config.source.parent), port)
    process = await asyncio.create_subprocess_exec(*command, stdout=sys.stderr, env=dict(os.environ))
    base_url = f"http://127.0.0.1:{port}/v1"
    try:
        async with asyncio.timeout(READY_S), AsyncOpenAI(base_url=base_url, api_key="none") as client:
            await _ready(process, client)
        yield base_url
    except TimeoutError:
        raise CommandFailed(f"plain vLLM did not start within {READY_S:.0f} s; see its log above") from None
    finally:
        await stop(process, STOP_S)


async def _ready(process: asyncio.subprocess.Process, client: AsyncOpenAI) -> None:
    while process.returncode is None:
        try:
            await client.models.list()
        except APIError:
            await asyncio.sleep(0.5)
        else:
            return
    raise CommandFailed(f"plain vLLM ended with status {process.returncode}; see its log above")
