"""Prefill speed of an engine, estimated from completed prompts."""

from __future__ import annotations

MIN_TOKENS = 16
"""Smallest prompt that is used for the estimate."""
WEIGHT = 0.2
"""Weight of the newest measurement in a running mean."""
MIN_LONG_SHARE = 0.25
"""Smallest share of prefill throughput for a long prompt while turns keep arriving."""
RATE_TOKENS = 4000.0
"""Tokens over which the rate is averaged. Weighted by them: most of a short prompt's time is not prefill."""
GUESSED_TOKENS_S = 2_000.0
"""Tokens a second assumed before the first measurement."""
_SHORTEST_S = 1e-4


class PrefillSpeed:
    """Running means over completed prompts.

    slot_s: time for which a prompt that is not long holds its slot. turn_tokens: uncached tokens of a turn's
    prompt.
    """

    def __init__(self) -> None:
        self.slot_s = 0.05
        self.turn_tokens = 50.0
        self._tokens_per_character = 0.25
        self._tokens_s = GUESSED_TOKENS_S
        self._rate = _PrefillRate()

    def tokens(self, characters: int) -> int:
        """Return the estimated tokens of a text of this length."""
        return round(characters * self._tokens_per_character)

    def seconds(self, tokens: float) -> float:
        """Return the estimated prefill time of this many tokens."""
        return tokens / self._tokens_s

    def seconds_under_load(self, tokens: int) -> float:
        """Return the prefill time of this many tokens in an engine that also serves turns."""
        return tokens / (MIN_LONG_SHARE * self._rate.tokens_s)

    def observe_length(self, characters: int, tokens: int) -> None:
        """Record the token count of a text of this length."""
        if tokens and characters:
            self._tokens_per_character = _mean(self._tokens_per_character, tokens / characters)

    def observe(self, tokens: int, took_s: float, concurrent_tokens: int, *, turn: bool, long: bool) -> None:
        """Record a completed prefill of `tokens` uncached tokens.

        concurrent_tokens: tokens of the prompts still in prefill. turn: the prompt was a turn's and did not
        yield. long: it yields to turns.
        """
        took_s = max(took_s, _SHORTEST_S)
        if not long:
            self.slot_s = _mean(self.slot_s, took_s)
        if turn:
            self.turn_tokens = _mean(self.turn_tokens, tokens)
        if tokens < MIN_TOKENS:
            return
        # half of the concurrent tokens, as they were in prefill for a part of the time only
        read = tokens + concurrent_tokens / 2
        self._tokens_s = _mean(self._tokens_s, read / took_s)
        # The time of a prompt that yields includes waiting, so it gives only a lower bound of the rate.
        if turn or read / took_s > self._rate.tokens_s:
            self._rate.observe(read, took_s)


class _PrefillRate:
    """Tokens a second, averaged over the latest tokens rather than over requests."""

    def __init__(self) -> None:
        # The guess has an eighth of the full weight, so that the first prompts soon outweigh it.
        self._tokens, self._took_s = RATE_TOKENS / 8, RATE_TOKENS / 8 / GUESSED_TOKENS_S

    @property
    def tokens_s(self) -> float:
        return self._tokens / self._took_s

    def observe(self, tokens: float, took_s: float) -> None:
        kept = max(0.0, 1 - tokens / RATE_TOKENS)
        self._tokens = kept * self._tokens + tokens
        self._took_s = kept * self._took_s + took_s


def _mean(before: float, newest: float) -> float:
    return (1 - WEIGHT) * before + WEIGHT * newest
