"""The training loop: resumable, and the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm  # type: ignore[import-untyped]  # ships no types

from llmcore.demo.training.batches import Batch
from llmcore.demo.training.network import Llama, Shape
from llmcore.demo.training.optimizer import optimizers

_SAVE_EVERY = 50
_SLOW = 0.1


@dataclass(frozen=True, slots=True)
class Plan:
    """How one model is trained.

    tokens_per_step: at most, padding included. warmup, decay: the shares of the steps in which the
    learning rate rises from 0 and falls to 0; it is `learning_rate` between. system_share: of the steps
    before the decay, how many read the system prompt; those of the decay all do. Reading it doubles the
    cost of a step and teaches little.
    """

    shape: Shape
    steps: int
    seed: int
    tokens_per_step: int = 4096
    learning_rate: float = 3e-3
    warmup: float = 0.03
    decay: float = 0.25
    system_share: float = 0.25

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        done = step / self.steps
        return self.learning_rate * min(1.0, (done + 1 / self.steps) / self.warmup, (1 - done) / self.decay)

    def reads_system(self, step: int) -> bool:
        """Whether the conversations of a step follow the system prompt."""
        if step >= (1 - self.decay) * self.steps:
            return True
        return random.Random(f"{self.seed}:{step}").random() < self.system_share


def answer_loss(model: Llama, batch: Batch, system: Tensor | None) -> Tensor:
    """Cross entropy of the learned tokens, read behind the system prompt's tokens [1, length] or without."""
    prefix = None if system is None else model(system)[1]
    hidden: Tensor = model(batch.tokens, prefix)[0]
    return functional.cross_entropy(model.logits(hidden.flatten(0, 1)[batch.before]), batch.next_tokens)


def train(
    name: str,
    plan: Plan,
    stream: Iterator[Batch],
    system: Tensor,
    work: Path,
    device: str = "cpu",
    embedding: Tensor | None = None,
) -> Llama:
    """Train a model, or go on from the checkpoint `work/name.pt`, which is kept up to date.

    stream: the batches from the first step on, the same in every run. system: the system prompt's tokens
    [1, length].
    embedding: what the embedding starts from; then it moves slowly.
    """
    torch.manual_seed(plan.seed)
    model = Llama(plan.shape).to(device)
    if embedding is not None:
        model.embed_tokens.weight.data.copy_(embedding)
    both = optimizers(model, plan.learning_rate, 1.0 if embedding is None else _SLOW)
    path = work / f"{name}.pt"
    start = restore(path, model, both)
    with tqdm(total=plan.steps, initial=start, desc=name, unit="step", mininterval=10) as bar:
        for step, batch in enumerate(islice(stream, start, plan.steps), start):
            torch.manual_seed(plan.seed * 1_000_003 + step)  # so that a resumed run drops the same
            prompt = system.to(device) if plan.reads_system(step) else None
            loss = answer_loss(model, batch.to(device), prompt)
            update(model, both, loss, plan.rate(step))
            bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
            bar.update()
            if (step + 1) % _SAVE_EVERY == 0 or step + 1 == plan.steps:
                save(path, model, both, step + 1)
    return model


def update(model: Llama, both: list[torch.optim.Optimizer], loss: Tensor, rate: float) -> None:
    """One step of the optimizers down the gradient of `loss`."""
    loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in both:
        for group in optimizer.param_groups:
            group["lr"] = rate * group["share"]
        optimizer.step()
        optimizer.zero_grad()


def restore(path: Path, model: Llama, both: list[torch.optim.Optimizer]) -> int:
    """Load the checkpoint `path` if there is one. Returns the steps done."""
    if not path.exists():
        return 0
    saved = torch.load(path, weights_only=True)
    model.load_state_dict(saved["model"])
    for optimizer, state in zip(both, saved["optimizers"], strict=True):
        optimizer.load_state_dict(state)
    return int(saved["step"])


def save(path: Path, model: Llama, both: list[torch.optim.Optimizer], step: int) -> None:
    """Write a checkpoint; a crash in the middle leaves the last one."""
    whole = {"step": step, "model": model.state_dict(), "optimizers": [o.state_dict() for o in both]}
    torch.save(whole, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)
