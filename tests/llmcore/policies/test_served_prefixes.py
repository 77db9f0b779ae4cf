from __future__ import annotations

from collections import OrderedDict
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Generation, Message, Tool, ToolCall
from llmcore.policies.served_prefixes import BLOCK, BlockHasher, BlockHashes, ServedPrefixes, block_hashes

PROMPTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=40)
"""Prompts of few different words, so that they begin alike."""
PARTS = st.lists(st.floats(0, 1), min_size=40, max_size=40)


def chained(words: list[int]) -> BlockHashes:
    """As `block_hashes`: a block is known by all before it."""
    return [hash(tuple(words[: end + 1])) for end in range(len(words))]


class Cache:
    """Of a replica: so many blocks, the end of what was longest not asked for given up first."""

    def __init__(self, blocks: int) -> None:
        self._blocks = blocks
        self._kept: OrderedDict[int, None] = OrderedDict()

    def read(self, prompt: BlockHashes) -> int:
        had = next((index for index, mark in enumerate(prompt) if mark not in self._kept), len(prompt))
        for mark in reversed(prompt):
            self._kept[mark] = None
            self._kept.move_to_end(mark)
        while len(self._kept) > self._blocks:
            self._kept.popitem(last=False)
        return had


@given(st.text(max_size=3 * BLOCK), st.text(max_size=BLOCK), st.text(max_size=BLOCK))
def test_prompts_have_the_whole_blocks_in_common_that_they_begin_with(
    both: str, one: str, other: str
) -> None:
    marks = [block_hashes(Generation((Message("system", both + rest),))) for rest in (one, other)]
    alike = [a == b for a, b in zip(*marks, strict=False)]
    assert all(alike[: (len(both) + len("\0system\0")) // BLOCK])
    assert alike == sorted(alike, reverse=True), "nothing is alike behind what is not"


def test_a_prompt_goes_on_where_it_ended_before() -> None:
    turns = tuple(Message("user", f"{index} " * BLOCK) for index in range(3))
    before, after = block_hashes(Generation(turns[:2])), block_hashes(Generation(turns))
    assert after[: len(before)] == before and len(after) > len(before)


@given(st.lists(st.text(max_size=2 * BLOCK), max_size=8))
def test_a_prompt_that_grows_has_the_marks_of_the_whole(texts: list[str]) -> None:
    tools, messages = (Tool("find", "Find."),), tuple(Message("user", text) for text in texts)
    growing = BlockHasher(tools)
    for count in range(len(messages) + 1):
        marks = growing.hashes(messages[:count])
        assert marks == block_hashes(Generation(messages[:count], tools))


def test_tools_and_their_calls_are_part_of_a_prompt() -> None:
    said = (Message("system", "x" * BLOCK),)
    asked = (Message("assistant", "", (ToolCall("1", "find", "y" * BLOCK),)),)
    plain, offered, called = (
        block_hashes(prompt)
        for prompt in (
            Generation(said),
            Generation(said, (Tool("find", "z" * BLOCK),)),
            Generation(said + asked),
        )
    )
    assert plain[0] != offered[0]
    assert called[: len(plain)] == plain and len(called) > len(plain)


@given(PROMPTS, PARTS, st.integers(1, 12))
def test_what_is_known_is_known_from_its_first_block_on(
    prompts: list[list[int]], parts: list[float], kept: int
) -> None:
    served = ServedPrefixes(kept)
    for words, part in zip(prompts, parts, strict=False):
        served.record_read(served.snapshot(chained(words)), part)
        assert len(served) <= kept
    for words in prompts:
        matched = [served.known_blocks(chained(words)[: end + 1]) == end + 1 for end in range(len(words))]
        assert matched == sorted(matched, reverse=True)
        assert served.known_blocks(chained(words)) == sum(matched)


@given(PROMPTS)
def test_what_a_replica_keeps_whole_is_known_as_it_keeps_it(prompts: list[list[int]]) -> None:
    served, cache = ServedPrefixes(), Cache(10_000)
    for words in prompts:
        prompt = chained(words)
        had = cache.read(prompt)
        assert served.known_blocks(prompt) == had
        served.record_read(served.snapshot(prompt), had / len(prompt))


def test_how_much_a_replica_keeps_is_learned_from_what_it_had() -> None:
    """Also when it keeps more of a sudden, or less."""
    served, random = ServedPrefixes(), Random(1)
    for blocks in (200, 400, 100):
        cache, off = Cache(blocks), 0
        for request in range(3_000):
            prompt = chained([random.randrange(40), *range(12)])
            had, believed = cache.read(prompt), served.known_blocks(prompt)
            off += request >= 2_000 and abs(believed - had) > 1
            served.record_read(served.snapshot(prompt), had / len(prompt))
        assert abs(len(served) - blocks) <= 0.1 * blocks
        assert off < 50, "of a thousand"


def test_a_replica_that_never_tells_of_a_cache_is_believed_to_have_one() -> None:
    served, prompt = ServedPrefixes(), chained([1, 2, 3])
    served.record_read(served.snapshot(prompt), 0.0)
    served.record_read(served.snapshot(prompt), 0.0)
    assert served.known_blocks(prompt) == 3


def test_what_was_given_up_tells_how_much_is_kept() -> None:
    served = ServedPrefixes()
    old, middle, new = (chained([first, 0, 0, 0]) for first in (1, 2, 3))
    for prompt in (old, middle, middle, new):
        reading = served.snapshot(prompt)
        served.record_read(reading, len(reading.used) / len(prompt))
    served.record_read(served.snapshot(middle), 0.5)
    # two blocks of it and the new four were there, which makes six
    assert [served.known_blocks(prompt) for prompt in (old, middle, new)] == [0, 4, 2]
