from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

import llmcore.engine as llm
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


@dataclass(frozen=True, slots=True)
class Plain:
    """A record such as those of prompts."""

    text: str
    number: int = 0
    inner: Plain | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """A message that validates its fields."""

    text: str
    number: int = 0
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.number)


@dataclass(slots=True, kw_only=True)
class Named:
    """One whose fields have no order."""

    text: str
    number: int = 0


PLAIN = st.recursive(
    st.builds(Plain, st.text(), st.integers()), lambda inner: st.builds(Plain, st.text(), inner=inner)
)
NAMED = st.builds(Named, text=st.text(), number=st.integers())


@given(PLAIN | st.builds(Checked, st.text(), st.integers()) | NAMED | st.tuples(PLAIN, NAMED))
def test_records_of_every_kind_arrive_as_they_were(record: object) -> None:
    (arrived, _), *more = FrameReader().feed(encode(Item(1, record)))
    assert arrived == Item(1, record)
    assert not more


def test_a_request_arrives_as_it_was() -> None:
    request = llm.Request(
        (llm.Message("user", "Hello"), llm.Message("assistant", "Good morning")), max_tokens=7
    )
    assert [message for message, _ in FrameReader().feed(encode(Item(1, request)))] == [Item(1, request)]
