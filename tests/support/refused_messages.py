"""Errors of the phone lines' serializers for invalid messages."""

from __future__ import annotations

import pytest

from voiceagent.transports.telephony.stream.serializer import Message, ProtocolError, Serializer


def refusal(serializer: Serializer, message: Message, before: Message = "") -> str:
    """Return the reason for refusing this message. before: a valid message that precedes it, "" for none."""
    if before:
        serializer.decode(before)
    with pytest.raises(ProtocolError) as refused:
        serializer.decode(message)
    return str(refused.value)
