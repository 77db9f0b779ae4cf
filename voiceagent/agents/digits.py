"""An entry of digits, pressed or said."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.moment import asks_for_moment, without_moments
from voiceagent.conversation.words import sentences_of
from voiceagent.session.agent import ToolFailed
from voiceagent.text_normalization.spoken_digits import digits_of


@dataclass(slots=True)
class DigitEntry:
    """An entry in progress.

    Attributes:
        count: Number of digits, None for any.
        finish: Key that ends the entry.
        language: ISO 639 code of spoken digits.
        private: the digits are for the agent's code alone.
        digits: Digits so far.
        complete: The entry is over.
    """

    count: int | None
    finish: str
    language: str
    private: bool = False
    digits: str = ""
    complete: bool = False

    @property
    def missing(self) -> tuple[int, ...]:
        """Number of missing digits, in the form of `dictation`: () for any number."""
        return () if self.count is None else (self.count - len(self.digits),)

    def press(self, key: str) -> None:
        """Handle a key; `*` clears the entry."""
        if key == self.finish:
            self.complete = True
        elif key == "*":
            self.digits = ""
        elif key.isdecimal():
            self._add(key)

    def say(self, text: str) -> None:
        """Handle speech. A request for a moment is ignored.

        Raises:
            ToolFailed: It has no digits, or there are too many now.
        """
        sentences, language = sentences_of(text), language_of(self.language)
        said = digits_of(" ".join(without_moments(sentences, language)), self.language)
        if not said and asks_for_moment(sentences, language):
            return
        if not said:
            words = "something else" if self.private else text
            raise ToolFailed(f"the caller gave no digits, but said: {words}")
        self._add(said)
        if self.count is not None and len(self.digits) > self.count:
            raise ToolFailed(f"the caller said {len(self.digits)} digits; wanted: {self.count}; ask again")

    def time_is_up(self) -> None:
        """End the entry after a pause.

        Raises:
            ToolFailed: Digits are missing.
        """
        if self.count is None and self.digits:
            self.complete = True
            return
        missing = "" if self.count is None else f" of {self.count}"
        raise ToolFailed(f"the caller entered {len(self.digits)}{missing} digits and no more; ask again")

    def result(self) -> str:
        """Return the digits of a complete entry.

        Raises:
            ToolFailed: The caller ended it too early.
        """
        if not self.digits or (self.count is not None and len(self.digits) < self.count):
            wanted = "some" if self.count is None else self.count
            raise ToolFailed(f"the caller entered {len(self.digits)} digits; wanted: {wanted}; ask again")
        return self.digits

    def _add(self, digits: str) -> None:
        self.digits += digits
        self.complete = self.count is not None and len(self.digits) >= self.count
