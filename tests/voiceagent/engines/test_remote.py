"""The sound that a worker sends to the engines of its supervisor."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.pcm import Samples
from audio.recognizers import Flush
from llmcore.engine import Delta, ToolCall
from voiceagent.engines.remote import HURRIED_DELTAS, JOINED_SAMPLES, hurried_at_first, joined
from voiceagent.processes.streams import Unhurried

SOUND = st.lists(st.integers(1, 2 * JOINED_SAMPLES) | st.just(Flush()), max_size=20)


async def given_one_by_one(items: list[int | Flush]) -> AsyncGenerator[Samples | Flush, None]:
    for number, item in enumerate(items):
        yield item if isinstance(item, Flush) else np.full(item, number, np.int16)


@given(SOUND)
async def test_sound_is_joined_and_nothing_is_lost_or_passes_a_flush(items: list[int | Flush]) -> None:
    told = [item async for item in joined(given_one_by_one(items))]
    plain = [item async for item in given_one_by_one(items)]
    assert _parts(told) == _parts(plain)
    for item, following in pairwise(told):
        if not isinstance(item, Flush) and not isinstance(following, Flush):
            assert len(item) >= JOINED_SAMPLES


def _parts(items: list[Samples | Flush]) -> list[list[int]]:
    """The samples between flushes."""
    parts: list[list[int]] = [[]]
    for item in items:
        if isinstance(item, Flush):
            parts.append([])
        else:
            parts[-1] += item.tolist()
    return parts


async def test_the_words_that_a_caller_waits_for_go_at_once_and_later_ones_have_time() -> None:
    words = [Delta(f"word {number}") for number in range(HURRIED_DELTAS + 2)]
    last = [Delta(tool_calls=(ToolCall("c1", "look_up", "{}"),)), Delta(finish_reason="tool_calls")]

    async def generated() -> AsyncGenerator[Delta, None]:
        for delta in [*words, *last]:
            yield delta

    told = [delta async for delta in hurried_at_first(generated())]
    later = [Unhurried(delta) for delta in words[HURRIED_DELTAS:]]
    assert told == [*words[:HURRIED_DELTAS], *later, *last]
