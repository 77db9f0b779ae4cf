"""From a configuration to services that are ready for calls, and back."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from audio.recognizers import RecognizerError
from audio.smart_turn import TurnModelError
from audio.synthesizers import SynthesizerError
from audio.vad import VadError
from llmcore.engine import LlmError
from voiceagent.config.tables import Config
from voiceagent.engines.engines import Engines
from voiceagent.server.warm_up import WarmUpError, warm_up
from voiceagent.session.services import Services, prepare
from voiceagent.telemetry.metrics import Metrics
from voiceagent.validation.errors import CommandFailed


@asynccontextmanager
async def started(
    config: Config, engines: Engines, metrics: Metrics
) -> AsyncIterator[tuple[Services, dict[str, float]]]:
    """Services around started engines, and the seconds each stage took in a warm-up turn.

    Everything is closed in the end. Raises CommandFailed where an engine does not start or does not work.
    """
    async with AsyncExitStack() as closing:
        closing.push_async_callback(engines.close)
        try:
            await engines.start()
            services = await prepare(config, engines, metrics)
            if services.turn_model is not None:
                closing.push_async_callback(services.turn_model.close)
            latency = await warm_up(services, config.call_settings())
        except (RecognizerError, LlmError, SynthesizerError, VadError, TurnModelError, WarmUpError) as error:
            raise CommandFailed(f"cannot start: {error}") from error
        # What was loaded so far stays: the garbage collector need not stop every call to look at it again.
        gc.collect()
        gc.freeze()
        yield services, latency
