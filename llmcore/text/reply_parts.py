"""The parts of a reply, in the order in which they come out of its text, and the blanks between. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from llmcore.engine import ToolCall


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a reply: words to say, a thought, or calls that are complete."""

    words: str = ""
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()


class SpokenParts:
    """What has come out of a reply. doubtful: words are held back at first, as in `ControlText`."""

    def __init__(self, doubtful: bool) -> None:
        self._parts: list[Part] = []
        self.last = ""
        """The last character that was said."""
        self._blank = False  # since a region ended
        self.behind = False
        """A region has ended, and no words came since: blank text there is at most one space."""
        self.doubted: list[str] | None = [] if doubtful else None
        """Words that are held back as they may be a thought; None where none are."""

    def end_region(self, blank: bool = False) -> None:
        """What stood between marks is over. blank: with blank text at its end."""
        self.behind, self._blank = True, blank or (self._blank and self.behind)

    def say(self, text: str) -> bool:
        """Words, or blank text; whether it is any words yet."""
        if self.behind:
            words = text.lstrip()
            self._blank = self._blank or len(words) < len(text)
            if not words:
                return False
            self.behind = False
            text = f" {words}" if self._blank and self.last and not self.last.isspace() else words
        if text and self.doubted is None:
            self._parts.append(Part(text))
        elif text and self.doubted is not None:
            self.doubted.append(text)
        self.last = text[-1:] or self.last
        return bool(text)

    def add(self, part: Part) -> None:
        """A thought, or calls."""
        if part.calls:  # a thought without its beginning has its end before it calls
            self._parts += self.release()
        self._parts.append(part)

    def end_doubt(self) -> None:
        """The words that were held back were a thought."""
        held, self.doubted = self.doubted, None
        if held:
            self._parts.append(Part(thought="".join(held)))
            self.last = ""

    def release(self) -> list[Part]:
        """The words that were held back."""
        held, self.doubted = self.doubted, None
        return [Part(words) for words in held or ()]

    def take(self) -> list[Part]:
        """The parts, neighbours of one kind joined."""
        parts, self._parts = self._parts, []
        taken: list[Part] = []
        for part in parts:
            last = taken[-1] if taken else None
            if last is not None and last.words and part.words:
                taken[-1] = Part(last.words + part.words)
            elif last is not None and last.thought and part.thought:
                taken[-1] = Part(thought=last.thought + part.thought)
            else:
                taken.append(part)
        return taken
