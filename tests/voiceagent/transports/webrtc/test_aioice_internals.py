"""The private parts of aioice that give calls our sockets exist; `test_aioice_udp_mux.py` uses them."""

from __future__ import annotations

import aioice
from aioice import ice, stun
from library_parts import assert_parts

USER = "voiceagent/transports/webrtc/aioice_internals.py"
MUX = "voiceagent/transports/webrtc/aioice_udp_mux.py"


async def test_a_connection_gathers_into_its_protocols_under_its_name() -> None:
    connection = aioice.Connection(ice_controlling=True)
    names = ("_local_username", "_protocols", "get_component_candidates", "stun_server")
    assert_parts("aioice", connection, *names, user=USER)


def test_consent_and_the_way_to_stun_can_be_set() -> None:
    assert_parts("aioice", ice, "CONSENT_INTERVAL", "server_reflexive_candidate", user=USER)
    assert_parts("aioice", aioice.candidate, "candidate_foundation", "candidate_priority", user=USER)


async def test_a_socket_of_ours_can_stand_under_a_connection() -> None:
    connection = aioice.Connection(ice_controlling=True)
    names = (
        "local_username",
        "local_password",
        "request_received",
        "data_received",
        "_queue",
        "_remote_candidates",
    )
    assert_parts("aioice", connection, *names, user=MUX)
    protocol = ice.StunProtocol(connection)
    names = ("connection_made", "connection_lost", "transactions")
    assert_parts("aioice", protocol, *names, user=MUX)
    assert_parts("aioice", stun.Transaction, "response_received", user=MUX)
    assert_parts("aioice", stun.Message, "check_message_integrity", user=MUX)
