from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.processes.messages import Close, FrameReader, Item, Message, encode

MESSAGES = st.lists(st.builds(Item, st.integers(), st.binary(max_size=50)) | st.builds(Close, st.integers()))


@given(MESSAGES, st.lists(st.integers(1, 40)))
def test_messages_are_read_whole_however_their_bytes_come_in(
    messages: list[Message], cuts: list[int]
) -> None:
    wire = b"".join(map(encode, messages))
    reader = FrameReader()
    read = []
    for cut in [*cuts, len(wire)]:
        read += reader.feed(wire[:cut])
        wire = wire[cut:]
    assert [message for message, _ in read] == messages
    assert [size for _, size in read] == [len(encode(message)) for message in messages]
