"""Format of a scenario: a caller, a line, and what must hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.engines.config import EngineConfig
from voiceagent.evals.record import CallRecord
from voiceagent.validation.section import Seconds, Section, check

Habit = Literal[
    "pauses", "corrects", "interrupts", "backchannels", "spells", "changes_mind", "falls_silent", "hangs_up"
]
Argument = str | bool | int | float | tuple[str | bool | int | float, ...]
"""Expected argument of a tool; of several, any one."""
Text = Annotated[str, Field(pattern=r"\S")]
PAUSE = re.compile(r"\[\s*pause(?:\s+(\d+(?:\.\d+)?))?\s*\]", re.IGNORECASE)
"""A pause within a line, in seconds."""
_MARK = re.compile(r"\[[^\]]*\]?")
SPOKEN_HABITS: tuple[Habit, ...] = ("pauses", "interrupts", "backchannels")
"""Habits that change how lines are spoken, whoever writes them."""


def _with_words(text: str) -> str:
    """Return a text of words that are sought; "a | b" is a or b. Raises PydanticCustomError without words.

    Without this, `never_says = ["!"]` would hold in every call.
    """
    if any(not any(one.isalnum() for one in part) for part in text.split("|")):
        raise PydanticCustomError("no_words", 'no words to look for; allowed: words, or "a | b" for a or b')
    return text


def _with_known_marks(text: str) -> str:
    """Return a line. Raises PydanticCustomError for a mark that would be read out."""
    for mark in _MARK.findall(text):
        if PAUSE.fullmatch(mark) is None:
            raise PydanticCustomError("no_mark", "unknown mark {mark}; allowed: [pause 1.5]", {"mark": mark})
    return text


def _one_or_several(given: object) -> object:
    """Return an expected argument. Raises PydanticCustomError for others: a list of none would match none."""
    several = given if isinstance(given, list) else [given]
    if not several or not all(isinstance(one, str | bool | int | float) for one in several):
        raise PydanticCustomError("no_argument", "allowed: text, a number, true, false, or a list of these")
    return tuple(several) if isinstance(given, list) else given


ExpectedArgument = Annotated[Argument, BeforeValidator(_one_or_several)]
Words = Annotated[str, AfterValidator(_with_words)]
Wording = Annotated[str, AfterValidator(_with_known_marks)]


class Persona(Section):
    """`[persona]`: the caller. A script speaks for itself; an LLM speaks as this person."""

    goal: str = ""
    """Reason of the call, for an LLM."""
    facts: dict[str, str] = Field(default_factory=dict)
    """Facts that the caller knows, by name."""
    temper: Literal["calm", "friendly", "impatient", "angry", "anxious"] = "calm"
    """Temper, for an LLM."""
    language: str = Field(default="", pattern=r"^([a-z]{2,3})?$")
    """ISO 639 code of the caller's language. "" is the agent's."""
    speed: float = Field(default=1.0, ge=0.5, le=2)
    """Speed of speech relative to the synthesizer's."""
    habits: tuple[Habit, ...] = ()
    """Habits of the caller. Those besides `SPOKEN_HABITS` are for an LLM, which is instructed to have them; a
    script has them in its lines.
    """


class LineConfig(Section):
    """`[line]`: the connection between caller and agent."""

    kind: Literal["clean", "telephone", "noise", "loss", "speakerphone"] = "clean"
    noise_db: float = Field(default=15.0, ge=-10, le=60)
    """Level of the voice above the noise, of a line of kind "noise"."""
    loss: float = Field(default=0.05, ge=0, lt=1)
    """Share of lost packets, of a line of kind "loss"."""
    echo_db: float = Field(default=20.0, ge=0, le=60)
    """Attenuation of the agent's voice in the caller's microphone, of a line of kind "speakerphone"."""

    @model_validator(mode="after")
    def _has_keys_of_its_kind(self) -> Self:
        for key, kind in (("noise_db", "noise"), ("loss", "loss"), ("echo_db", "speakerphone")):
            if key in self.model_fields_set and self.kind != kind:
                message = 'kind "{kind}" has no {key}; allowed: with kind = "{needed}"'
                raise PydanticCustomError(
                    "other_kind", message, {"kind": self.kind, "key": key, "needed": kind}
                )
        return self


class ScriptLine(Section):
    """A line of a script. "[pause 1.5]" within `say` is a pause of 1.5 s."""

    say: tuple[Wording, ...] = Field(default=("",), min_length=1)
    """The words; of several wordings each run chooses one. "" says nothing."""
    wait_s: Seconds | None = None
    """Silence before speaking, after the agent's answer. Left out, half a second or less."""
    over_agent_s: Seconds | None = None
    """Speak over the agent's answer, or its greeting, this long after its start, instead of after its end."""


class Reply(Section):
    """A line said in place of the script's next one, once, if the agent's answer has these words."""

    to: tuple[Words, ...] = Field(min_length=1)
    """Words of the agent; any one of them."""
    say: tuple[Wording, ...] = Field(min_length=1)
    """The words; of several wordings each run chooses one."""


class ToolExpectation(Section):
    """`[[expect.tools]]`: a tool call that must be made."""

    name: Text
    arguments: dict[str, ExpectedArgument] = Field(default_factory=dict)
    """Arguments that the call must have; it may have others. Numbers in words equal figures."""
    result: Words | None = None
    """Words of the tool's result; "a | b" allows a or b."""
    times: int | None = Field(default=None, ge=0)
    """Exact number of such calls. Left out, at least one."""


