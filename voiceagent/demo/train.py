"""Train the demo model from its data to every file that is shipped: `python -m voiceagent.demo.train`.

Stopped and started again, it goes on where it was. The same seed gives the same model on the same machine.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

import torch
from tokenizers import Tokenizer

from voiceagent.demo.chat import END
from voiceagent.demo.data.conversations import Message, conversations, questions
from voiceagent.demo.data.exchanges import Exchange
from voiceagent.demo.training.batches import Batch, batches
from voiceagent.demo.training.convert import convert_to_ctranslate2, save_checkpoint
from voiceagent.demo.training.eagle import HeadPlan, load_llama, save_head, train_head
from voiceagent.demo.training.learner import Lesson, Teacher
from voiceagent.demo.training.loop import Plan, train
from voiceagent.demo.training.network import Llama, Shape
from voiceagent.demo.training.predecessor import Predecessor
from voiceagent.demo.training.semantics import MEANING_SIZE, common_words, embed, meanings, sentences
from voiceagent.demo.training.tokenizer import mark_id, train_tokenizer
from voiceagent.demo.training.tool_lessons import system_tokens, tool_lessons
from voiceagent.demo.training.variants import EXCHANGED_WORDS, reworded, variants
from voiceagent.demo.world import system_prompt

WEIGHTS = Path(__file__).parent / "weights"
HEAD_STEPS = 220
"""Of the EAGLE-3 head."""

_VOCABULARY = 5120
_COMMON_WORDS = 3000
_COMMON_WORDS_TIMES = 20  # as often each word is read beside the conversations
_SENTENCE_TOKENS = 4096  # of sentences whose meanings are taught, a step, as long as nothing else is
_SENTENCE_TOKENS_BESIDE = 1536  # the conversations
_READING = 20 / 35  # of the target's steps, in which it learns nothing else
_TOKENIZER_CONVERSATIONS = 20_000
_TARGET = Plan(
    Shape(vocabulary=0, hidden=256, layers=4, heads=4, feed_forward=1024, tied=False),
    steps=3500,
    seed=1,
    embedding_share=0.1,
)
_TRANSCRIBED_SHARE = 0.75  # of its weights in those that are shipped; the others are the ones it began with
_TRANSCRIBED = replace(_TARGET, steps=2400, seed=3, learning_rate=2e-3, decay=0.6, start="target")
_TOOLS = replace(
    _TARGET,
    steps=2300,
    seed=11,
    tokens_per_step=2560,
    learning_rate=1.2e-3,
    warmup=0.025,
    decay=0.45,
    start="joined",
)
# The same, by where the weights are; of the others all. With all of it everywhere 2 % of the facts are lost.
_TOOLS_SHARES = {"embed_tokens": 0.0, "layers.0": 0.4, "layers.1": 0.6, "layers.2": 0.75}
_LAST_LAYER = replace(
    _TOOLS,
    steps=450,
    seed=13,
    learning_rate=8e-4,
    warmup=0.05,
    decay=0.7,
    start="mixed",
    last_layers=1,
)
_UNASKED = replace(_LAST_LAYER, steps=700, seed=22, learning_rate=5e-4, start="last_layer", last_layers=2)
_UNASKED_SHARE = 0.9  # of its weights, as of the fourth part's
_DRAFT = Plan(Shape(vocabulary=0, hidden=128, layers=2, heads=2, feed_forward=352), steps=600, seed=2)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m voiceagent.demo.train", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path(".train"), help="where checkpoints are kept")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="where the models are written")
    parser.add_argument("--target-steps", type=int, default=_TARGET.steps)
    parser.add_argument("--transcribed-steps", type=int, default=_TRANSCRIBED.steps)
    parser.add_argument("--tool-steps", type=int, default=_TOOLS.steps)
    parser.add_argument("--last-layer-steps", type=int, default=_LAST_LAYER.steps)
    parser.add_argument("--unasked-steps", type=int, default=_UNASKED.steps)
    parser.add_argument("--draft-steps", type=int, default=_DRAFT.steps)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
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

    tokenizer = _tokenizer(options.work)
    target, transcribed, tools, last_layer, unasked, draft = (
        replace(_with_vocabulary(plan, tokenizer), steps=steps)
        for plan, steps in (
            (_TARGET, options.target_steps),
            (_TRANSCRIBED, options.transcribed_steps),
            (_TOOLS, options.tool_steps),
            (_LAST_LAYER, options.last_layer_steps),
            (_UNASKED, options.unasked_steps),
            (_DRAFT, options.draft_steps),
        )
    )
    run = partial(train, system=system_tokens(tokenizer), work=options.work, device=options.device)
    teacher = _teacher(target, tokenizer)
    general = run("target", target, _target_lessons(target, tokenizer), teacher=teacher)
    lessons = _transcribed_lessons(transcribed, tokenizer)
    special = run("transcribed", transcribed, lessons, teacher=teacher)
    joined = between(general, special, _TRANSCRIBED_SHARE)
    taught = _with_tools(joined, (tools, last_layer, unasked), tokenizer, options.work, run)
    export(taught, "target", tokenizer, options.out)
    small = run("draft", draft, map(Lesson, _answers(draft, tokenizer, reworded)))
    export(small, "draft", tokenizer, options.out)


def _with_tools(
    model: Llama, plans: Sequence[Plan], tokenizer: Tokenizer, work: Path, run: Callable[..., Llama]
) -> Llama:
    """The model after what it learns of tools and of instructions that are not its own, as the first plan
    says. What is understood comes back to what it was, and the last layer learns on, as the second says; then
    the last two, as the third does.
    """
    known = copy.deepcopy(model)
    before = Predecessor(known, system_tokens(tokenizer))
    torch.save({"model": model.state_dict()}, work / "joined.pt")
    others, (tools, last_layer, unasked) = variants(), plans
    taught = run("tools", tools, tool_lessons(tools, tokenizer, others), system=None, predecessor=before)
    torch.save({"model": between(known, taught, _TOOLS_SHARES).state_dict()}, work / "mixed.pt")
    lessons = tool_lessons(last_layer, tokenizer, others)
    calling = run("last_layer", last_layer, lessons, system=None, predecessor=before)
    lessons = tool_lessons(unasked, tokenizer, others)
    quiet = run("unasked", unasked, lessons, system=None, predecessor=before)
    return between(calling, quiet, _UNASKED_SHARE)


@torch.no_grad()
def between(general: Llama, special: Llama, share: float | Mapping[str, float]) -> Llama:
    """`special`, which went on from `general`, with weights that share of the way between them: what it
    unlearned comes back, what it learned stays (Wortsman et al., Robust fine-tuning, 2022). share: of all, or
    by how names of weights begin; of those that are not named all.
    """
    shares = {"": share} if isinstance(share, float) else share
    for start, (name, end) in zip(general.parameters(), special.named_parameters(), strict=True):
        of_these = next((value for begin, value in shares.items() if name.startswith(begin)), 1.0)
        end.copy_(torch.lerp(start, end, of_these))
    return special


def make_head(target: Path, out: Path) -> None:
    """Train an EAGLE-3 head for the model of a checkpoint, in bfloat16 as the model is."""
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


def _target_lessons(plan: Plan, tokenizer: Tokenizer) -> Iterator[Lesson]:
    """Sentences alone, then conversations with some beside them."""
    alone = _sentences(tokenizer, _SENTENCE_TOKENS, plan.seed)
    before = (Lesson(None, batch) for batch in islice(alone, round(_READING * plan.steps)))
    beside = _sentences(tokenizer, _SENTENCE_TOKENS_BESIDE, plan.seed + 1)
    return chain(before, map(Lesson, _answers(plan, tokenizer, reworded), beside))


def _transcribed_lessons(plan: Plan, tokenizer: Tokenizer) -> Iterator[Lesson]:
    """Conversations, many questions of which are misheard, with sentences beside them."""
    beside = _sentences(tokenizer, _SENTENCE_TOKENS_BESIDE, plan.seed)
    return map(Lesson, _answers(plan, tokenizer, variants), beside)


def _answers(plan: Plan, tokenizer: Tokenizer, others: Callable[[], tuple[Exchange, ...]]) -> Iterator[Batch]:
    """Batches of conversations. The `others` among them are made when the first is wanted."""
    turns = conversations("train", plan.seed, others())
    yield from batches(tokenizer, turns, plan.tokens_per_step, plan.seed)


def _sentences(tokenizer: Tokenizer, max_tokens: int, seed: int) -> Iterator[Batch]:
    """Batches of sentences of the callers' kind, without answers."""
    texts = sentences(questions(seed), common_words(EXCHANGED_WORDS), seed)
    alone: Iterator[tuple[Message]] = (({"role": "user", "content": text, "learn": False},) for text in texts)
    return batches(tokenizer, alone, max_tokens, seed)


def _teacher(plan: Plan, tokenizer: Tokenizer) -> Teacher:
    """MiniLM, for the words and for sentences."""
    start = meanings(tokenizer, plan.shape.vocabulary, plan.shape.hidden, plan.seed)
    return Teacher(embed, MEANING_SIZE, start)


if __name__ == "__main__":
    torch.set_flush_denormal(
        True
    )  # numbers next to zero are slow on a CPU; whoever else runs here may want them
    main()
