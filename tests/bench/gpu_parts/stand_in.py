"""A stand-in for vLLM, with its settings and what the benches read of it: for a dry run without a device."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from types import SimpleNamespace

from llmcore.engine import FREE_DRAFT, Delta, DraftUse, Request, Usage
from llmcore.engine_load import EngineLoad
from llmcore.engines.vllm_settings import VllmSettings

PIECES, PIECE_S = 8, 0.001


@dataclass(eq=False)
class StandInLlm(VllmSettings):
    """An `llmcore.engine.Llm` that answers at once, always the same. Takes every setting of vLLM's."""

    process: SimpleNamespace = field(init=False, repr=False)

    def __post_init__(self) -> None:
        async def reset_prefix_cache() -> None:
            pass

        resources = SimpleNamespace(
            engine_manager=SimpleNamespace(processes=[SimpleNamespace(pid=os.getpid())])
        )
        engine = SimpleNamespace(
            vllm_config=SimpleNamespace(cache_config=SimpleNamespace(num_gpu_blocks=1)),
            engine_core=SimpleNamespace(resources=resources),
            reset_prefix_cache=reset_prefix_cache,
        )
        self.process = SimpleNamespace(current=SimpleNamespace(engine=engine))

    @property
    def has_draft(self) -> bool:
        """True if the settings have one."""
        return self.speculative is not None

    def load(self) -> EngineLoad:
        """Return a report without figures."""
        return EngineLoad()

    async def start(self) -> None:
        """Start nothing."""

    async def close(self) -> None:
        """Close nothing."""

    async def generate(self, request: Request, draft: DraftUse = FREE_DRAFT) -> AsyncGenerator[Delta, None]:
        """Yield some pieces."""
        pieces = min(PIECES, request.max_tokens)
        for number in range(pieces):
            await asyncio.sleep(PIECE_S)
            yield Delta(f" word{number}")
        yield Delta(finish_reason="stop", usage=Usage(_tokens(request), 0, pieces))

    async def prefill(self, request: Request, draft: DraftUse = FREE_DRAFT) -> Usage | None:
        """Return the usage of a prefill."""
        return Usage(_tokens(request))


def _tokens(request: Request) -> int:
    return sum(len(message.content.split()) for message in request.messages)
