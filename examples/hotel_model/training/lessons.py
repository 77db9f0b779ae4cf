"""Lessons of the model: conversations with and without tools, after the page, other instructions or nothing;
and sentences, whose meanings it learns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import TypeVar

import torch
from tokenizers import Tokenizer
from torch import Tensor

from examples.hotel_model.chat import render
from examples.hotel_model.data.catalogue import catalogue
from examples.hotel_model.data.conversations import Message, conversations, questions
from examples.hotel_model.data.exchanges import Exchange
from examples.hotel_model.data.tool_conversations import tool_conversations
from examples.hotel_model.training.batches import Batch, batches
from examples.hotel_model.training.learner import Lesson
from examples.hotel_model.training.semantics import common_words, sentences
from examples.hotel_model.training.variants import EXCHANGED_WORDS
from voiceagent.demo.front_desk import TOOLS
from voiceagent.demo.world import system_prompt

# Tokens of a step's sentences, as a multiple of `tokens`: without conversations, and beside them
_ALONE, _BESIDE = 2.2, 0.25
_QUESTIONS = 0.7  # of the sentences; the others are said where there are tools
_LAST = 0.06  # of the steps, at the end: these stand behind what calls begin with
# A step's conversations are of one kind. (which, what they stand behind): (in how many of a hundred steps, in
# how many of the last ones). To learn to say back a time takes many requests: those behind the tools' names
# alone cost half as much.
_SHARES = {
    ("conversations", ""): (14, 0),
    ("conversations", "page"): (16, 28),
    ("conversations with tools", "page with tools"): (22, 28),
    ("tools", "page with tools"): (30, 34),
    ("tools", "names of tools"): (6, 0),
    ("others' instructions", ""): (12, 10),
}

_T = TypeVar("_T")


def lessons(
    tokenizer: Tokenizer, tokens: int, steps: range, alone: int, seed: int, others: Sequence[Exchange]
) -> Iterator[Lesson]:
    """Yield the lessons of a training's steps, the first `alone` of them with sentences only; deterministic.

    tokens: maximum in a step's conversations. steps: indices of the steps, up to the last. others: see
    `conversations`.
    """
    behind = {
        "names of tools": system_tokens(tokenizer, "", TOOLS),
        "page": system_tokens(tokenizer),
        "page with tools": system_tokens(tokenizer, tools=TOOLS),
    }
    drawn = _conversations(tokenizer, tokens, seed, others)
    by_themselves = sentence_batches(tokenizer, round(_ALONE * tokens), seed)
    beside = sentence_batches(tokenizer, round(_BESIDE * tokens), seed + 1)
    for step in steps:
        if step < alone:
            yield Lesson(None, next(by_themselves))
            continue
        weights = [shares[step >= (1 - _LAST) * steps.stop] for shares in _SHARES.values()]
        kind, before = Random(f"{seed}:{step}").choices(tuple(_SHARES), weights)[0]
        yield Lesson(next(drawn[kind]), next(beside), behind.get(before))


def _conversations(
    tokenizer: Tokenizer, tokens: int, seed: int, others: Sequence[Exchange]
) -> dict[str, Iterator[Batch]]:
    """Return batches of conversations by kind."""
    words = common_words(EXCHANGED_WORDS)
    with_tools = partial(tool_conversations, "train", seed, others, words)
    streams = {
        "conversations": conversations("train", seed, others),
        "conversations with tools": _without_requests(conversations("train", seed + 2, others)),
        "tools": with_tools(tools=True),
        "others' instructions": _mixed(seed, with_tools(foreign=True), with_tools(tools=False, foreign=True)),
    }
    return {kind: batches(tokenizer, stream, tokens, seed) for kind, stream in streams.items()}


def sentence_batches(tokenizer: Tokenizer, tokens: int, seed: int) -> Iterator[Batch]:
    """Yield batches of callers' sentences, without answers."""
    texts = sentences(_asked(seed), common_words(EXCHANGED_WORDS), seed)
    alone: Iterator[tuple[Message]] = (({"role": "user", "content": text, "learn": False},) for text in texts)
    return batches(tokenizer, alone, tokens, seed)


def _asked(seed: int) -> Iterator[str]:
    """Yield callers' turns, with tools and without."""
    rng, asked = Random(seed), questions(seed)
    talks = tool_conversations("train", seed)
    requested = (turn["content"] for talk in talks for turn in talk if turn["role"] == "user")
    while True:
        yield next(asked if rng.random() < _QUESTIONS else requested)


def _without_requests(drawn: Iterator[tuple[Message, ...]]) -> Iterator[tuple[Message, ...]]:
    """Return the conversations without requests that tools would execute."""
    data = catalogue()
    done = {
        data.topics["taxi"].aspects["have"].answer,
        data.talk["human"].answer,
        data.talk["goodbye"].answer,
    }
    return (turns for turns in drawn if not any(turn["content"] in done for turn in turns))


def system_tokens(
    tokenizer: Tokenizer, instructions: str = system_prompt(), tools: Sequence[str] = ()
) -> Tensor:
    """Return the tokens [1, length] of the start of a call: instructions, and names of tools."""
    message = {"role": "system", "content": instructions}
    text = render([message], [{"name": name} for name in tools], add_generation_prompt=False)
    return torch.tensor([tokenizer.encode(text).ids])


def _mixed(seed: int, *streams: Iterator[_T]) -> Iterator[_T]:
    rng = Random(seed)
    while True:
        yield next(rng.choice(streams))
