"""A CTranslate2 generator that keeps the state of prompt prefixes, within a budget.

CTranslate2 keeps the state of a "static prompt" and skips it when the same one comes again: whole, and from
the first token on. It never forgets one, so here the generator is loaded anew (milliseconds) when the budget
is spent; replies that still run keep the old one until they end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ctranslate2  # type: ignore[import-untyped]  # ships no types
import numpy as np

OnToken = Callable[[int], bool]
"""Told each new token's id, in the engine's thread; returns true to stop."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: the tokens of the prompt that were not computed, and the tokens written."""

    cached_tokens: int
    written_tokens: int


class PrefixKeepingModel:
    """One model, shared by threads.

    load: makes a generator; may be called again, from any thread. tokens: the vocabulary by id. end_ids: what
    ends a reply. max_kept_tokens: the budget, over all prefixes.
    """

    def __init__(
        self,
        load: Callable[[], ctranslate2.Generator],
        tokens: Sequence[str],
        end_ids: Sequence[int],
        max_kept_tokens: int,
    ) -> None:
        self._load = load
        self._tokens = tokens
        self._end_ids = list(end_ids)
        self._max_kept_tokens = max_kept_tokens
        self._lock = threading.Lock()
        self._generator = load()
        self._kept: set[tuple[int, ...]] = set()

    @property
    def kept_tokens(self) -> int:
        """The length of all kept prefixes."""
        with self._lock:
            return sum(map(len, self._kept))

    def run(
        self, prompt: list[int], keep: list[int], max_tokens: int, temperature: float, on_token: OnToken
    ) -> Outcome:
        """Write up to `max_tokens` after `prompt`, blocking.

        keep: the beginning of the prompt whose state is kept for later, unless a longer one is already there;
        it is shorter than the prompt. The end token is passed to `on_token` too.
        """
        # held by this name to the end: a new one may take its place for others meanwhile
        generator, prefix, known = self._choose(tuple(prompt), tuple(keep))
        written = 0

        def callback(step: ctranslate2.GenerationStepResult) -> bool:
            nonlocal written
            written += 1
            return on_token(step.token_id)

        # greedy
        options: dict[str, Any] = {"sampling_topk": 1}
        if temperature > 0:
            options = {"sampling_topk": 0, "sampling_temperature": temperature}
        if prefix:
            options |= {"static_prompt": self._texts(prefix), "cache_static_prompt": True}
        generator.generate_batch(
            [self._texts(prompt[len(prefix) :])],
            include_prompt_in_result=False,
            max_length=max_tokens,
            end_token=self._end_ids,
            callback=callback,
            **options,
        )
        self._remember(generator, prefix)
        return Outcome(len(prefix) if known else 0, written)

    def log_probability(self, prompt: list[int], tokens: Sequence[int]) -> float:
        """Return the logarithm of the probability that one of `tokens` follows `prompt`, blocking.

        No more state is kept.
        """
        generator, prefix, _ = self._choose(tuple(prompt), ())
        options = {"static_prompt": self._texts(prefix), "cache_static_prompt": True} if prefix else {}
        (result,) = generator.generate_batch(
            [self._texts(prompt[len(prefix) :])],
            include_prompt_in_result=False,
            max_length=1,
            end_token=self._end_ids,
            return_logits_vocab=True,
            sampling_topk=1,
            **options,
        )
        logits = np.asarray(result.logits[0][0], np.float64)
        most = logits.max()
        chances = np.exp(logits - most)
        chance = chances[list(tokens)].sum() / chances.sum()
        return float(np.log(max(chance, np.finfo(np.float64).tiny)))

    def known_beginning(self, prompt: Sequence[int]) -> int:
        """How many leading tokens of `prompt` a run would not have to compute."""
        with self._lock:
            return len(self._longest(tuple(prompt)))

    def _choose(
        self, prompt: tuple[int, ...], keep: tuple[int, ...]
    ) -> tuple[ctranslate2.Generator, tuple[int, ...], bool]:
        """The generator to run on, the prefix to give it as static prompt, and whether its state is kept."""
        with self._lock:
            longest = self._longest(prompt)
            if len(longest) >= len(keep):
                return self._generator, longest, bool(longest)
            if len(keep) > self._max_kept_tokens:
                return self._generator, (), False
            if len(keep) + sum(map(len, self._kept)) > self._max_kept_tokens:
                self._generator, self._kept = self._load(), set()
            return self._generator, keep, False

    def _longest(self, prompt: tuple[int, ...]) -> tuple[int, ...]:
        # shorter: one token at least must be read for the model to run
        matching = (kept for kept in self._kept if len(kept) < len(prompt) and prompt[: len(kept)] == kept)
        return max(matching, key=len, default=())

    def _remember(self, generator: ctranslate2.Generator, prefix: tuple[int, ...]) -> None:
        with self._lock:
            if prefix and generator is self._generator:
                # only now: nobody else may count on it while it is computed
                self._kept.add(prefix)

    def _texts(self, ids: Sequence[int]) -> list[str]:
        return [self._tokens[token_id] for token_id in ids]
