"""What serializers of phone lines say against messages that are wrong."""

from __future__ import annotations

import pytest

from voiceagent.transports.telephony.stream.serializer import Message, ProtocolError, Serializer


def refusal(serializer: Serializer, message: Message, before: Message = "") -> str:
    """Why this message is refused. before: one that comes first and is in order, "" for none."""
    if before:
        serializer.decode(before)
    with pytest.raises(ProtocolError) as refused:
        serializer.decode(message)
    return str(refused.value)
