"""Effect of a session that was configured before the beginning of a call."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_call import ScriptedCall

from voiceagent.transports.realtime.call import RealtimeCall
from voiceagent.transports.webrtc.endpoint import WebRtcClient


@pytest.mark.parametrize(
    ("session", "greeted"),
    [
        ({}, True),
        ({"type": "realtime"}, True),
        ({"type": "realtime", "voiceagent": {"greeting": True}}, True),
        ({"type": "realtime", "voiceagent": {"greeting": False}}, False),
    ],
)
async def test_a_call_that_goes_on_with_an_earlier_one_is_not_greeted(
    session: dict[str, Any], greeted: bool
) -> None:
    client = WebRtcClient("rtc_1", 60.0)
    call = ScriptedCall("rtc_1", client, "")
    RealtimeCall(call, client, session).begin()
    assert call.greeted is greeted
