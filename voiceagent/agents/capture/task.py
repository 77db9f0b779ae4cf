"""Interface between the tasks of `capture` and the dialogue that all share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Generic, TypeVar

from audio.recognizers import Spelling
from voiceagent.agents.capture.languages import CaptureLanguage, capture_language

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Facts of the call by which its words are parsed.

    Attributes:
        language: ISO 639 code.
        now: The server's local time.
    """

    language: str
    now: datetime

    @property
    def words(self) -> CaptureLanguage:
        """Words of the language."""
        return capture_language(self.language)


@dataclass(frozen=True, slots=True)
class Heard(Generic[T]):
    """Result of parsing one turn.

    Attributes:
        value: The complete value; None if it is not complete.
        draft: The part that is known.
        prompt: Asks for the missing part; "" waits for it.
        fault: Why a complete value is invalid, as a text for the caller.
        open: The value may continue, as a number of unknown length; a pause ends it.
    """

    value: T | None = None
    draft: str = ""
    prompt: str = ""
    fault: str = ""
    open: bool = False


@dataclass(frozen=True)
class Task(ABC, Generic[T]):
    """One thing to capture from the caller, for `AgentCall.ask`.

    Args:
        question: Spoken first.
        private: The caller's words are neither logged, stored, recorded nor sent to the LLM.
        confirm: Read the value back and ask whether it is right; a private value only if its read-back is
            `masked`, as the agent's words are stored and sent to the LLM.
    """

    question: str
    private: bool = False
    confirm: bool = True

    dictated: ClassVar[bool] = True
    """The answer is dictated in groups with pauses."""
    spelled: ClassVar[bool] = True
    """If the answer is not understood, the caller is asked to spell it."""
    asks_for: ClassVar[Spelling] = ""
    """Kind of spelling that the answer to the question is likely to have, for the recognizer."""
    yes_or_no: ClassVar[bool] = False
    """The question asks for a yes or no."""
    masked: ClassVar[bool] = False
    """The read-back does not reveal the value."""

    @property
    def digits(self) -> tuple[int, ...]:
        """Possible lengths of a dictated number; () for anything else."""
        return ()

    @abstractmethod
    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[T]:
        """Parse a turn of the caller.

        Args:
            text: The transcript.
            draft: The part that earlier turns gave, as their `Heard.draft`.
            now: Facts of the call.
        """

    @abstractmethod
    def read_back(self, value: T, now: Circumstances, careful: bool) -> str:
        """Return the value as the agent reads it back.

        Args:
            value: The value.
            now: Facts of the call.
            careful: It was wrong once, so spell it out.
        """

    def ask_again(self, refused: T | None, draft: str, now: Circumstances, careful: bool) -> Heard[T]:
        """Return the question for a value that was wrong, and the part of it that stays, as its `draft`.

        Args:
            refused: The value that the caller has refused; None if nothing was understood.
            draft: The part that earlier turns gave.
            now: Facts of the call.
            careful: Another value was wrong before.
        """
        prompts = now.words.prompts
        if self.spelled:
            return Heard(prompt=prompts.spell)
        return Heard(prompt=prompts.again if refused is not None else prompts.unclear.format(self.question))

    def second_guess(self, refused: T, now: Circumstances) -> T | None:
        """Return the value that the caller probably said in place of a refused one; None unless it is clear.

        Args:
            refused: The value that the caller has refused without a correction.
            now: Facts of the call.
        """
        return None

    def spelling_of_rest(self, draft: str) -> Spelling:
        """Return the kind of spelling that an answer has once a part is known, or the value was read back.

        draft: The part that is known; "" for a value that was read back.
        """
        return self.asks_for if self.asks_for in ("name", "code") else "letters"

    def correct(self, value: T, text: str, now: Circumstances) -> T | None:
        """Return the value after a correction by the caller.

        Args:
            value: As it was read back.
            text: The transcript of the caller's answer to that.
            now: Facts of the call.

        Returns:
            The corrected value; None if the text contains no correction.
        """
        return self.hear(text, "", now).value

    def refused_part(self, text: str, now: Circumstances) -> str:
        """Return the caller's words for the part of a value that is wrong ("the last name"); "" without any.

        Args:
            text: The transcript of the caller's answer to the value.
            now: Facts of the call.
        """
        return ""

    def press(self, keys: str, now: Circumstances) -> Heard[T]:
        """Parse keys that were pressed.

        Args:
            keys: 0 to 9 and `*`, without the `#` that ends the entry.
            now: Facts of the call.
        """
        return Heard()
