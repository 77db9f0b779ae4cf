"""A CTranslate2 generator with a bounded cache of prompt prefixes.

CTranslate2 caches the state of a "static prompt" and reuses it for the same one: whole, and from the first
token on. It never evicts one, so the generator is reloaded (milliseconds) when the budget is spent; replies
in progress keep the old one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ctranslate2  # type: ignore[import-untyped]  # ships no types
import numpy as np

OnToken = Callable[[int], bool]
"""Callback with each new token's id, in the engine's thread; returns True to stop."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a run: prompt tokens taken from the cache, and tokens written."""

    cached_tokens: int
    written_tokens: int


class PrefixKeepingModel:
    """One model, shared by threads.

    load: creates a generator; may be called again, from any thread. tokens: the vocabulary by id. end_ids:
    tokens that end a reply. max_kept_tokens: the cache's budget, over all prefixes.
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
        """Total length of the cached prefixes."""
        with self._lock:
            return sum(map(len, self._kept))

    def run(
        self,
        prompt: list[int],
        cache_prefix: list[int],
        max_tokens: int,
        temperature: float,
        on_token: OnToken,
    ) -> Outcome:
        """Generate up to `max_tokens` after `prompt`, blocking.

        cache_prefix: prefix of the prompt, shorter than it, whose state is cached unless a longer one is
        already. on_token: also called with the end token.
        """
        # a local reference: another thread may replace the generator meanwhile
        generator, prefix, known = self._select_prefix(tuple(prompt), tuple(cache_prefix))
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

        Caches nothing.
        """
        generator, prefix, _ = self._select_prefix(tuple(prompt), ())
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
        peak = logits.max()
        weights = np.exp(logits - peak)
        probability = weights[list(tokens)].sum() / weights.sum()
        return float(np.log(max(probability, np.finfo(np.float64).tiny)))

    def known_beginning(self, prompt: Sequence[int]) -> int:
        """Return how many leading tokens of `prompt` are cached."""
        with self._lock:
            return len(self._longest_cached(tuple(prompt)))

    def _select_prefix(
        self, prompt: tuple[int, ...], cache_prefix: tuple[int, ...]
    ) -> tuple[ctranslate2.Generator, tuple[int, ...], bool]:
        """Return the generator, the prefix to pass as its static prompt, and True if that is cached
        already.
        """
        with self._lock:
            longest = self._longest_cached(prompt)
            if len(longest) >= len(cache_prefix):
                return self._generator, longest, bool(longest)
            if len(cache_prefix) > self._max_kept_tokens:
                return self._generator, (), False
            if len(cache_prefix) + sum(map(len, self._kept)) > self._max_kept_tokens:
                self._generator, self._kept = self._load(), set()
            return self._generator, cache_prefix, False

    def _longest_cached(self, prompt: tuple[int, ...]) -> tuple[int, ...]:
        # shorter than the prompt: the model needs at least one token to run
        matching = (kept for kept in self._kept if len(kept) < len(prompt) and prompt[: len(kept)] == kept)
        return max(matching, key=len, default=())

    def _remember(self, generator: ctranslate2.Generator, prefix: tuple[int, ...]) -> None:
        with self._lock:
            if prefix and generator is self._generator:
                # only after the run: others must not rely on it while it is computed
                self._kept.add(prefix)

    def _texts(self, ids: Sequence[int]) -> list[str]:
        return [self._tokens[token_id] for token_id in ids]
