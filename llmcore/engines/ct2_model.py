"""A CTranslate2 generator with a bounded cache of prompt prefixes.

CTranslate2 caches the state of a "static prompt" and reuses it for the same one: whole, and from the first
token on. It never evicts one, so another generator is loaded (milliseconds) when the budget is spent. Before
it takes over, it computes the prefixes that others begin with: every call begins with its agent's
instructions, so that all would wait for them. Replies in progress keep the old one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import ctranslate2  # type: ignore[import-untyped]  # ships no types
import numpy as np

Prefix = tuple[int, ...]
"""Tokens that a prompt begins with."""
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
        self._kept: set[Prefix] = set()
        self._reloading = False

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
        self, prompt: Prefix, cache_prefix: Prefix
    ) -> tuple[ctranslate2.Generator, Prefix, bool]:
        """Return the generator, the prefix to pass as its static prompt, and True if that is cached."""
        with self._lock:
            longest = self._longest_cached(prompt)
            size = len(cache_prefix)
            fits = size + sum(map(len, self._kept)) <= self._max_kept_tokens
            if len(longest) >= size or (not fits and (self._reloading or size > self._max_kept_tokens)):
                return self._generator, longest, bool(longest)
            if fits:
                return self._generator, cache_prefix, False
            self._reloading = True
        return self._reload(room_for=size), cache_prefix, False

    def _reload(self, room_for: int) -> ctranslate2.Generator:
        """Replace the generator and return the new one. room_for: tokens of the budget to leave free."""
        try:
            with self._lock:
                again = _common_beginnings(self._kept)
            if sum(map(len, again)) + room_for > self._max_kept_tokens:
                again = set()
            generator = self._load()
            for prefix in again:
                generator.generate_batch(
                    [self._texts(prefix[-1:])],
                    max_length=1,
                    static_prompt=self._texts(prefix),
                    cache_static_prompt=True,
                )
            with self._lock:
                self._generator, self._kept = generator, again
            return generator
        finally:
            self._reloading = False

    def _longest_cached(self, prompt: Prefix) -> Prefix:
        # shorter than the prompt: the model needs at least one token to run
        matching = (kept for kept in self._kept if len(kept) < len(prompt) and prompt[: len(kept)] == kept)
        return max(matching, key=len, default=())

    def _remember(self, generator: ctranslate2.Generator, prefix: Prefix) -> None:
        with self._lock:
            if prefix and generator is self._generator:
                # only after the run: others must not rely on it while it is computed
                self._kept.add(prefix)

    def _texts(self, ids: Sequence[int]) -> list[str]:
        return [self._tokens[token_id] for token_id in ids]


def _common_beginnings(kept: Collection[Prefix]) -> set[Prefix]:
    """Return the prefixes that others begin with, and that begin with no other."""

    def begins(prefix: Prefix, other: Prefix) -> bool:
        return len(prefix) < len(other) and other[: len(prefix)] == prefix

    return {
        prefix
        for prefix in kept
        if any(begins(prefix, other) for other in kept) and not any(begins(other, prefix) for other in kept)
    }
