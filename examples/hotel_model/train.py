"""Train the demo model from its data to every file that is shipped: `python -m examples.hotel_model.train`.

An interrupted run continues where it stopped. The same seed yields the same model on the same machine.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Tokenizer

from examples.hotel_model.chat import END
from examples.hotel_model.data.conversations import conversations
from examples.hotel_model.training.ahead import made_ahead
from examples.hotel_model.training.convert import convert_to_ctranslate2, save_checkpoint
from examples.hotel_model.training.eagle import HeadPlan, load_llama, save_head, train_head
from examples.hotel_model.training.learner import Lesson, Teacher
from examples.hotel_model.training.lessons import lessons, system_tokens
from examples.hotel_model.training.loop import Plan, train
from examples.hotel_model.training.network import Llama, Shape
from examples.hotel_model.training.semantics import MEANING_SIZE, common_words, embed, meanings
from examples.hotel_model.training.tokenizer import mark_id, train_tokenizer
from examples.hotel_model.training.variants import variants
from voiceagent.demo import WEIGHTS
from voiceagent.demo.world import system_prompt

HEAD_STEPS = 220
"""Training steps of the EAGLE-3 head."""

_VOCABULARY = 5120
_COMMON_WORDS = 3000
_COMMON_WORDS_TIMES = 20  # as often each word is read beside the conversations
_READING = 0.3  # of the target's steps, in which it learns what sentences mean and nothing else
_TOKENIZER_CONVERSATIONS = 20_000
_TARGET = Plan(
    Shape(vocabulary=0, hidden=256, layers=4, heads=4, feed_forward=1024, tied=False),
    steps=3940,
    seed=1,
    tokens_per_step=11_200,
    warmup=0.025,
    decay=0.34,
    embedding_share=0.1,
)
_DRAFT = Plan(
    Shape(vocabulary=0, hidden=128, layers=2, heads=2, feed_forward=352),
    steps=600,
    seed=2,
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.hotel_model.train", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(".train"), help="where checkpoints are kept")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where the models are written")
    parser.add_argument("--target-steps", type=int, default=_TARGET.steps)
    parser.add_argument("--draft-steps", type=int, default=_DRAFT.steps)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument(
        "--processes",
        type=int,
        help="that make lessons ahead; 0 for none (default: none for a CPU, else those that leave 4 cores)",
    )
    parser.add_argument(
        "--eagle3",
        type=Path,
        metavar="FOLDER",
        help="train only an EAGLE-3 head for the model that stands in --out, and write it here (not shipped)",
    )
    options = parser.parse_args(arguments)
    if options.eagle3 is not None:
        make_head(options.out / "target", options.eagle3)
        return
    options.work.mkdir(parents=True, exist_ok=True)
    processes = options.processes
    if processes is None:
        processes = 0 if options.device == "cpu" else max(1, (os.cpu_count() or 1) - 4)

    tokenizer = _tokenizer(options.work)
    target, draft = (
        replace(_with_vocabulary(plan, tokenizer), steps=steps)
        for plan, steps in ((_TARGET, options.target_steps), (_DRAFT, options.draft_steps))
    )
    run = partial(train, work=options.work, device=options.device)
    taught = run(
        "target", target, _lessons(target, tokenizer, processes), teacher=_teacher(target, tokenizer)
    )
    export(taught, "target", tokenizer, options.out)
    answers = (each._replace(sentences=None) for each in _lessons(draft, tokenizer, processes, reading=0.0))
    export(run("draft", draft, answers), "draft", tokenizer, options.out)


def _lessons(plan: Plan, tokenizer: Tokenizer, processes: int, reading: float = _READING) -> Iterator[Lesson]:
    """Yield lessons: first sentences alone, then conversations with some sentences."""
    others, alone = variants(), round(reading * plan.steps)

    def made(process: int, of: int) -> Iterator[Lesson]:
        steps, seed = range(process, plan.steps, of), 1000 * plan.seed + process
        return lessons(tokenizer, plan.tokens_per_step, steps, alone, seed, others)

    return made_ahead(made, processes)


def make_head(target: Path, out: Path) -> None:
    """Train an EAGLE-3 head for a checkpoint's model, in bfloat16 like the model."""
    tokenizer, model = Tokenizer.from_file(str(target / "tokenizer.json")), load_llama(target)
    plan = HeadPlan(model.shape, steps=HEAD_STEPS, seed=5, tokens_per_step=1024)
    head = train_head(plan, model, tokenizer, system_tokens(tokenizer))
    save_head(head, mark_id(tokenizer, END), out, torch.bfloat16)


def export(model: Llama, name: str, tokenizer: Tokenizer, out: Path) -> None:
    """Write a model's checkpoint to `out/name`, and the target's int8 form to `out/ct2`."""
    save_checkpoint(model, tokenizer, out / name, torch.bfloat16)
    if name == "target":
        convert_to_ctranslate2(out / name, out / "ct2")


def _tokenizer(work: Path) -> Tokenizer:
    """Return the tokenizer kept in `work`; train it if there is none."""
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
    """Return the plan with room for all tokens, in multiples of 64."""
    size = -(-tokenizer.get_vocab_size() // 64) * 64
    return replace(plan, shape=replace(plan.shape, vocabulary=size))


def _teacher(plan: Plan, tokenizer: Tokenizer) -> Teacher:
    """Return MiniLM as the teacher of words and sentences."""
    start = meanings(tokenizer, plan.shape.vocabulary, plan.shape.hidden, plan.seed)
    return Teacher(embed, MEANING_SIZE, start)


if __name__ == "__main__":
    # Subnormal numbers are slow on a CPU. Set here only: code that imports this module may need them.
    torch.set_flush_denormal(True)
    main()
