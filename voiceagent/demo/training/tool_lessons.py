"""The lessons of the tools: conversations with and without them, behind the page, others' words, or nothing.

A step's conversations are of one kind. In the first half most of them stand behind the names of the tools
alone, which is half as dear as the whole page; in the second, behind what calls begin with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from random import Random
from typing import TypeVar

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from voiceagent.demo.chat import render
from voiceagent.demo.data.conversations import conversations
from voiceagent.demo.data.exchanges import Exchange
from voiceagent.demo.data.tool_conversations import tool_conversations
from voiceagent.demo.front_desk import TOOLS
from voiceagent.demo.training.batches import batches
from voiceagent.demo.training.learner import Lesson
from voiceagent.demo.training.loop import Plan
from voiceagent.demo.training.network import Llama
from voiceagent.demo.training.semantics import common_words
from voiceagent.demo.world import system_prompt

_COINED_OF = 8000  # the commonest words, of which places are coined
_FIRST = 0.55  # of the steps
_READ = 6000  # conversations, to know what answers are made of
_SAID, _UNSAID = 0.75, 1.5  # how much of its embedding is added to a token's row of the head
# Of the steps, in their first part and in their last:
_SHARES = {
    "tools behind their names": (45, 5),
    "tools behind the page": (10, 47),
    "no tools": (20, 6),
    "no tools behind the page": (5, 18),
    "others' instructions": (20, 24),
}

_T = TypeVar("_T")


def tool_lessons(plan: Plan, tokenizer: Tokenizer, others: Sequence[Exchange]) -> Iterator[Lesson]:
    """Those of all steps, the same ones for the same plan. others: see `conversations`."""
    seed = plan.seed
    drawn = partial(tool_conversations, "train", seed, others, common_words(_COINED_OF))
    said = (conversations("train", seed, others), conversations("train", seed + 1, others))
    batched = {
        kind: batches(tokenizer, stream, plan.tokens_per_step, seed)
        for kind, stream in (
            ("tools", drawn(tools=True)),
            ("no tools", _mixed(seed, drawn(tools=False), *said)),
            ("others' instructions", _mixed(seed, drawn(foreign=True), drawn(tools=False, foreign=True))),
        )
    }
    before = {
        "tools behind their names": system_tokens(tokenizer, "", TOOLS),
        "tools behind the page": system_tokens(tokenizer, tools=TOOLS),
        "no tools behind the page": system_tokens(tokenizer),
    }
    for step in range(plan.steps):
        weights = [share[step >= _FIRST * plan.steps] for share in _SHARES.values()]
        kind = Random(f"{seed}:{step}").choices(tuple(_SHARES), weights)[0]
        yield Lesson(next(batched[kind.partition(" behind")[0]]), system=before.get(kind))


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
