"""Digits that the caller is asked for, pressed or said, as one entry. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.moment import asks_for_moment, beside_moments
from voiceagent.conversation.words import sentences_of
from voiceagent.session.agent import ToolFailed
from voiceagent.text_normalization.spoken_digits import digits_of


@dataclass(slots=True)
class DigitEntry:
    """What has been entered so far. count: how many digits are wanted, None for any number. finish: the key
    that ends the entry. language: of the words, an ISO 639 code. digits: those so far. complete: no more are
    waited for.
    """

    count: int | None
    finish: str
    language: str
    digits: str = ""
    complete: bool = False

    @property
    def missing(self) -> tuple[int, ...]:
        """How many digits are still wanted, as dictation has it: () for any number."""
        return () if self.count is None else (self.count - len(self.digits),)

    def press(self, key: str) -> None:
        """The caller pressed a key; `*` takes back what there is."""
        if key == self.finish:
            self.complete = True
        elif key == "*":
            self.digits = ""
        elif key.isdecimal():
            self._add(key)

    def say(self, text: str) -> None:
        """The caller has said something; who asks for a moment is given one. Raises ToolFailed where it has
        no digit, or too many have come.
        """
        sentences, language = sentences_of(text), language_of(self.language)
        said = digits_of(" ".join(beside_moments(sentences, language)), self.language)
        if not said and asks_for_moment(sentences, language):
            return
        if not said:
            raise ToolFailed(f"the caller gave no digits, but said: {text}")
        self._add(said)
        if self.count is not None and len(self.digits) > self.count:
            raise ToolFailed(f"the caller said {len(self.digits)} digits; wanted: {self.count}; ask again")

    def time_is_up(self) -> None:
        """Nothing more comes. Raises ToolFailed where that is not enough."""
        if self.count is None and self.digits:
            self.complete = True
            return
        missing = "" if self.count is None else f" of {self.count}"
        raise ToolFailed(f"the caller entered {len(self.digits)}{missing} digits and no more; ask again")

    def result(self) -> str:
        """The digits of a complete entry. Raises ToolFailed where the caller ended it too early."""
        if not self.digits or (self.count is not None and len(self.digits) < self.count):
            wanted = "some" if self.count is None else self.count
            raise ToolFailed(f"the caller entered {len(self.digits)} digits; wanted: {wanted}; ask again")
        return self.digits

    def _add(self, digits: str) -> None:
        self.digits += digits
        self.complete = self.count is not None and len(self.digits) >= self.count
