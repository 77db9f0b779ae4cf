from __future__ import annotations

from itertools import islice
from random import Random

import pytest
from bench_material import CONVERSATIONS

from voiceagent.bench.material import ChatMessage, Conversation
from voiceagent.bench.replay import CHARACTERS_A_TOKEN, Replay

REPLAY = Replay(
    [
        Conversation(messages=tuple(ChatMessage(role=role, content=text) for role, text in chat))
        for chat in CONVERSATIONS
    ]
)


@pytest.mark.parametrize("tokens", [1, 50, 4000])
def test_a_text_is_as_long_as_it_should_be(tokens):
    assert len(REPLAY.text(tokens, Random(1))) == round(tokens * CHARACTERS_A_TOKEN)


def test_no_two_texts_begin_alike():
    random = Random(1)
    assert REPLAY.text(50, random)[:7] != REPLAY.text(50, random)[:7]


def test_callers_ask_what_was_asked_without_end():
    asked = [list(questions) for questions in islice(REPLAY.callers(seed=3), 6)]
    assert sorted(asked[:3]) == sorted(asked[3:])
    assert ["Do you sell bread?", "And cheese?"] in asked
    assert asked == [list(questions) for questions in islice(REPLAY.callers(seed=3), 6)]
