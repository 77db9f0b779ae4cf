"""Who is told of calls, where the configuration names somebody."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from voiceagent.config.tables import Config
from voiceagent.telemetry.metrics import Metrics
from voiceagent.webhooks.sender import WebhookSender


def webhook_sender(config: Config, metrics: Metrics) -> WebhookSender | None:
    """What posts events, None where nobody is told; nothing is done before `posting`. Raises ConfigError."""
    table = config.webhooks
    if table.url is None:
        return None
    return WebhookSender(table, table.secret(os.environ, config.source), metrics.registry)


@asynccontextmanager
async def posting(sender: WebhookSender | None) -> AsyncIterator[None]:
    """Post events, if somebody is told; what still waits in the end has some seconds."""
    if sender is None:
        yield
        return
    task = asyncio.create_task(sender.run(), name="webhooks")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
