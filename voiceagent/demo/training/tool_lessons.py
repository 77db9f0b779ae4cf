"""The lessons of the tools: conversations with and without them, behind the page, others' words, or nothing.

A step's conversations are of one kind. Half of them are rehearsed: what the model knew stays as it was.
Others are rides to anywhere, from which it is learned to copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from random import Random
from typing import TypeVar, cast

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from voiceagent.demo.chat import render
from voiceagent.demo.data.catalogue import catalogue
from voiceagent.demo.data.conversations import Message, conversations, questions
from voiceagent.demo.data.exchanges import Exchange
from voiceagent.demo.data.tool_conversations import rides, tool_conversations
from voiceagent.demo.front_desk import TOOLS
from voiceagent.demo.training.batches import batches
from voiceagent.demo.training.learner import Lesson
from voiceagent.demo.training.loop import Plan
from voiceagent.demo.training.network import Llama
from voiceagent.demo.training.semantics import common_words, sentences
from voiceagent.demo.training.variants import EXCHANGED_WORDS
from voiceagent.demo.world import system_prompt

_COINED_OF = 8000  # the commonest words, of which places are coined
_EXCHANGED = 0.5  # of the rehearsed conversations: the callers' words are changed as `sentences` does
_FIRST = 0.6  # of the steps
_READ = 6000  # conversations, to know what answers are made of
_SAID, _UNSAID = 0.75, 1.5  # how much of its embedding is added to a token's row of the head
# Of the steps, in their first part and in their last:
_SHARES = {
    "tools behind their names": (16, 0),
    "tools behind the page": (14, 26),
    "rides behind their names": (20, 8),
    "others' instructions": (12, 14),
    "rehearsed": (14, 12),
    "rehearsed behind the page": (8, 14),
    "rehearsed behind the page with tools": (16, 26),
}

_T = TypeVar("_T")


def tool_lessons(plan: Plan, tokenizer: Tokenizer, others: Sequence[Exchange]) -> Iterator[Lesson]:
    """Those of all steps, the same ones for the same plan. others: see `conversations`."""
    seed, words = plan.seed, common_words(_COINED_OF)
    drawn = partial(tool_conversations, "train", seed, others, words)
    batched = {
        kind: batches(tokenizer, stream, plan.tokens_per_step, seed)
        for kind, stream in (
            ("tools", drawn(tools=True)),
            ("rides", rides(seed, words)),
            ("others' instructions", _mixed(seed, drawn(foreign=True), drawn(tools=False, foreign=True))),
            ("rehearsed", _rehearsed(seed, others)),
        )
    }
    behind = {
        "their names": system_tokens(tokenizer, "", TOOLS),
        "the page": system_tokens(tokenizer),
        "the page with tools": system_tokens(tokenizer, tools=TOOLS),
    }
    for step in range(plan.steps):
        weights = [share[step >= _FIRST * plan.steps] for share in _SHARES.values()]
        chosen = Random(f"{seed}:{step}").choices(tuple(_SHARES), weights)[0]
        kind, _, before = chosen.partition(" behind ")
        if kind == "tools" and before == "the page":
            before = "the page with tools"
        yield Lesson(next(batched[kind]), None, behind.get(before), rehearsed=kind == "rehearsed")


def _rehearsed(seed: int, others: Sequence[Exchange]) -> Iterator[Sequence[Message]]:
    """Conversations in which nothing is asked for that a tool does; in some of them any words are said."""
    rng, data = Random(seed), catalogue()
    asked = sentences(questions(seed), common_words(EXCHANGED_WORDS), seed)
    done = {
        data.topics["taxi"].aspects["have"].answer,
        data.talk["human"].answer,
        data.talk["goodbye"].answer,
    }
    for turns in _mixed(seed, conversations("train", seed, others), conversations("train", seed + 1)):
        if any(turn["content"] in done for turn in turns):
            continue
        if rng.random() >= _EXCHANGED:
            yield turns
            continue
        changed = [{**turn, "content": next(asked)} if turn["role"] == "user" else turn for turn in turns]
        yield cast("list[Message]", changed)


def system_tokens(
    tokenizer: Tokenizer, instructions: str = system_prompt(), tools: Sequence[str] = ()
) -> Tensor:
    """The instructions as a call starts with them, and the names of its tools: [1, length]."""
    message = {"role": "system", "content": instructions}
    text = render([message], [{"name": name} for name in tools], add_generation_prompt=False)
    return torch.tensor([tokenizer.encode(text).ids])


@torch.no_grad()
def prepare_to_copy(model: Llama, tokenizer: Tokenizer) -> None:
    """Tell the tokens of the head apart that no answer has had, by their embeddings.

    A few hundred tokens make up all answers about the hotel; the rows of the others are one and the same by
    then. A tool is given any words of the caller's: with this what is read can be written, whatever it is.
    """
    answers = (
        turn["content"]
        for turns in islice(conversations("train", 0), _READ)
        for turn in turns
        if turn["learn"]
    )
    said = torch.zeros(model.shape.vocabulary, dtype=torch.bool)
    for encoded in tokenizer.encode_batch_fast(list(answers)):
        said[encoded.ids] = True
    embedding = model.embed_tokens.weight
    ways = functional.normalize(embedding - embedding.mean(0), dim=1)
    model.lm_head.weight += torch.where(said, _SAID, _UNSAID)[:, None] * ways


def _mixed(seed: int, *streams: Iterator[_T]) -> Iterator[_T]:
    rng = Random(seed)
    while True:
        yield next(rng.choice(streams))
