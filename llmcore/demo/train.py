"""Train the demo model from its data to every file that is shipped: `python -m llmcore.demo.train`.

Stopped and started again, it goes on where it was. The same seed gives the same model on the same machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from llmcore.demo.chat import render
from llmcore.demo.conversations import conversations
from llmcore.demo.convert import convert_to_ctranslate2, save_checkpoint
from llmcore.demo.tokenizer import train_tokenizer
from llmcore.demo.training.batches import batches
from llmcore.demo.training.loop import Plan, train
from llmcore.demo.training.network import Llama, Shape
from llmcore.demo.training.semantics import common_words, meanings
from llmcore.demo.world import system_prompt

WEIGHTS = Path(__file__).parent / "weights"

_VOCABULARY = 5120
_COMMON_WORDS = 3000
_COMMON_WORDS_TIMES = 20  # as often each word is read beside the conversations
_TOKENIZER_CONVERSATIONS = 20_000
_TARGET = Plan(
    Shape(vocabulary=0, hidden=256, layers=4, heads=4, feed_forward=1024, tied=False), steps=1750, seed=1
)
_DRAFT = Plan(Shape(vocabulary=0, hidden=128, layers=2, heads=2, feed_forward=352), steps=600, seed=2)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m llmcore.demo.train", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(".train"), help="where checkpoints are kept")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where the models are written")
    parser.add_argument("--target-steps", type=int, default=_TARGET.steps)
    parser.add_argument("--draft-steps", type=int, default=_DRAFT.steps)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_flush_denormal(True)  # numbers next to zero are slow on a CPU

    tokenizer = _tokenizer(options.work)
    for name, plan, steps in (
        ("target", _TARGET, options.target_steps),
        ("draft", _DRAFT, options.draft_steps),
    ):
        model = _train(name, replace(_with_vocabulary(plan, tokenizer), steps=steps), tokenizer, options)
        export(model, name, tokenizer, options.out)


def export(model: Llama, name: str, tokenizer: Tokenizer, out: Path) -> None:
    """Write a model's checkpoint to `out/name`, and the target's int8 form to `out/ct2`."""
    save_checkpoint(model, tokenizer, out / name, torch.bfloat16)
    if name == "target":
        convert_to_ctranslate2(out / name, out / "ct2")


def system_tokens(tokenizer: Tokenizer) -> Tensor:
    """The system prompt as every call starts with it: [1, length]."""
    text = render([{"role": "system", "content": system_prompt()}], add_generation_prompt=False)
    return torch.tensor([tokenizer.encode(text).ids])


def _tokenizer(work: Path) -> Tokenizer:
    """The tokenizer kept in `work`, trained now if there is none."""
    path = work / "tokenizer.json"
    if not path.exists():
        train_tokenizer(_texts(), _VOCABULARY).save(str(path))
    return Tokenizer.from_file(str(path))


def _texts() -> Iterator[str]:
    yield system_prompt()
    for word in common_words(_COMMON_WORDS) * _COMMON_WORDS_TIMES:
        yield f" {word}"
    for turns in islice(conversations("train", seed=0), _TOKENIZER_CONVERSATIONS):
        for turn in turns:
            yield turn["content"]


def _with_vocabulary(plan: Plan, tokenizer: Tokenizer) -> Plan:
    """The plan with room for all tokens, in whole vectors of 64."""
    size = -(-tokenizer.get_vocab_size() // 64) * 64
    return replace(plan, shape=replace(plan.shape, vocabulary=size))


def _train(name: str, plan: Plan, tokenizer: Tokenizer, options: argparse.Namespace) -> Llama:
    stream = batches(tokenizer, conversations("train", plan.seed), plan.tokens_per_step, plan.seed)
    shape = plan.shape
    embedding = None if shape.tied else meanings(tokenizer, shape.vocabulary, shape.hidden, plan.seed)
    prompt = system_tokens(tokenizer)
    return train(name, plan, stream, prompt, options.work, options.device, embedding)


if __name__ == "__main__":
    main()
