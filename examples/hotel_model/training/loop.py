"""The training loop: resumable, and deterministic for a seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from tqdm import tqdm  # type: ignore[import-untyped]  # ships no types

from examples.hotel_model.training.learner import Learner, Lesson, Teacher
from examples.hotel_model.training.network import Llama, Shape
from examples.hotel_model.training.optimizer import bfloat16_is_fast

SAVE_EVERY = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """Training parameters of a model.

    tokens_per_step: maximum, padding included. warmup, decay: shares of the steps in which the learning rate
    rises from 0 and falls to 0; it is `learning_rate` between. embedding_share: factor of the embedding's
    rate: a low one preserves an embedding initialized from meanings.
    """

    shape: Shape
    steps: int
    seed: int
    tokens_per_step: int = 4096
    learning_rate: float = 3e-3
    warmup: float = 0.03
    decay: float = 0.2
    embedding_share: float = 1.0

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        done = step / self.steps
        return self.learning_rate * min(1.0, (done + 1 / self.steps) / self.warmup, (1 - done) / self.decay)


def train(
    name: str,
    plan: Plan,
    lessons: Iterator[Lesson],
    work: Path,
    device: str = "cpu",
    teacher: Teacher | None = None,
) -> Llama:
    """Train a model, or continue from the checkpoint `work/name.pt`, which is kept up to date.

    lessons: of all steps from the first on, the same in every run.
    """
    torch.manual_seed(plan.seed)
    learner = Learner(plan.shape, plan.learning_rate, device, teacher, plan.embedding_share)
    path = work / f"{name}.pt"
    done = learner.restore(path)
    if done >= plan.steps:
        return learner.model  # avoids preparing lessons only to skip them
    with tqdm(total=plan.steps, initial=done, desc=name, unit="step", mininterval=10) as bar:
        for step, lesson in enumerate(islice(lessons, done, plan.steps), done):
            torch.manual_seed(plan.seed * 1_000_003 + step)  # so that a resumed run has the same dropout
            with torch.autocast(device, torch.bfloat16, enabled=bfloat16_is_fast(device)):
                loss = learner.loss(_on(device, lesson))
            learner.update(loss, plan.rate(step))
            bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
            bar.update()
            if (step + 1) % SAVE_EVERY == 0 or step + 1 == plan.steps:
                learner.save(path, step + 1)
    return learner.model


def _on(device: str, lesson: Lesson) -> Lesson:
    """Return the lesson's batches on a torch device."""
    conversations, sentences = (part and part.to(device) for part in lesson[:2])
    return Lesson(conversations, sentences, None if lesson.system is None else lesson.system.to(device))
