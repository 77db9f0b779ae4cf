"""Train the demo model from its data to every file that is shipped: `python -m llmcore.demo.train`.

Stopped and started again, it goes on where it was. The same seed gives the same model on the same machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain, count, islice
from pathlib import Path
from random import Random

import torch
from tokenizers import Tokenizer
from torch import Tensor

from llmcore.demo.chat import render
from llmcore.demo.conversations import Message, conversations
from llmcore.demo.convert import convert_to_ctranslate2, save_checkpoint
from llmcore.demo.exchanges import Caller, Exchange
from llmcore.demo.labelled import is_held_out
from llmcore.demo.phrases import questions
from llmcore.demo.tokenizer import train_tokenizer
from llmcore.demo.training.batches import Batch, batches
from llmcore.demo.training.learner import Lesson, Teacher
from llmcore.demo.training.loop import Plan, train
from llmcore.demo.training.network import Llama, Shape
from llmcore.demo.training.paraphrases import Thesaurus, paraphrases
from llmcore.demo.training.semantics import MEANING_SIZE, common_words, embed, meanings
from llmcore.demo.training.sentences import sentences
from llmcore.demo.world import system_prompt

WEIGHTS = Path(__file__).parent / "weights"

_VOCABULARY = 5120
_COMMON_WORDS = 3000
_COMMON_WORDS_TIMES = 20  # as often each word is read beside the conversations
_EXCHANGED_WORDS = 20_000  # the commonest, of which sentences are made whose meaning is taught
_SENTENCE_TOKENS = 4096  # of such sentences a step, as long as the model learns nothing else
_SENTENCE_TOKENS_BESIDE = 1536  # the conversations
_READING = 20 / 35  # of the target's steps, in which it learns nothing else
_PARAPHRASES = 40_000  # and the seed they are made with
_SAID_BACK = ("room", "stay", "people", "long", "day", "time", "date")  # slots
_TOKENIZER_CONVERSATIONS = 20_000
_TARGET = Plan(
    Shape(vocabulary=0, hidden=256, layers=4, heads=4, feed_forward=1024, tied=False),
    steps=3500,
    seed=1,
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
    taught = name == "target"
    lessons = _lessons(plan, tokenizer, taught=taught)
    teacher = _teacher(plan, tokenizer) if taught else None
    return train(name, plan, lessons, system_tokens(tokenizer), options.work, options.device, teacher)


def _lessons(plan: Plan, tokenizer: Tokenizer, *, taught: bool) -> Iterator[Lesson]:
    """Conversations; if there is a teacher, sentences alone before them, and some beside them."""
    answers = _answers(plan, tokenizer)
    if not taught:
        return map(Lesson, answers)
    alone = _sentences(tokenizer, _SENTENCE_TOKENS, plan.seed)
    beside = _sentences(tokenizer, _SENTENCE_TOKENS_BESIDE, plan.seed + 1)
    before = (Lesson(None, batch) for batch in islice(alone, round(_READING * plan.steps)))
    return chain(before, map(Lesson, answers, beside))


def _answers(plan: Plan, tokenizer: Tokenizer) -> Iterator[Batch]:
    """Batches of conversations. The paraphrases among them are made when the first is wanted."""
    turns = conversations("train", plan.seed, _paraphrases())
    yield from batches(tokenizer, turns, plan.tokens_per_step, plan.seed)


@cache
def _paraphrases() -> tuple[Exchange, ...]:
    """The training questions that need no history with other words, none of them held out."""
    caller = Caller("train", Random(_PARAPHRASES))
    values = caller.data.slot_values("train")
    fixed = frozenset(word for slot in _SAID_BACK for value in values[slot] for word in value.split())
    words = Thesaurus(common_words(_EXCHANGED_WORDS), embed)
    said = paraphrases((caller.alone() for _ in count()), fixed, words, embed, _PARAPHRASES)
    return tuple(islice((each for each in said if not is_held_out(each.question)), _PARAPHRASES))


def _sentences(tokenizer: Tokenizer, most_tokens: int, seed: int) -> Iterator[Batch]:
    """Batches of sentences of the callers' kind, without answers."""
    texts = sentences(questions(seed), common_words(_EXCHANGED_WORDS), seed)
    alone: Iterator[tuple[Message]] = (({"role": "user", "content": text, "learn": False},) for text in texts)
    return batches(tokenizer, alone, most_tokens, seed)


def _teacher(plan: Plan, tokenizer: Tokenizer) -> Teacher:
    """MiniLM, for the words and for sentences."""
    start = meanings(tokenizer, plan.shape.vocabulary, plan.shape.hidden, plan.seed)
    return Teacher(embed, MEANING_SIZE, start)


if __name__ == "__main__":
    main()
