"""Incremental parser that separates spoken words from thoughts and tool calls in a model's text.

It holds back only text that may begin a mark, and only until the next character decides; behind a mark of a
thought within a sentence, until the thought's end. The result does not depend on how the text is cut into
pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from llmcore.text.control_marks import (
    BARE_HARMONY,
    BARE_HEADER,
    BARE_PREFIXES,
    MARK,
    PREFIXES,
    REGIONS,
    SPECIAL_TOKEN,
    SPECIAL_TOKEN_BEGINS,
    STARTED_IN_THOUGHT,
    TRIGGERS,
    is_inner_thought,
    may_be_word,
)
from llmcore.text.known_calls import Found, Verdict
from llmcore.text.open_regions import OpenRegion
from llmcore.text.reply_parts import Part, ReplyCalls, SpokenParts
from llmcore.text.tool_calls import MalformedToolCall, new_call_id
from llmcore.text.unmarked_calls import begins_call, is_certain, is_explained, names_in_words, region_after

_LONG_CALL = 256
"""Length in characters beyond which a call is parsed again only if the new piece may end it."""
_CALL_BEGINS = tuple("{[`<")
"""First characters of a call without a mark, except those of a tool's name."""
_MAY_END = re.compile(r"[}\])>`<|]")


class ControlText:
    """Parser of one reply's text.

    names: names of known tools; their calls need no mark. parameters: see `Known`. wanted: pass on calls; if
    False, they are removed. any_name: treat JSON as a call whatever its name. in_thought: the prompt has
    already opened a thought. doubtful: the first words may be a thought with only an end mark; hold them back
    until that mark or `release`.
    """

    def __init__(
        self,
        names: Iterable[str] = (),
        *,
        parameters: Mapping[str, Sequence[str]] = MappingProxyType({}),
        wanted: bool = True,
        any_name: bool = False,
        in_thought: bool = False,
        doubtful: bool = False,
        new_id: Callable[[], str] = new_call_id,
    ) -> None:
        self._names = frozenset(names)
        self._name_in_words, self._name_beginnings, self._may_call = names_in_words(self._names)
        self._calls = ReplyCalls(self._names, parameters, wanted=wanted, any_name=any_name, new_id=new_id)
        self._region: OpenRegion | None = OpenRegion(STARTED_IN_THOUGHT) if in_thought else None
        self._pending = ""
        self._has_begun = False
        self._ended = False
        self._is_behind_call = False  # what follows a call decides whether it is one
        self._is_behind_mark = False  # what follows a mark decides whether it is a word
        self._out = SpokenParts(doubtful)
        # fast paths: plain words, or plain text of a thought
        self._in_plain_words = self._in_plain_thought = False
        self.unopened = False
        """True once a thought without a beginning has ended."""

    def push(self, text: str) -> list[Part]:
        """Parse the next piece. Raises MalformedToolCall."""
        if self.try_pass(text):
            return [Part(text)]
        if self._in_plain_thought and TRIGGERS.search(text) is None:
            return [Part(thought=text)] if text else []
        self._pending += text
        waits_for_words = self._is_behind_call or self._is_behind_mark
        if len(self._pending) > _LONG_CALL and not waits_for_words and not _MAY_END.search(text):
            return []
        while self._step():
            pass
        held_back = self._pending or self._out.after_region or self.held_words is not None
        self._in_plain_words = self._has_begun and self._region is None and not held_back
        self._in_plain_thought = (
            self._region is not None
            and self._region.region.kind == "thought"
            and not self._pending
            and self._region.region is not BARE_HARMONY["analysis"]  # its end has no trigger
        )
        return self._out.pop_parts()

    def try_pass(self, text: str) -> bool:
        """Return True if the next piece, like most, can pass unchanged as words, and record it then."""
        if not self._in_plain_words or not text or self._may_call(text):
            return False
        if (last := text[-1]) == " ":
            self._out.record(text)
        else:  # most pieces; without a call, as each token comes here
            self._out.last = last
        return True

    @property
    def held_words(self) -> list[str] | None:
        """Words held back as a possible thought; None if there is no doubt."""
        return self._out.held_words

    def release(self) -> list[Part]:
        """Return the words held back as a possible thought, and stop holding back."""
        return self._out.release()

    def finish(self, cut: bool = False) -> list[Part]:
        """End the reply, and return the rest. cut: by the token limit; an unfinished call is no error then.

        Raises MalformedToolCall.
        """
        self._ended = True
        if self._is_behind_call or self._is_behind_mark:
            while self._step():
                pass
        pending, self._pending = self._pending, ""
        region, self._region = self._region, None
        if region is None:
            self._finish_words(pending, cut)
        elif pending and region.region.kind == "thought":
            self._out.add(Part(thought=pending))
        elif pending and region.region.kind == "words":
            self._add_words(pending)
        elif region.region.kind == "call" and not region.has_call:
            try:
                self._add_calls(self._calls.between_marks(pending))
            except MalformedToolCall:
                if not cut:
                    raise
        return [*self.release(), *self._out.pop_parts()]

    def _finish_words(self, pending: str, cut: bool) -> None:
        """Add the words that were held back, unless they are a call without its end, or a special token's
        beginning. Raises MalformedToolCall.
        """
        begin = pending.lstrip()
        verdict = self._judge(begin, at_start=not self._has_begun) if begin else "text"
        if cut and (verdict == "begun" or (verdict == "open" and begin.startswith(_CALL_BEGINS))):
            return
        if verdict == "begun":
            self._add_calls(self._calls.at_end(begin, not self._has_begun, self._out.ends_sentence))
        elif len(pending) <= 2 or not SPECIAL_TOKEN_BEGINS.match(pending):
            self._add_words(pending)

    # ---- one step each: False if it needs more text

    def _step(self) -> bool:
        return self._read_words() if self._region is None else self._read_region(self._region)

    def _read_words(self) -> bool:
        before = self._pending
        if not self._has_begun and self._read_start():
            return bool(self._pending) and self._pending != before
        found = TRIGGERS.search(self._pending)
        at = found.start() if found else len(self._pending)
        name = self._find_name(at)
        if name is not None:
            return self._read_name(*name)
        self._add_words(self._pending[:at])
        self._pending = self._pending[at:]
        return found is not None and self._read_trigger()

    def _find_name(self, before: int) -> tuple[int, int] | None:
        """Return the start and end of a tool's name, or of its beginning at the end of the text."""
        text = self._pending
        in_word = self._out.last not in ("", " ")
        found = self._name_in_words.search(text, 1 if in_word else 0)
        if found is not None and found.start() < before:
            return found.span()
        words = text.rstrip(" ")
        start = words.rfind(" ") + 1
        begins = before == len(text) and words[start:] in self._name_beginnings
        return (start, len(text)) if begins and (start or not in_word) else None

    def _read_name(self, start: int, end: int) -> bool:
        """Parse a call that may begin with a tool's name among words."""
        self._add_words(self._pending[:start])
        self._pending = text = self._pending[start:]
        name, before = text[: end - start], self._region
        if len(name) == len(text.rstrip(" ")):
            return False  # only what follows decides
        if self._read_unmarked(text):
            return self._region is not before
        self._add_words(name)
        self._pending = text[len(name) :]
        return bool(self._pending)

    def _read_start(self) -> bool:
        """Parse a call at the start of the reply or a line, or after a region, where it may begin with its
        name; or a header of harmony without marks. Return True for one, or a prefix.
        """
        start = self._pending.lstrip()
        if not start:
            return bool(self._names)
        if (start[0].isalpha() or start[0] in "*_/@$>") and self._names and self._read_first_word(start):
            return True
        if start[0] in "{[`" and self._names and self._read_unmarked(start, at_start=True):
            return True
        self._has_begun = True
        return False

    def _read_first_word(self, start: str) -> bool:
        """Parse the header, mark or name that begins a call or thought. Return True for one, or a prefix."""
        if header := BARE_HEADER.match(start):
            self._region = OpenRegion(BARE_HARMONY[header["header"]])
            self._has_begun, self._pending = True, start[header.end() :]
            return True
        if mark := MARK.match(start):
            self._open_region(mark[0], start[mark.end() :])
            return True
        return (
            start in BARE_PREFIXES or start.lower() in PREFIXES or self._read_unmarked(start, at_start=True)
        )

    def _read_unmarked(self, text: str, at_start: bool = False) -> bool:
        """Parse a call without a mark at the front of `text`. Return True for one, or for a prefix.

        at_start: see `judge`.
        """
        self._is_behind_call = False
        verdict = self._judge(text, at_start)
        if verdict == "text":
            return False
        if isinstance(verdict, str):  # open or begun
            return True
        end, calls = verdict
        if calls and not is_certain(text[:end], at_start):
            begins_sentence = at_start or self._out.ends_sentence
            explained = is_explained(text[end:], self._names, self._ended, begins_sentence)
            self._is_behind_call = explained is None
            if explained is not False:
                return explained is None
        self._add_calls(self._calls.made_of(calls, text[:end]))
        self._has_begun = True
        self._region, self._pending = OpenRegion(region_after(text), has_call=True), text[end:]
        return True

    def _judge(self, text: str, at_start: bool = False) -> Verdict | Found:
        return self._calls.judge(text, at_start, self._out.ends_sentence)

    def _read_trigger(self) -> bool:
        """Parse a mark, or a call without one, at the front of the pending text."""
        text = self._pending
        if text[0] == "\n":
            self._add_words("\n")
            self._has_begun, self._pending = False, text[1:]
            return bool(self._pending)
        mark = MARK.match(text)
        if mark:
            is_word = self._is_word(mark[0], text[mark.end() :])
            self._is_behind_mark = is_word is None
            if is_word is None:
                return False
            if not is_word:
                self._open_region(mark[0], text[mark.end() :])
                return True
        if text.lower() in PREFIXES:
            return False
        if token := SPECIAL_TOKEN.match(text):
            self._close_region(text[token.end() :])
            return True
        if SPECIAL_TOKEN_BEGINS.match(text):
            return False
        if text[0] in _CALL_BEGINS and self._calls.may_be_unmarked:
            before, tag_of_line = self._region, text[0] == "<" and self._out.last in ("", "\n")
            if self._read_unmarked(text, at_start=tag_of_line):
                return self._region is not before
        self._add_words(text[0])
        self._pending = text[1:]
        return bool(self._pending)

    def _is_word(self, mark: str, behind: str) -> bool | None:
        """Return True if a mark is a word, None if that depends on the text after it."""
        in_doubt = self.held_words is not None and mark.startswith("</")  # it may end a thought
        if in_doubt or not may_be_word(mark, self._out.last, self._out.ends_sentence):
            return False
        if REGIONS[mark.lower()].kind == "thought":
            inner = is_inner_thought(mark, behind, self._ended)
            return None if inner is None else not inner
        if REGIONS[mark.lower()].kind != "call":
            return True
        begins = begins_call(behind, self._names)
        return None if begins is None else not begins

    def _open_region(self, mark: str, rest: str) -> None:
        region = REGIONS[mark.lower()]
        self._has_begun, self._pending = True, rest
        if region.kind == "unopened":
            self.unopened = True
            self._out.end_doubt()
            self._close_region(rest)
        elif region.closings or region.kind == "call":
            self._region = OpenRegion(region)
        else:
            self._close_region(rest)

    def _close_region(self, rest: str) -> None:
        self._has_begun, self._region, self._pending = False, None, rest
        self._out.end_region()

    def _read_region(self, region: OpenRegion) -> bool:
        """Parse text within a region."""
        step = region.step(self._pending)
        if step.blank is not None:
            self._out.end_region(blank=step.blank)
        if step.text is not None and region.region.kind == "call":
            self._add_calls(self._calls.between_marks(step.text))
        elif step.text and region.region.kind == "thought":
            self._out.add(Part(thought=step.text))
        elif step.text and region.region.kind == "words":
            self._add_words(step.text)
        self._pending = step.rest
        if step.closed:
            self._close_region(step.rest)
            self._region = OpenRegion(step.into) if step.into else None
        return not step.waits and bool(self._pending)

    # ---- output

    def _add_words(self, text: str) -> None:
        self._has_begun = self._out.add_words(text) or self._has_begun

    def _add_calls(self, parts: list[Part]) -> None:
        for part in parts:
            self._out.add(part)
