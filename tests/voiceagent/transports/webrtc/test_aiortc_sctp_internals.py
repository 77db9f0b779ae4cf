"""The private parts of aiortc that events go through exist; `tests/attacks/test_webrtc.py` uses them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from aiortc import RTCPeerConnection, RTCSctpTransport, rtcsctptransport
from hypothesis import given
from hypothesis import strategies as st
from library_parts import assert_parts

from voiceagent.transports.webrtc.aiortc_sctp_internals import decode_params

USER = "voiceagent/transports/webrtc/aiortc_sctp_internals.py"


async def test_events_come_and_go_in_chunks() -> None:
    peer = RTCPeerConnection()
    peer.createDataChannel("events")
    assert isinstance(peer.sctp, RTCSctpTransport)
    names = ("_send_chunk", "_handle_data", "_receive_chunk", "_inbound_streams", "_advertised_rwnd")
    places = ("_sack_misordered", "_last_received_tsn")
    assert_parts("aiortc", peer.sctp, *names, *places, user=USER)
    assert_parts(
        "aiortc", rtcsctptransport, "DataChunk", "SackChunk", "decode_params", "tsn_plus_one", user=USER
    )
    await peer.close()


@given(st.lists(st.tuples(st.integers(0, 65_535), st.binary(max_size=20))))
def test_parameters_are_read_as_they_were_written(parameters: list[tuple[int, bytes]]) -> None:
    assert decode_params(rtcsctptransport.encode_params(parameters)) == parameters


@pytest.mark.parametrize("length", range(4))
def test_a_parameter_shorter_than_its_head_is_none(length: int) -> None:
    with pytest.raises(ValueError, match=f"of {length} bytes"):
        decode_params(b"\x00\x01\x00" + bytes((length,)))


@given(st.binary(max_size=100))
def test_whatever_comes_is_read_to_its_end(body: bytes) -> None:
    with suppress(ValueError):
        assert len(decode_params(body)) <= len(body) // 4
