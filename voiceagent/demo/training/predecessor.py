"""What a model was before it went on learning: where a lesson says so, it is to say what that one says.

Li and Hoiem, Learning without Forgetting, 2017. A model that learns its old answers from their texts alone
keeps the phrasings it is shown and forgets what other words mean; the predecessor tells of any words.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from voiceagent.demo.training.batches import Batch
from voiceagent.demo.training.network import Llama, Reading

_WEIGHT = 2.0  # of both parts in the loss


class Predecessor:
    """The model as it was. system: the instructions' tokens [1, length] that it reads where conversations
    follow any.
    """

    def __init__(self, model: Llama, system: Tensor) -> None:
        self._model = model.eval()
        with torch.no_grad():
            self._prefix = model(system).keys_values

    def loss(self, model: Llama, batch: Batch, reading: Reading, *, behind: bool) -> Tensor:
        """How far `model`, whose `reading` of the batch is given, is from it: by the answers' tokens
        (relative entropy), and by what callers' words are understood as (1 - cosine). behind: the
        conversations follow instructions.
        """
        with torch.no_grad():
            was = self._model(batch.tokens, self._prefix if behind else None)
            wanted = self._logits(self._model, batch, was)
            meant = was.understood.flatten(0, 1)[batch.said_at].float()
        said = functional.kl_div(
            self._logits(model, batch, reading), wanted, log_target=True, reduction="none"
        )
        understood = reading.understood.flatten(0, 1)[batch.said_at].float()
        apart = 1 - functional.cosine_similarity(understood, meant)
        return _WEIGHT * (said.sum(-1).mean() + apart.mean())

    @staticmethod
    def _logits(model: Llama, batch: Batch, reading: Reading) -> Tensor:
        return model.logits(reading.hidden.flatten(0, 1)[batch.before]).float().log_softmax(-1)
