"""Ten thousand mutated messages over all inputs; `python tests/attacks/fuzz.py` sends a million."""

from __future__ import annotations

import pytest
from attacked_server import AttackedServer
from fuzzing import fuzz

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the second caller goes on during a test

LOG_BYTES = 200_000
"""It provokes many kinds of lines, of each of which the log takes 200 at once."""


async def test_no_message_ends_the_server_or_another_call(server: AttackedServer):
    counts = await fuzz(server, 10_000, seed=1)

    assert counts.total() >= 10_000
    assert len(counts) == 20
