"""Capture of codes of letters and digits: a booking, an order, a number plate, a postcode."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from audio.recognizers import Spelling
from voiceagent.agents.capture.corrections import correct_text, spell_out
from voiceagent.agents.capture.linking_words import without_linking_words
from voiceagent.agents.capture.numbers import symbols_with_zeros
from voiceagent.agents.capture.symbols import symbols_of, without_openings
from voiceagent.agents.capture.task import Circumstances, Heard, Task
from voiceagent.text_normalization.languages import word_set

_GROUP = re.compile(r"\b(?:(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z\d]+|[A-Z]{2,3})\b")
"""Letters and digits that a recognizer has written as one: "LS1", "BX"."""


_SAME = 3
"""First characters by which a code that is too long with the part before it is that part, said again; and
letters of a group that may be written as a word.
"""
_SMALL_WORDS = word_set(
    "ah all am an and any are as at be bit but by can code did do eh er for from get go got had has have "
    "he her hey hi him his hm how id if in is it its let man me mm my new no nor not now of off oh ok on "
    "one or our out pin put say see she sir so the then to too try two uh um up us was way we who why yep "
    "yes yet you"
)
"""English words that short, which are said before a code and are no group of it: "and 1 2 3"."""


@dataclass(frozen=True)
class Code(Task[str]):
    """A code of letters and digits, in capitals and without signs between them: "BX7492".

    Args:
        lengths: Possible numbers of characters; () for any.
    """

    lengths: tuple[int, ...] = ()
    asks_for: ClassVar[Spelling] = "code"

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[str]:
        """Parse a group of characters and add it to the draft. Most of a turn must be spelled."""
        plain = without_linking_words(_GROUP.sub(lambda group: " ".join(group[0]), text), now.language)
        symbols = symbols_with_zeros(without_openings(plain, now.language), now)
        spelled = "".join(one.text for one in symbols if one.kind in ("letter", "digits")).upper()
        whole = "".join(one.text for one in symbols if one.kind in ("letter", "digits", "word")).upper()
        words = [one.text for one in symbols if one.kind == "word"]
        is_group = [len(word) <= _SAME and word.lower() not in _SMALL_WORDS for word in words]
        if spelled and now.language == "en" and len(whole) in self.lengths and all(is_group):
            spelled = whole  # "Ec 4v, 5bj"
        elif len(words) > len(spelled) // 2:
            spelled = ""
        too_long = bool(self.lengths) and len(draft + spelled) > max(self.lengths)
        again = too_long and (len(spelled) in self.lengths or spelled[:_SAME] == draft[:_SAME])
        return self._checked(spelled if again else draft + spelled, now)

    def press(self, keys: str, now: Circumstances) -> Heard[str]:
        """Parse digits that were pressed."""
        return self._checked(keys, now)

    def _checked(self, code: str, now: Circumstances) -> Heard[str]:
        if self.lengths and len(code) > max(self.lengths):
            return Heard(fault=now.words.prompts.invalid.format(spell_out(code.lower(), now.words, False)))
        if code and (not self.lengths or len(code) in self.lengths):
            return Heard(code, code)
        return Heard(draft=code)

    def second_guess(self, refused: str, now: Circumstances) -> str | None:
        """Return the code with an eight for its only A, or an A for its only eight: they sound alike."""
        if now.language != "en" or refused.count("A") + refused.count("8") != 1:
            return None
        return refused.translate({ord("A"): "8", ord("8"): "A"})

    def read_back(self, value: str, now: Circumstances, careful: bool) -> str:
        """Return the code letter by letter."""
        return spell_out(value.lower(), now.words, careful)

    def correct(self, value: str, text: str, now: Circumstances) -> str | None:
        """Return the code with a character changed, or another code."""
        symbols = symbols_of(without_openings(text, now.language), now.language)
        if sum(len(one.text) for one in symbols if one.kind in ("letter", "digits")) > len(value) // 2 + 1:
            return self.hear(text, "", now).value
        changed = correct_text(value.lower(), text, now)
        return None if changed is None else self._checked(changed.upper(), now).value
