"""Batches of tokens from conversations."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from tokenizers import Tokenizer
from torch import Tensor

from examples.hotel_model.chat import ASSISTANT, END, SYSTEM, TOOL, USER, text_of
from examples.hotel_model.data.conversations import Message
from examples.hotel_model.training.tokenizer import mark_id


@dataclass(frozen=True, slots=True)
class Example:
    """A tokenized conversation. learned: whether each token is a target. said: the caller's
    turns; said_at: the last token of each.
    """

    tokens: list[int]
    learned: list[bool]
    said: list[str]
    said_at: list[int]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of examples.

    tokens: [conversations, length], padded on the right. before: positions, in the flattened tokens, whose
    next token is a target; next_tokens: these targets. Both [learned]. said: all turns of callers; said_at:
    the end of each in the flattened tokens.
    """

    tokens: Tensor
    before: Tensor
    next_tokens: Tensor
    said: list[str]
    said_at: Tensor

    def to(self, device: str) -> Batch:
        """Return the batch on a torch device."""
        return Batch(
            self.tokens.to(device),
            self.before.to(device),
            self.next_tokens.to(device),
            self.said,
            self.said_at.to(device),
        )


def encode(tokenizer: Tokenizer, turns: Sequence[Message]) -> Example:
    """Tokenize the turns of a conversation, as chat.render would write them."""
    roles = {"system": SYSTEM, "user": USER, "assistant": ASSISTANT, "tool": TOOL}
    marks = {role: mark_id(tokenizer, mark) for role, mark in roles.items()}
    end = mark_id(tokenizer, END)
    tokens: list[int] = []
    learned: list[bool] = []
    said_at: list[int] = []
    contents = tokenizer.encode_batch_fast([text_of(turn) for turn in turns])
    for turn, content in zip(turns, contents, strict=True):
        tokens += [marks[turn["role"]], *content.ids, end]
        if turn["role"] == "user":
            said_at.append(len(tokens) - 1)
        learn = turn["role"] == "assistant" and turn["learn"]
        learned += [False] + [learn] * (len(content.ids) + 1)
    said = [turn["content"] for turn in turns if turn["role"] == "user"]
    return Example(tokens, learned, said, said_at)


def collate(examples: Sequence[Example], padding: int) -> Batch:
    """Pad the examples to the longest."""
    length = max(len(example.tokens) for example in examples)
    tokens = torch.full((len(examples), length), padding)
    learned = torch.zeros(len(examples), length, dtype=torch.bool)
    for row, example in enumerate(examples):
        tokens[row, : len(example.tokens)] = torch.tensor(example.tokens)
        learned[row, : len(example.tokens)] = torch.tensor(example.learned)
    now = learned.flatten().nonzero().squeeze(1)
    said = [text for example in examples for text in example.said]
    said_at = [row * length + at for row, example in enumerate(examples) for at in example.said_at]
    return Batch(tokens, now - 1, tokens.flatten()[now], said, torch.tensor(said_at))


def batches(
    tokenizer: Tokenizer, conversations: Iterable[Sequence[Message]], max_tokens: int, seed: int
) -> Iterator[Batch]:
    """Yield batches of conversations of similar length, of at most `max_tokens` tokens including padding."""
    order = random.Random(seed)
    padding = mark_id(tokenizer, END)
    stream = iter(conversations)
    while pool := [encode(tokenizer, turns) for turns in islice(stream, 1024)]:
        pool.sort(key=lambda example: len(example.tokens))
        groups: list[list[Example]] = [[]]
        for example in pool:
            if (len(groups[-1]) + 1) * len(example.tokens) > max_tokens and groups[-1]:
                groups.append([])
            groups[-1].append(example)
        order.shuffle(groups)
        for group in groups:
            yield collate(group, padding)
