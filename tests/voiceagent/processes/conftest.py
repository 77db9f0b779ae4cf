from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from hosted_engines import hosted_engine

from voiceagent.processes.engine_host import EngineHost


@pytest_asyncio.fixture(name="host")
async def obedient_host() -> AsyncIterator[EngineHost]:
    """Yield a host that follows instructions."""
    host = EngineHost(hosted_engine("Obedient"))
    await host.start()
    yield host
    await host.close()
