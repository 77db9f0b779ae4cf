"""Training of the demo model's EAGLE-3 head, and its checkpoint for vLLM."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm  # type: ignore[import-untyped]  # ships no types

from examples.hotel_model.chat import END
from examples.hotel_model.data.conversations import Message, conversations
from examples.hotel_model.training.batches import Batch, batches
from examples.hotel_model.training.convert import llama_config
from examples.hotel_model.training.eagle_head import EagleHead, HeadShape, read
from examples.hotel_model.training.loop import Plan
from examples.hotel_model.training.network import KeysValues, Llama, Shape
from examples.hotel_model.training.optimizer import Muon, bfloat16_is_fast
from examples.hotel_model.training.tokenizer import mark_id

_COUNTED = 3000  # conversations, to know which tokens answers are made of
_FURTHER = 0.8  # how much each token further ahead counts, of the one before it


@dataclass(frozen=True, slots=True)
class HeadPlan(Plan):
    """Training parameters of a head; `shape` is its model's.

    vocabulary: number of tokens it can propose, the most frequent ones in answers. ahead: number of
    consecutive tokens it learns to propose. long_share: share of steps with conversations as long as a step
    allows. system_share: share of steps with the system prompt; the last tenth always has it. It costs half a
    step more and teaches little.
    """

    vocabulary: int = 512
    ahead: int = 3
    long_share: float = 0.2
    system_share: float = 0.25

    def reads_system(self, step: int) -> bool:
        """Return True if the conversations of a step follow the system prompt."""
        return step >= 0.9 * self.steps or Random(f"{self.seed}:{step}").random() < self.system_share


def train_head(plan: HeadPlan, target: Llama, tokenizer: Tokenizer, system: Tensor) -> EagleHead:
    """Train a head for the model, which is frozen; deterministic for a plan and a model.

    system: tokens [1, length] of the system prompt.
    """
    torch.manual_seed(plan.seed)
    target.eval().requires_grad_(requires_grad=False)
    head = EagleHead(HeadShape(target.shape), frequent_tokens(tokenizer, plan.vocabulary), target)
    before = read(target, system, head.shape.after)
    learner = _optimizers(head, plan.learning_rate)
    with tqdm(total=plan.steps, desc="eagle", unit="step", mininterval=10) as bar:
        for step, batch in enumerate(islice(head_lessons(plan, tokenizer), plan.steps)):
            with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16_is_fast("cpu")):
                prefix = None
                if plan.reads_system(step):
                    kept = head.read_prefix(target, system, before.states, batch.tokens[:1, :1])
                    prefix = (before.keys_values, kept)
                loss = proposal_loss(head, target, batch, plan.ahead, prefix)
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            for optimizer in learner:
                for group in optimizer.param_groups:
                    group["lr"] = plan.rate(step)
                optimizer.step()
                optimizer.zero_grad()
            bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
            bar.update()
    return head


def proposal_loss(
    head: EagleHead,
    target: Llama,
    batch: Batch,
    ahead: int,
    prefix: tuple[list[KeysValues], KeysValues] | None = None,
) -> Tensor:
    """Return the cross entropy of `ahead` consecutive proposals with the model's own probabilities, over the
    tokens that the head can propose.

    prefix: keys and values, the model's and the head's, of the tokens before the batch.
    """
    model_prefix, head_prefix = prefix or (None, None)
    known = read(target, batch.tokens, head.shape.after, model_prefix)
    length = batch.tokens.shape[1]
    rows, places = batch.before // length, batch.before % length
    learned = places > 0  # nothing in the batch predicts the second token
    rows, places = rows[learned], places[learned]
    with torch.no_grad():
        wanted = target.logits(known.hidden[rows, places])[:, head.proposed].softmax(-1)
    passes = head.passes(target, batch.tokens, known.states, ahead, head_prefix)
    losses = [
        functional.cross_entropy(head.logits(states[rows, places - 1]), wanted) * _FURTHER**number
        for number, states in enumerate(passes)
    ]
    return torch.stack(losses).sum()


def head_lessons(plan: HeadPlan, tokenizer: Tokenizer) -> Iterator[Batch]:
    """Yield batches of conversations, some of them at the end of a long one."""
    rng = Random(plan.seed)
    short = batches(tokenizer, conversations("train", plan.seed), plan.tokens_per_step, plan.seed)
    long = batches(tokenizer, _long(plan, tokenizer), plan.tokens_per_step, plan.seed)
    while True:
        yield next(long if rng.random() < plan.long_share else short)


def _long(plan: HeadPlan, tokenizer: Tokenizer) -> Iterator[tuple[Message, ...]]:
    """Yield concatenated conversations as long as a step allows."""
    turns: list[Message] = []
    tokens = 0
    for one in conversations("train", plan.seed + 1):
        size = sum(len(tokenizer.encode(turn["content"]).ids) + 2 for turn in one)
        if tokens + size > plan.tokens_per_step:
            yield tuple(turns)
            turns, tokens = [], 0
        turns += one
        tokens += size


def frequent_tokens(tokenizer: Tokenizer, size: int) -> Tensor:
    """Return the `size` most frequent tokens of answers, in order, including the end token."""
    found = Counter({mark_id(tokenizer, END): _COUNTED})
    for turns in islice(conversations("train", seed=0), _COUNTED):
        answers = [turn["content"] for turn in turns if turn["learn"]]
        for encoded in tokenizer.encode_batch_fast(answers):
            found.update(encoded.ids)
    others = (token for token in range(tokenizer.get_vocab_size()) if token not in found)
    chosen = [token for token, _ in found.most_common(size)]
    return torch.tensor(sorted([*chosen, *islice(others, size - len(chosen))]))


def save_head(head: EagleHead, end: int, folder: Path, dtype: torch.dtype) -> None:
    """Write a folder that vLLM loads with `method = "eagle3"`; embedding and tokenizer are the model's.

    end: the token that ends a response.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.to(dtype).contiguous() for name, value in head.named_parameters()}
    weights["d2t"] = head.proposed - torch.arange(len(head.proposed))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    target = head.shape.target
    shape = Shape(target.vocabulary, target.hidden, 1, target.heads, head.shape.feed_forward, tied=False)
    config = llama_config(shape, end, dtype) | {
        "architectures": ["LlamaForCausalLMEagle3"],
        "draft_vocab_size": len(head.proposed),
        "eagle_aux_hidden_state_layer_ids": list(head.shape.after),
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def load_llama(folder: Path) -> Llama:
    """Return the model of a checkpoint written by `convert.save_checkpoint`."""
    config = json.loads((folder / "config.json").read_text())
    shape = Shape(
        config["vocab_size"],
        config["hidden_size"],
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["intermediate_size"],
        config["tie_word_embeddings"],
        config["rope_theta"],
        config["rms_norm_eps"],
    )
    model = Llama(shape)
    weights = load_file(folder / "model.safetensors")
    state = {name.removeprefix("model."): value.float() for name, value in weights.items()}
    if shape.tied:
        state["lm_head.weight"] = state["embed_tokens.weight"]
    model.load_state_dict(state)
    return model.eval()


def _optimizers(head: EagleHead, rate: float) -> list[torch.optim.Optimizer]:
    """Return Muon for the layer's matrices and AdamW for the rest, as for the model."""
    named = [(p.dim() == 2 and name != "lm_head.weight", p) for name, p in head.named_parameters()]
    matrices, rest = ([p for layers, p in named if layers is wanted] for wanted in (True, False))
    muon = Muon(matrices, lr=rate, momentum=0.95, weight_decay=0.1)
    return [muon, torch.optim.AdamW(rest, lr=rate, betas=(0.9, 0.95), weight_decay=0.0)]
