"""A model in training: its loss, an optimizer step, and its checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.hotel_model.training.batches import Batch
from examples.hotel_model.training.network import Llama, Shape
from examples.hotel_model.training.optimizer import optimizers


class Lesson(NamedTuple):
    """Training data of a step, at least one of the two.

    conversations: their answers are learned and, with a teacher, the meanings of the callers' turns.
    sentences: only their meanings are learned. system: tokens [1, length] of the instructions before these
    conversations, if they are not included.
    """

    conversations: Batch | None
    sentences: Batch | None = None
    system: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Teacher:
    """Source of the meanings of sentences (Hinton et al., Distilling the knowledge in a network, 2015).

    meanings: maps texts to [texts, size], normalized. start: initial embedding of the model [vocabulary,
    hidden]. weight: of the meanings in the loss, relative to the answers.
    """

    meanings: Callable[[Sequence[str]], Tensor]
    size: int
    start: Tensor
    weight: float = 3.0


class Learner:
    """A model with its training state: optimizers, and the head that predicts meanings from states."""

    def __init__(
        self,
        shape: Shape,
        learning_rate: float,
        device: str = "cpu",
        teacher: Teacher | None = None,
        embedding_share: float = 1.0,
    ) -> None:
        self.model = Llama(shape).to(device)
        self.teacher = teacher
        self.head: nn.Module = nn.Identity()
        if teacher is not None:
            self.model.embed_tokens.weight.data.copy_(teacher.start)
            self.head = nn.Linear(shape.hidden, teacher.size, bias=False, device=device)
        self.optimizers = optimizers(self.model, list(self.head.parameters()), learning_rate, embedding_share)

    def loss(self, lesson: Lesson) -> Tensor:
        """Return the loss of the answers and of the meanings, as far as the lesson has them."""
        losses: list[Tensor] = []
        read: list[tuple[Batch, Tensor]] = []
        if lesson.conversations is not None:
            prefix = None if lesson.system is None else self.model(lesson.system).keys_values
            reading = self.model(lesson.conversations.tokens, prefix)
            losses.append(answer_loss(self.model, lesson.conversations, reading.hidden))
            read.append((lesson.conversations, reading.understood))
        if lesson.sentences is not None:
            self.model.eval()  # no dropout: sentences are not repeated, so none is memorized
            read.append((lesson.sentences, self.model.understand(lesson.sentences.tokens)[0]))
            self.model.train()
        if self.teacher is not None:
            losses.append(self.teacher.weight * self._meaning_loss_of(read, self.teacher))
        return torch.stack(losses).sum()

    def _meaning_loss_of(self, read: Sequence[tuple[Batch, Tensor]], teacher: Teacher) -> Tensor:
        """Return the loss of the meanings of all turns in the batches, given their states."""
        states = torch.cat([states.flatten(0, 1)[batch.said_at] for batch, states in read])
        meanings = teacher.meanings([text for batch, _ in read for text in batch.said])
        return self.meaning_loss(states, meanings.to(states.device))

    def meaning_loss(self, states: Tensor, meanings: Tensor) -> Tensor:
        """Return 1 - cosine between predictions from the states [texts, hidden] and the meanings
        [texts, size].
        """
        told = self.head(functional.rms_norm(states, states.shape[-1:]))
        return (1 - functional.cosine_similarity(told.float(), meanings)).mean()

    def update(self, loss: Tensor, rate: float) -> None:
        """Do one step of the optimizers down the gradient of `loss`."""
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        torch.nn.utils.clip_grad_norm_([*self.model.parameters(), *self.head.parameters()], 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * group["share"]
            optimizer.step()
            optimizer.zero_grad()

    def restore(self, path: Path) -> int:
        """Load the checkpoint `path` if it exists. Return the steps done."""
        if not path.exists():
            return 0
        saved = torch.load(path, weights_only=True)
        self.model.load_state_dict(saved["model"])
        self.head.load_state_dict(saved["head"])
        for optimizer, state in zip(self.optimizers, saved["optimizers"], strict=True):
            optimizer.load_state_dict(state)
        return int(saved["step"])

    def save(self, path: Path, step: int) -> None:
        """Write a checkpoint; a crash meanwhile leaves the previous one."""
        whole = {
            "step": step,
            "model": self.model.state_dict(),
            "head": self.head.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
        }
        torch.save(whole, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)


def answer_loss(model: Llama, batch: Batch, hidden: Tensor) -> Tensor:
    """Return the cross entropy of the target tokens, given hidden states [conversations, length, hidden]."""
    return functional.cross_entropy(model.logits(hidden.flatten(0, 1)[batch.before]), batch.next_tokens)
