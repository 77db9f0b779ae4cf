"""The lessons of the tools: conversations with and without them, behind the page, others' words, or nothing.

A step's conversations are of one kind. Most of them are rehearsed: what the model knew stays as it was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import TypeVar, cast

import torch
from tokenizers import Tokenizer
from torch import Tensor

from voiceagent.demo.chat import render
from voiceagent.demo.data.catalogue import catalogue
from voiceagent.demo.data.conversations import Message, conversations
from voiceagent.demo.data.exchanges import Exchange
from voiceagent.demo.data.tool_conversations import tool_conversations
from voiceagent.demo.front_desk import TOOLS
from voiceagent.demo.training.batches import batches
from voiceagent.demo.training.learner import Lesson
from voiceagent.demo.training.loop import Plan
from voiceagent.demo.training.semantics import common_words, sentences
from voiceagent.demo.training.variants import EXCHANGED_WORDS
from voiceagent.demo.world import system_prompt

_EXCHANGED = 0.5  # of the rehearsed conversations: the callers' words are changed as `sentences` does
_UNTIL = (6 / 23, 15 / 23)  # of the steps: where the first part ends, and the second
_ALL_STEPS = {1: 3, 2: 4}  # by how many last layers a plan is for: the part that all its steps are
# What a step learns, and what it stands behind; of a hundred steps of each part. To say back a time takes
# many requests: those behind the tools' names alone cost half as much.
_SHARES = {
    ("tools", "names of tools"): (0, 34, 8, 10, 12),
    ("tools", "page with tools"): (30, 22, 34, 26, 32),
    ("others' instructions", ""): (12, 8, 10, 6, 8),
    ("rehearsed", ""): (26, 16, 18, 24, 18),
    ("rehearsed", "page"): (8, 4, 6, 10, 8),
    ("rehearsed with tools", "page with tools"): (24, 16, 24, 24, 22),
}

_T = TypeVar("_T")


def tool_lessons(plan: Plan, tokenizer: Tokenizer, others: Sequence[Exchange]) -> Iterator[Lesson]:
    """Those of all steps, the same ones for the same plan. others: see `conversations`."""
    seed = plan.seed
    drawn = partial(tool_conversations, "train", seed, others)
    batched = {
        kind: batches(tokenizer, stream, plan.tokens_per_step, seed)
        for kind, stream in (
            ("tools", drawn(tools=True)),
            ("others' instructions", _mixed(seed, drawn(foreign=True), drawn(tools=False, foreign=True))),
            ("rehearsed", _rehearsed(seed, others)),
            ("rehearsed with tools", _rehearsed(seed + 2, others, tools=True)),
        )
    }
    behind = {
        "names of tools": system_tokens(tokenizer, "", TOOLS),
        "page": system_tokens(tokenizer),
        "page with tools": system_tokens(tokenizer, tools=TOOLS),
    }
    for step in range(plan.steps):
        part = _ALL_STEPS.get(plan.last_layers or 0, bisect_right(_UNTIL, step / plan.steps))
        weights = [shares[part] for shares in _SHARES.values()]
        kind, before = Random(f"{seed}:{step}").choices(tuple(_SHARES), weights)[0]
        yield Lesson(next(batched[kind]), None, behind.get(before), rehearsed=kind.startswith("rehearsed"))


def _rehearsed(seed: int, others: Sequence[Exchange], *, tools: bool = False) -> Iterator[Sequence[Message]]:
    """Conversations in some of which any words are said. tools: nothing is asked for that one does."""
    rng = Random(seed)
    drawn = [
        conversations("train", seed, others),
        conversations("train", seed + 1),
        conversations("train", seed + 3),
    ]
    if tools:
        drawn = list(map(_without_requests, drawn))
    asked = sentences(_questions(drawn.pop()), common_words(EXCHANGED_WORDS), seed)
    for turns in _mixed(seed, *drawn):
        if rng.random() >= _EXCHANGED:
            yield turns
            continue
        changed = [{**turn, "content": next(asked)} if turn["role"] == "user" else turn for turn in turns]
        yield cast("list[Message]", changed)


def _without_requests(drawn: Iterator[tuple[Message, ...]]) -> Iterator[tuple[Message, ...]]:
    """Those of the conversations in which nothing is noted or said that is done where there are tools."""
    data = catalogue()
    done = {
        data.topics["taxi"].aspects["have"].answer,
        data.talk["human"].answer,
        data.talk["goodbye"].answer,
    }
    return (turns for turns in drawn if not any(turn["content"] in done for turn in turns))


def _questions(drawn: Iterator[tuple[Message, ...]]) -> Iterator[str]:
    return (turn["content"] for turns in drawn for turn in turns if turn["role"] == "user")


def system_tokens(
    tokenizer: Tokenizer, instructions: str = system_prompt(), tools: Sequence[str] = ()
) -> Tensor:
    """The instructions as a call starts with them, and the names of its tools: [1, length]."""
    message = {"role": "system", "content": instructions}
    text = render([message], [{"name": name} for name in tools], add_generation_prompt=False)
    return torch.tensor([tokenizer.encode(text).ids])


def _mixed(seed: int, *streams: Iterator[_T]) -> Iterator[_T]:
    rng = Random(seed)
    while True:
        yield next(rng.choice(streams))
