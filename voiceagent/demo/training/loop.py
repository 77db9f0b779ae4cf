"""The training loop: resumable, and the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm  # type: ignore[import-untyped]  # ships no types

from voiceagent.demo.training.learner import Learner, Lesson, Teacher
from voiceagent.demo.training.network import Llama, Shape
from voiceagent.demo.training.optimizer import bfloat16_is_fast
from voiceagent.demo.training.predecessor import Predecessor

SAVE_EVERY = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """How one model is trained.

    tokens_per_step: at most, padding included. warmup, decay: the shares of the steps in which the
    learning rate rises from 0 and falls to 0; it is `learning_rate` between. system_share: how many of the
    steps with conversations read the system prompt before them; the last tenth of all steps always does.
    Reading it costs half of a step more and teaches little. embedding_share: of the rate, for the embedding:
    a low one where it started from meanings, so that it keeps them. start: the name of another model of the
    same shape, trained before, that this one begins as. last_layers: only so many learn, and what is below
    stays as it began; None for all.
    """

    shape: Shape
    steps: int
    seed: int
    tokens_per_step: int = 4096
    learning_rate: float = 3e-3
    warmup: float = 0.03
    decay: float = 0.2
    system_share: float = 0.25
    embedding_share: float = 1.0
    start: str = ""
    last_layers: int | None = None

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        done = step / self.steps
        return self.learning_rate * min(1.0, (done + 1 / self.steps) / self.warmup, (1 - done) / self.decay)

    def reads_system(self, step: int) -> bool:
        """Whether the conversations of a step follow the system prompt."""
        if step >= 0.9 * self.steps:
            return True
        return random.Random(f"{self.seed}:{step}").random() < self.system_share


def train(
    name: str,
    plan: Plan,
    lessons: Iterator[Lesson],
    system: Tensor | None,
    work: Path,
    device: str = "cpu",
    teacher: Teacher | None = None,
    predecessor: Predecessor | None = None,
) -> Llama:
    """Train a model, or go on from the checkpoint `work/name.pt`, which is kept up to date.

    lessons: those of all steps from the first on, the same in every run. system: the system prompt's tokens
    [1, length]; None where lessons bring theirs. predecessor: what rehearsed lessons are learned from.
    """
    torch.manual_seed(plan.seed)
    learner = Learner(plan.shape, plan.learning_rate, device, teacher, plan.embedding_share, predecessor)
    path = work / f"{name}.pt"
    if plan.last_layers is not None:
        learner.model.keep_below(plan.last_layers)
    done = learner.restore(path)
    if plan.start and not done:
        learner.begin_as(work / f"{plan.start}.pt")
    if done >= plan.steps:
        return learner.model  # no lesson need be made to be skipped
    with tqdm(total=plan.steps, initial=done, desc=name, unit="step", mininterval=10) as bar:
        for step, lesson in enumerate(islice(lessons, done, plan.steps), done):
            torch.manual_seed(plan.seed * 1_000_003 + step)  # so that a resumed run drops the same
            prompt = system if lesson.system is None and plan.reads_system(step) else lesson.system
            with torch.autocast(device, torch.bfloat16, enabled=bfloat16_is_fast(device)):
                loss = learner.loss(_on(device, lesson), prompt if prompt is None else prompt.to(device))
            learner.update(loss, plan.rate(step))
            bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
            bar.update()
            if (step + 1) % SAVE_EVERY == 0 or step + 1 == plan.steps:
                learner.save(path, step + 1)
    return learner.model


def _on(device: str, lesson: Lesson) -> Lesson:
    """The lesson's batches on a device of torch."""
    conversations, sentences = (part and part.to(device) for part in lesson[:2])
    return lesson._replace(conversations=conversations, sentences=sentences)
