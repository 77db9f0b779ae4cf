"""The parts of uvicorn's HTTP protocol that limits are put on are there."""

from __future__ import annotations

import uvicorn
from library_parts import assert_parts
from uvicorn.server import ServerState

from voiceagent.transports.limits import USUAL_LIMITS
from voiceagent.transports.uvicorn_http_internals import guarded_http


async def test_the_parts_of_uvicorn_that_are_guarded_are_there() -> None:
    config = uvicorn.Config(lambda: None, lifespan="off")
    protocol = guarded_http(USUAL_LIMITS)(config, ServerState(), {})
    steps = ("connection_made", "connection_lost", "on_response_complete", "_should_upgrade")
    states = ("connections", "cycle", "loop", "transport")
    user = "voiceagent/transports/uvicorn_http_internals.py"
    assert_parts("uvicorn", protocol, *steps, *states, user=user)
