"""LLM replica for gateways: the LLM of a configuration behind OpenAI's chat completions.

It has no authentication: only gateways may reach it.
"""

from __future__ import annotations

import asyncio
from typing import cast

import uvicorn
import uvloop
from starlette.applications import Starlette

from llmcore.engine import Llm, LlmError
from llmcore.serving.chat_completions import chat_app
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine
from voiceagent.telemetry.log import configure_log
from voiceagent.transports.sockets import listen
from voiceagent.validation.errors import CommandFailed


def replica_app(config: Config) -> Starlette:
    """Return the ASGI application of the engine of `[llm]`; its lifespan starts it. Raises ConfigError."""
    engine = cast("Llm", build_engine("llm", config.llm, config.source))
    return chat_app(engine, str(config.llm.options.get("model", config.llm.engine)))


def serve_llm(config: Config, host: str, port: int) -> None:
    """Serve the replica until SIGTERM or SIGINT, and then until the current responses are over.

    Raises ConfigError, CommandFailed.
    """
    configure_log(config.log.format, config.log.level, personal=config.log.personal_data, apart=True)
    app = replica_app(config)
    listening = listen(host, port)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", access_log=False, log_config=None))

    async def run() -> None:
        async with app.router.lifespan_context(app):
            bound, bound_port = listening.getsockname()[:2]
            print(f"voiceagent llm on http://{bound}:{bound_port}/v1 with {config.llm.engine}", flush=True)
            await asyncio.shield(server.serve([listening]))

    try:
        uvloop.run(run())
    except LlmError as error:
        raise CommandFailed(f"cannot start: {error}") from error
