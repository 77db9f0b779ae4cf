"""The dialogue of all tasks: ask, read back, correct, give up. Words, keys and silence in, steps out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from audio.recognizers import Spelling
from voiceagent.agents.capture.choices import answer_of
from voiceagent.agents.capture.symbols import symbols_of, without_openings
from voiceagent.agents.capture.task import Circumstances, Heard, Task
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.moment import asks_for_moment
from voiceagent.conversation.words import sentences_of, words_of

MAX_ROUNDS = 4
"""Times that a value is refused or not understood before the agent gives up."""
MAX_SILENCES = 3
"""Silences in a row before the agent gives up."""
MAX_CHARACTERS = 1_000
"""Characters of a turn that are parsed: typed ones may be longer, and parsing takes quadratic time."""

_MIN_WORD = 3
"""Letters of a word of a value that is spelled again, at least."""
_MISHEARD_NO = re.compile(
    r"^\W*(?:(?:(?:i|you)\W+)?(?:know|now|no)(?=\W*$|\W+at\b)|know(?=\W+it['’]?s\b))", re.I
)
"""Texts that English recognizers write for "no", alone or before a value: "Now at oak dot com", "Know its".
"""
_SAYS_NAME = ("name", "nombre", "llamo", "heiße")
"""Words that introduce a whole name, in any language: "my name is", "me llamo"."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """Speak this text, "" for nothing, and listen. dictated: the caller dictates in groups with pauses.
    spelled: see `Flush.spelling`.
    """

    text: str
    dictated: bool
    spelled: Spelling = ""


@dataclass(frozen=True, slots=True)
class Captured(Generic[T]):
    """The end. value: None if the caller gave up."""

    value: T | None


class Dialogue(Generic[T]):
    """One task in progress.

    Attributes:
        corrections: times that the caller refused or changed a value that was read back.
    """

    def __init__(self, task: Task[T], now: Circumstances) -> None:
        self._task, self._now = task, now
        self._value: T | None = None  # read back, and not confirmed yet
        self._open: T | None = None  # whole, unless more of it follows
        self._refused_values: set[T] = set()
        self._said_again: set[T] = set()  # by a caller who refused it, and then said the same
        self._draft = self._keys = ""
        self._wrong_part = ""  # of the value, as the caller calls it
        self._asked = task.question
        self._rounds = self._silences = self._mere_refusals = self.corrections = 0

    @property
    def value(self) -> T | None:
        """The value that was read back and awaits an answer, None if there is none."""
        return self._value

    @property
    def pauses(self) -> bool:
        """True if a short silence ends what was said so far."""
        return self._open is not None

    @property
    def answers(self) -> tuple[str, ...]:
        """Phrases that answer the newest question even over its last words; () unless it asks for a yes."""
        if self._value is None and not self._task.yes_or_no:
            return ()
        return tuple(sorted(" ".join(phrase) for phrase in self._now.words.yes))

    def begin(self) -> Ask:
        """Return the question."""
        return Ask(self._task.question, self._task.dictated, self._spelled)

    def on_words(self, text: str) -> Ask | Captured[T]:
        """Handle a turn of the caller."""
        text = text[:MAX_CHARACTERS]
        tokens, words = words_of(text), self._now.words
        if not tokens or asks_for_moment(sentences_of(text), language_of(self._now.language)):
            return self._listen()
        self._silences = 0
        confirming = self._value is not None
        if tokens in words.give_up and not (tokens in words.no and (confirming or not self._task.confirm)):
            return Captured(None)
        if tokens in words.repeat:
            return self._repeated()
        return (
            self._on_answer(text)
            if confirming
            else self._on_value(self._task.hear(text, self._draft, self._now))
        )

    def on_key(self, key: str) -> Ask | Captured[T]:
        """Handle a key: `#` ends an entry, `*` clears it. Once a value was read back, 1 and `#`
        confirm it, and other keys refuse it. A to D, which some telephones have, are ignored.
        """
        self._silences = 0
        if key not in "0123456789*#":
            return self._listen()
        if self._value is not None:
            return Captured(self._value) if key in "1#" else self._refused()
        self._keys = "" if key == "*" else self._keys + key.rstrip("#")
        heard: Heard[T] = self._task.press(self._keys, self._now) if self._keys else Heard()
        self._open = heard.value if heard.open else None
        if key != "#" and not heard.fault and (heard.value is None or heard.open):
            return self._listen()
        return self._on_value(replace(heard, open=False))

    def on_silence(self) -> Ask | Captured[T]:
        """Handle a silence. A number that may be complete is read back. Otherwise ask again, for the rest of
        a number if a part is known, and give up after `MAX_SILENCES`.
        """
        if self._open is not None:
            return self._read_back(self._open)
        self._silences += 1
        if self._silences >= MAX_SILENCES:
            return Captured(None)
        return self._repeated()

    def _on_value(self, heard: Heard[T]) -> Ask | Captured[T]:
        if heard.fault:  # which may quote the value
            return self._failed(self._now.words.prompts.again if self._task.private else heard.fault)
        grown = heard.draft != self._draft
        self._draft = heard.draft
        self._open = heard.value if heard.open else None
        if self._open is not None:
            return self._listen()
        if heard.value is not None:
            return self._on_refused_again(heard.value) or self._read_back(heard.value)
        if grown:
            self._asked = heard.prompt or self._asked
            return self._ask(heard.prompt) if heard.prompt else self._listen()
        return self._ask_again(None)

    def _on_answer(self, text: str) -> Ask | Captured[T]:
        """Handle the answer to a value that was read back."""
        assert self._value is not None  # the state of the dialogue
        if self._now.language == "en":
            text = _MISHEARD_NO.sub("no", text)
        answer = answer_of(text, self._now.words)
        if answer is not None and answer[0]:
            return Captured(self._value)
        rest = text if answer is None else answer[1]
        said = _after_no(text, self._now) if answer else rest
        corrected = self._task.correct(self._value, self._of_wrong_part(said), self._now)
        if corrected is not None and corrected != self._value and corrected not in self._refused_values:
            self.corrections += 1
            self._refused_values.add(self._value)
            return self._read_back(corrected) if self._counted() else Captured(None)
        if corrected is None and (part := self._task.refused_part(rest, self._now)):
            self.corrections += 1
            self._wrong_part = part
            return self._ask(self._now.words.prompts.spell) if self._counted() else Captured(None)
        same = answer is not None and corrected == self._value and self._says_value(rest)
        if same and self._value not in self._said_again:
            self.corrections += 1
            self._said_again.add(self._value)
            return self._read_back(self._value) if self._counted() else Captured(None)
        if answer is None and not self._has_example(text):
            return self._ask(self._now.words.prompts.yes_or_no) if self._counted() else Captured(None)
        return self._refused()

    def _of_wrong_part(self, text: str) -> str:
        """Return an answer with the label of the part that was called wrong; unchanged if it says more than
        that part again ("it's Tom Hull", "my name is Jon Hull"), or is a question.
        """
        said = without_openings(text, self._now.language)
        again = words_of(said)
        opening = set(words_of(text.removesuffix(said)))
        whole = len(again) > 1 and not opening.isdisjoint(_SAYS_NAME)
        repeats = not set(again).isdisjoint(words_of(str(self._value)))
        asks = text.rstrip().endswith("?")
        return text if not self._wrong_part or whole or repeats or asks else f"{self._wrong_part} {said}"

    def _says_value(self, text: str) -> bool:
        """Return True if a text is the value that was read back, or all or a word of it, spelled."""
        if self._task.hear(text, "", self._now).value == self._value:
            return True
        letters = "".join(symbol.text for symbol in symbols_of(text, self._now.language))
        words = words_of(str(self._value).replace("_", " "))
        return len(letters) >= _MIN_WORD and letters in (*words, "".join(words))

    def _has_example(self, text: str) -> bool:
        """Return True for a letter with an example: it refuses a value wherever it belongs, although the
        "no" before it may be misheard.
        """
        return any(symbol.sure for symbol in symbols_of(text, self._now.language))

    def _refused(self) -> Ask | Captured[T]:
        """Forget the value that was read back; offer another that is as likely, or ask again."""
        assert self._value is not None  # the state of the dialogue
        self.corrections += 1
        self._mere_refusals += 1
        self._refused_values.add(self._value)
        refused, self._value = self._value, None
        guess = self._task.second_guess(refused, self._now)
        if guess is not None and guess not in self._refused_values and not self._said_again:
            return self._read_back(guess) if self._counted() else Captured(None)
        return self._ask_again(refused)

    def _ask_again(self, refused: T | None) -> Ask | Captured[T]:
        """Ask again for a value, or for the part of it that may be wrong, or give up."""
        again = self._task.ask_again(refused, self._draft, self._now, self._mere_refusals > 1)
        return self._failed(again.prompt, again.draft)

    def _on_refused_again(self, value: T) -> Ask | Captured[T] | None:
        """Ask for another spelling if the caller has refused this value, once: a second time it is right, and
        was refused by mistake. None if it was not refused.
        """
        if value not in self._refused_values:
            return None
        self._refused_values.discard(value)
        prompts = self._now.words.prompts
        return self._failed(prompts.by_words if self._task.spelled else prompts.again)

    def _failed(self, prompt: str, draft: str = "") -> Ask | Captured[T]:
        """Ask again for all but the part that is known, or give up."""
        self._draft, self._keys, self._open = draft, "", None
        return self._ask(prompt) if self._counted() else Captured(None)

    def _counted(self) -> bool:
        """Count a round. Return False if there have been too many."""
        self._rounds += 1
        return self._rounds < MAX_ROUNDS

    def _read_back(self, value: T) -> Ask | Captured[T]:
        self._draft, self._keys, self._open = "", "", None
        if not self._task.confirm or (self._task.private and not self._task.masked):
            return Captured(value)
        self._value, self._wrong_part = value, ""
        careful = self.corrections > 0
        return self._ask(
            self._now.words.prompts.confirm.format(self._task.read_back(value, self._now, careful))
        )

    def _repeated(self) -> Ask:
        """Return the newest question again; within a number, the part that is known. The agent's words are
        stored, so a private number is asked for from its beginning.
        """
        if self._task.private and self._value is None:
            self._draft, self._keys, self._open, self._asked = "", "", None, self._task.question
        if self._value is None and self._task.digits and self._draft:
            return Ask(self._now.words.prompts.more.format(" ".join(self._draft)), self._task.dictated)
        return Ask(self._asked, self._dictated, self._spelled)

    def _ask(self, text: str) -> Ask:
        self._asked = text
        return Ask(text, self._dictated, self._spelled)

    def _listen(self) -> Ask:
        return Ask("", self._dictated, self._spelled)

    @property
    def _spelled(self) -> Spelling:
        """Kind of spelling in the next answer: that of the question, if all of it is asked for; after the
        first answer, letters.
        """
        later = self._asked != self._task.question
        if self._task.asks_for and self._value is None and not self._draft:
            return "spelled email" if later and self._task.asks_for == "email" else self._task.asks_for
        if not self._task.asks_for and not (self._task.spelled and later):
            return ""
        return self._task.spelling_of_rest(self._draft)

    @property
    def _dictated(self) -> bool:
        return self._task.dictated and (self._value is None or bool(self._wrong_part))


def _after_no(text: str, now: Circumstances) -> str:
    """Return a text without the "no" at its beginning, with its punctuation, which spelling needs."""
    rest = text.strip()
    for phrase in sorted(now.words.no, key=len, reverse=True):
        length = len(rest)
        lowered = rest.lower().replace("’", "'")
        spoken = " ".join(phrase)
        if lowered.startswith(spoken) and not lowered[len(spoken) : len(spoken) + 1].isalnum():
            return rest[min(length, len(spoken)) :].lstrip(" ,.!;:-") or ""
    return rest
