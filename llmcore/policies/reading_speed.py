"""How fast an engine reads prompts, learned from those that it has read. Pure."""

from __future__ import annotations

MIN_TOKENS = 16
"""Reading fewer tells nothing of how fast the engine reads."""
WEIGHT = 0.2
"""The weight of the newest measurement in a running mean."""
LONG_SHARE = 0.25
"""The part of the engine's reading that a long prompt gets at least while turns keep coming."""
RATE_TOKENS = 4000.0
"""Tokens that were read lately and tell the rate; a short prompt, most of whose time is not reading, tells
less of it than a long one."""
GUESSED_TOKENS_S = 2_000.0
"""What is read in a second, until the first prompts have told; so do the other guesses of `ReadingSpeed`."""
_SHORTEST_S = 1e-4


class ReadingSpeed:
    """What the prompts that were read tell of those to come. All are running means.

    slot_s: how long a prompt that is not long holds its slot. turn_tokens: the new tokens of a turn's prompt.
    """

    def __init__(self) -> None:
        self.slot_s = 0.05
        self.turn_tokens = 50.0
        self._tokens_per_character = 0.25
        self._tokens_s = GUESSED_TOKENS_S
        self._rate = _ReadingRate()

    def tokens(self, characters: int) -> int:
        """The tokens of a text of this length."""
        return round(characters * self._tokens_per_character)

    def seconds(self, tokens: float) -> float:
        """How long so many tokens are read."""
        return tokens / self._tokens_s

    def seconds_beside_turns(self, tokens: int) -> float:
        """How long they may be read in an engine that keeps reading turns beside them."""
        return tokens / (LONG_SHARE * self._rate.tokens_s)

    def counted(self, characters: int, tokens: int) -> None:
        """A text so long had so many tokens."""
        if tokens and characters:
            self._tokens_per_character = _mean(self._tokens_per_character, tokens / characters)

    def observe(self, tokens: int, took_s: float, beside: int, *, turn: bool, long: bool) -> None:
        """A prompt with so many new tokens has been read. beside: those of the prompts that are being read
        still. turn: it was a turn's, and did not yield. long: it yields to turns.
        """
        took_s = max(took_s, _SHORTEST_S)
        if not long:
            self.slot_s = _mean(self.slot_s, took_s)
        if turn:
            self.turn_tokens = _mean(self.turn_tokens, tokens)
        if tokens < MIN_TOKENS:
            return
        # half of those beside, as they were read for a part of the time only
        read = tokens + beside / 2
        self._tokens_s = _mean(self._tokens_s, read / took_s)
        # A prompt that yields also waits: it tells only that the engine reads no slower than that.
        if turn or read / took_s > self._rate.tokens_s:
            self._rate.observe(read, took_s)


class _ReadingRate:
    """Tokens a second that the engine reads, in the mean of the latest tokens and not of the requests."""

    def __init__(self) -> None:
        # an eighth of what is remembered: the first prompts soon count for more than the guess
        self._tokens, self._took_s = RATE_TOKENS / 8, RATE_TOKENS / 8 / GUESSED_TOKENS_S

    @property
    def tokens_s(self) -> float:
        return self._tokens / self._took_s

    def observe(self, tokens: float, took_s: float) -> None:
        """The engine has read this many tokens in that time."""
        kept = max(0.0, 1 - tokens / RATE_TOKENS)
        self._tokens = kept * self._tokens + tokens
        self._took_s = kept * self._took_s + took_s


def _mean(before: float, newest: float) -> float:
    return (1 - WEIGHT) * before + WEIGHT * newest