class Expect(Section):
    """`[expect]`: what must hold in each run. "a | b" in a text allows a or b."""

    tools: tuple[ToolExpectation, ...] = ()
    no_tools: tuple[str, ...] = ()
    """Tools that must not be called."""
    says: tuple[Words, ...] = ()
    """Texts that the agent must say."""
    never_says: tuple[Words, ...] = ()
    """Texts that the agent must not say."""
    max_turns: int | None = Field(default=None, ge=1)
    """Most turns of the caller."""
    max_wait_s: float | None = Field(default=None, gt=0)
    """Longest time from the end of a line to the agent's voice."""
    yields_within_s: float | None = Field(default=None, gt=0)
    """Longest time for which the agent continues to speak once the caller speaks over it."""
    answers_every_turn: bool = False
    """Each line is answered."""
    lets_finish: bool = False
    """The agent never begins to speak while a line is being said."""
    ignores_backchannels: bool = False
    """No backchannel ends an answer."""
    ends_by: Literal["agent", "caller"] | None = None
    """The side that hangs up."""
    may_be_cut: bool = False
    """The caller may hang up because of a limit: `max_turns` lines, or ten minutes."""
    judge: tuple[Text, ...] = ()
    """Questions for the judge, which must be answered with yes."""

    def forbidden_tools(self) -> list[tuple[str, str, set[str]]]:
        """Return the tools that must not be called: the key, the tool, and names of arguments, if given."""
        never = [("expect.tools", one.name, set(one.arguments)) for one in self.tools if one.times == 0]
        return [("expect.no_tools", name, set[str]()) for name in self.no_tools] + never


class ScenarioFile(Section):
    """A scenario file."""

    about: str = ""
    """Purpose, for readers."""
    persona: Persona = Persona()
    line: LineConfig = LineConfig()
    script: tuple[ScriptLine, ...] = ()
    """Lines of the caller, in order; after the last one is answered, the caller hangs up. Left out, an LLM is
    the caller, who needs `persona.goal`.
    """
    replies: tuple[Reply, ...] = ()
    max_turns: int = Field(default=12, ge=1, le=100)
    """Most lines of the caller. One who has more to say then hangs up, and the run fails unless
    `expect.may_be_cut`.
    """
    parameters: dict[str, str] = Field(default_factory=dict)
    """Metadata of the telephony provider, such as the number of the caller."""
    expect: Expect = Expect()

    @model_validator(mode="after")
    def _has_a_caller(self) -> Self:
        if not self.script and not self.persona.goal:
            message = "without a script an LLM is the caller: set persona.goal, or script"
            raise PydanticCustomError("no_caller", message)
        if self.script and (written := set(self.persona.habits) - set(SPOKEN_HABITS)):
            message = "a script has the habit {habit} in its lines; allowed in persona.habits: {allowed}"
            known = {"habit": min(written), "allowed": ", ".join(SPOKEN_HABITS)}
            raise PydanticCustomError("habit_of_script", message, known)
        return self


Check = Callable[[CallRecord], None]
"""A check in Python. It fails by raising AssertionError with the reason."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario by name. check: further check in Python, None without one.

    A Python file in the folder has some of these: `Scenario.of("late", {...}, check=...)`.
    """

    name: str
    file: ScenarioFile
    check: Check | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls, name: str, table: Mapping[str, Any], source: Path = Path("scenario"), check: Check | None = None
    ) -> Scenario:
        """Return a scenario from a table as in a TOML file. Raises ConfigError."""
        return cls(name, parse(table, source), check)


class Times(Section):
    """`[times]`: durations of the agent's engines in virtual time. One that is left out is measured."""

    recognition_s: Seconds | None = None
    """A decoding of the recognizer."""
    first_token_s: Seconds | None = None
    """From a request to the LLM's first token."""
    token_s: Seconds = 0.0
    """Each further token, if `first_token_s` is set."""
    first_audio_s: Seconds | None = None
    """From a text to its first audio. Set, the rest follows at once."""


class EvalFile(Section):
    """`eval.toml` of a folder of scenarios."""

    runs: int = Field(default=10, ge=1, le=1_000)
    """Runs of each scenario. `--runs` replaces it."""
    times: Times = Times()
    caller: EngineConfig | None = None
    """LLM of the callers without a script. Left out, the agent's own configuration's."""
    voice: EngineConfig | None = None
    """Synthesizer of the callers. Left out, the configuration's."""
    recognizer: EngineConfig | None = None
    """Recognizer by which the callers hear the agent, in calls by sound. Left out, they read its words."""
    judge: EngineConfig | None = None
    """LLM that answers the questions. Left out, questions are an error."""
    questions: tuple[Text, ...] = ()
    """Questions for the judge about each kept call, with `--calls`."""
    second_judge: EngineConfig | None = None
    """LLM of a second opinion; the agreement of both is printed."""

    @model_validator(mode="after")
    def _has_a_judge(self) -> Self:
        if self.judge is None and (self.questions or self.second_judge is not None):
            name = "questions" if self.questions else "second_judge"
            raise PydanticCustomError("no_judge", "{name} without a judge; set [judge]", {"name": name})
        return self


def parse(table: Mapping[str, Any], source: Path) -> ScenarioFile:
    """Return a scenario from the table of a TOML file. Raises ConfigError."""
    return check(ScenarioFile, _with_lists(table), source)


def _with_lists(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table with single texts in place of lists, and texts in place of lines, spelled out."""
    document = dict(table)
    for name, keys in (("script", ("say",)), ("replies", ("say", "to"))):
        lines = document.get(name)
        if not isinstance(lines, list | tuple):
            continue
        tables = [{"say": line} if name == "script" and isinstance(line, str) else line for line in lines]
        document[name] = [
            {key: [value] if key in keys and isinstance(value, str) else value for key, value in line.items()}
            if isinstance(line, Mapping)
            else line
            for line in tables
        ]
    return document
