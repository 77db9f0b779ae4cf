"""The refusal of clients that ask for the beta of the Realtime API, whose events had other names.

OpenAI refuses them in the same way: an `error` event of code `beta_api_shape_disabled`, then close code 4000.
"""

from __future__ import annotations

from starlette.websockets import WebSocket

from voiceagent.session.call import new_id
from voiceagent.transports.realtime.protocol.encode import to_json

BETA_HEADER = "realtime=v1"
BETA_SUBPROTOCOL = "openai-beta.realtime-v1"
CODE = "beta_api_shape_disabled"
CLOSE_CODE = 4000


def asks_for_beta(websocket: WebSocket) -> bool:
    """Return whether the handshake asks for the beta, by header or by subprotocol."""
    asked = websocket.headers.get("openai-beta", "").split(",")
    return BETA_HEADER in map(str.strip, asked) or BETA_SUBPROTOCOL in websocket.scope["subprotocols"]


async def refuse_beta(websocket: WebSocket) -> None:
    """Tell the client what it asked for and close the connection: browsers show no refused handshake."""
    offered = websocket.scope["subprotocols"]
    await websocket.accept("realtime" if "realtime" in offered else None)
    message = (
        "the beta of the Realtime API is not served here; leave out the header 'OpenAI-Beta: realtime=v1' "
        f"and the subprotocol '{BETA_SUBPROTOCOL}', and send the events of the released API"
    )
    error = {"type": "invalid_request_error", "code": CODE, "message": message, "param": None}
    event = {"type": "error", "event_id": new_id("event"), "error": {**error, "event_id": None}}
    await websocket.send_text(to_json(event))
    await websocket.close(CLOSE_CODE, CODE)
