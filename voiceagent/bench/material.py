"""Material of benchmarks: what callers say, and criteria of the answers. A folder of four files.

| file | a line of it |
| --- | --- |
| `questions.jsonl` | `{"text": "..."}`, spoken by a synthesizer; `{"parts": ["...", "..."]}`, the same with pauses between them; or `{"sound": "question.wav"}`, a recording in the folder |
| `conversations.jsonl` | `{"messages": [...]}`: a conversation as OpenAI's chat format has it, of the roles "user" and "assistant" |
| `labelled.jsonl` | `{"messages": [...], "must": [...], "must_not": [...], "criterion": "...", "outside": false}`: the last message is a question, its answer must say every fact of `must` (with "\\|" between alternatives) and none of `must_not`, and be what `criterion` wants, of which an LLM judges; one of the three is enough; `outside` marks those that must be declined |
| `speech.txt` | text: a long response of the agent, for callers to speak over |

A measurement reads only what it needs. The demo's folder is `voiceagent/demo/material`.
"""  # noqa: E501  a table

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Literal, TypeVar

from pydantic import Field, model_validator

from voiceagent.bench.json_lines import JsonLine, Line, read_lines
from voiceagent.validation.errors import CommandFailed, reason_of

FILES = ("questions.jsonl", "conversations.jsonl", "labelled.jsonl", "speech.txt")
Text = Annotated[str, Field(min_length=1)]


class SpokenQuestion(JsonLine):
    """A question that callers ask aloud, in one of three forms."""

    text: Text | None = None
    parts: Annotated[tuple[Text, ...], Field(min_length=2)] | None = None
    sound: Text | None = None

    @model_validator(mode="after")
    def _one_form(self) -> SpokenQuestion:
        if sum(form is not None for form in (self.text, self.parts, self.sound)) != 1:
            raise ValueError("one of text, parts and sound is wanted")
        return self


class ChatMessage(JsonLine):
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    content: str


class Conversation(JsonLine):
    """A conversation of a caller and an agent."""

    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1)]

    @property
    def questions(self) -> list[str]:
        """The caller's messages."""
        return [message.content for message in self.messages if message.role == "user"]


class LabelledQuestion(Conversation):
    """A conversation that ends with a question, and the criteria of its answer."""

    must: tuple[Text, ...] = ()
    must_not: tuple[Text, ...] = ()
    criterion: Text | None = None
    outside: bool = False

    @model_validator(mode="after")
    def _ends_with_a_question(self) -> LabelledQuestion:
        if self.messages[-1].role != "user":
            raise ValueError("the last message must be the user's")
        if not (self.must or self.must_not or self.criterion):
            raise ValueError("nothing to judge by; allowed: must, must_not, criterion, or several of them")
        return self


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Material:
    """The folder. Its methods raise ConfigError and CommandFailed, with the file and the line."""

    folder: Path

    def questions(self) -> list[SpokenQuestion]:
        """Return the questions that callers ask aloud."""
        questions = self._lines("questions.jsonl", SpokenQuestion)
        for question in questions:
            if question.sound is not None and not self.sound_path(question.sound).is_file():
                raise CommandFailed(
                    f"{self.folder / 'questions.jsonl'}: no recording {question.sound!r} there"
                )
        return questions

    def conversations(self) -> list[Conversation]:
        return self._lines("conversations.jsonl", Conversation)

    def labelled(self) -> list[LabelledQuestion]:
        """Return the questions with criteria of their answers."""
        return self._lines("labelled.jsonl", LabelledQuestion)

    def speech(self) -> str:
        """Return the agent's speech to interrupt."""
        path = self._found("speech.txt")
        try:
            text = " ".join(path.read_text(encoding="utf-8").split())
        except (OSError, ValueError) as error:
            raise CommandFailed(f"{path} cannot be read: {reason_of(error)}") from error
        if not text:
            raise CommandFailed(f"{self.folder / 'speech.txt'} is empty; allowed: a text of some 15 s")
        return text

    def sound_path(self, name: str) -> Path:
        """Return the path of a recording in the folder."""
        return self.folder / name

    def _lines(self, name: str, model: type[Line]) -> list[Line]:
        return read_lines(self._found(name), model)

    def _found(self, name: str) -> Path:
        if not self.folder.is_dir():
            raise CommandFailed(f"{self.folder}: no such folder of material; it has {', '.join(FILES)}")
        path = self.folder / name
        if not path.exists():
            raise CommandFailed(f"{self.folder}: no {name}; a folder of material has {', '.join(FILES)}")
        return path


def shuffled(items: Sequence[Item], random: Random) -> Iterator[Item]:
    """Yield the items in endless shuffles; nothing if there are none."""
    while items:
        yield from random.sample(items, len(items))
