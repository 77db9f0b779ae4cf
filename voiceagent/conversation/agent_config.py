"""Configuration tables of the agent and of its further languages, with the fixed phrases of each language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.conversation.settings import BackchannelUse
from voiceagent.validation.section import Section


@dataclass(frozen=True, slots=True)
class SetPhrases:
    """Fixed phrases. apology: after a failure within a turn. refusal: after a filter refused the answer.
    filler: while an answer takes long. correction: before a correction of the agent's own words.
    connecting: before a colleague is called, if the agent has not spoken since the caller did.
    idle_prompts: questions to a silent caller, in order. goodbye: to a caller who stays silent. backchannels:
    of a listener, in turn; neutral ones, as they must fit whatever was said.
    """

    apology: str
    refusal: str
    filler: str
    correction: str
    connecting: str
    idle_prompts: tuple[str, ...]
    goodbye: str
    backchannels: tuple[str, ...]


ENGLISH = SetPhrases(
    apology="Sorry, something went wrong on my side. Could you say that again?",
    refusal="I'm sorry, I can't help with that. Is there anything else I can do?",
    filler="One moment.",
    correction="Sorry, let me correct that.",
    connecting="One moment, I'll connect you.",
    idle_prompts=("Are you still there?",),
    goodbye="Goodbye.",
    backchannels=("Mm-hmm.", "Okay."),
)
SET_PHRASES = {
    "en": ENGLISH,
    "de": SetPhrases(
        apology="Entschuldigung, bei mir ist etwas schiefgegangen. Können Sie das bitte noch einmal sagen?",
        refusal="Dabei kann ich Ihnen leider nicht helfen. Kann ich sonst etwas für Sie tun?",
        filler="Einen Moment bitte.",
        correction="Entschuldigung, das muss ich berichtigen.",
        connecting="Einen Moment, ich verbinde Sie.",
        idle_prompts=("Sind Sie noch da?",),
        goodbye="Auf Wiederhören.",
        backchannels=("Mhm.", "Okay."),
    ),
    "es": SetPhrases(
        apology="Perdone, algo ha fallado por mi parte. ¿Puede repetirlo, por favor?",
        refusal="Lo siento, con eso no puedo ayudarle. ¿Puedo hacer algo más por usted?",
        filler="Un momento, por favor.",
        correction="Perdón, debo corregirme.",
        connecting="Un momento, le paso con mi compañero.",
        idle_prompts=("¿Sigue ahí?",),
        goodbye="Adiós.",
        backchannels=("Ajá.", "Vale."),
    ),
}
"""By ISO 639 code. Agents in other languages use English unless the configuration sets the phrases."""


def _phrase_default(phrase: Callable[[SetPhrases], Any]) -> Callable[[Mapping[str, Any]], Any]:
    """Return a pydantic default factory for a phrase, which depends on the configured language."""
    return lambda given: phrase(SET_PHRASES.get(given.get("language", ""), ENGLISH))


class AgentConfig(Section):
    """`[agent]`: the agent of all calls. A client may set its own instructions for a call."""

    instructions: str = ""
    """System prompt."""
    instructions_from: str | None = None
    """Source of the system prompt, instead of `instructions`: a text file ("./prompt.md"), or
    `package.module:name` of a string or of a function that returns one.
    """
    python: str | None = None
    """Agent class, `module:Class`, with instructions, greeting, voice, tools and hooks. Modules in the
    configuration's folder are found too.
    """
    alternatives: dict[str, str] = Field(default_factory=dict)
    """Further agent classes by name. A client selects one as `model`, a phone line by the last part of its
    URL path, or by `agent` in the query or in the call's parameters.
    """
    route_by: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Rules that select the agent of a phone call: the name of a call parameter or SIP header, and an agent
    name for each of its values.
    """
    page_text: str = ""
    """Text on the web page: who answers, and what visitors can ask. "" shows none."""
    greeting: str = ""
    """First words of the agent. "" waits for the caller to speak."""
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}$")
    """ISO 639 code of the spoken language. It selects sentence splitting, number reading, the default
    phrases, and the language of the engines.
    """
    apology: str = Field(default_factory=_phrase_default(attrgetter("apology")))
    """Phrase for a turn that failed. The default of this and the other phrases depends on `language`
    (English, German, Spanish).
    """
    refusal: str = Field(default_factory=_phrase_default(attrgetter("refusal")))
    """Phrase for an answer that a filter or moderation of the LLM's server refused."""
    filler: str = Field(default_factory=_phrase_default(attrgetter("filler")))
    """Phrase for an answer that begins later than 1.5 s after the end of the turn. "" disables it."""
    filler_after_s: ClassVar[float] = 1.5
    """Time from the end of the turn to the filler. Most answers have begun by then, and a filler before them
    would only delay them.
    """
    correction: str = Field(default_factory=_phrase_default(attrgetter("correction")))
    """Phrase before a correction by `[back_llm]`, if the caller heard some of the false answer. "" says the
    correction alone.
    """
    connecting: str = Field(default_factory=_phrase_default(attrgetter("connecting")))
    """Phrase before a colleague is called for a warm transfer, unless the agent has just spoken or plays a
    sound such as hold music. "" disables it.
    """
    idle_prompts: tuple[str, ...] = Field(default_factory=_phrase_default(attrgetter("idle_prompts")))
    """Phrases for a silent caller, one after each `turn.idle_timeout_s`."""
    goodbye: str = Field(default_factory=_phrase_default(attrgetter("goodbye")))
    """Phrase before the agent hangs up on a caller who stays silent."""
    backchannels: BackchannelUse = "live"
    """Calls in which the agent says a short "mhm" when the caller pauses in the middle of a turn: "live" for
    sessions of the Live API, "all" or "off". Realtime clients over WebSocket never get one: their protocol
    has no audio outside of responses.
    """
    backchannel_phrases: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default_factory=_phrase_default(attrgetter("backchannels"))
    )
    """Phrases of these backchannels, said in turn."""
    max_output_tokens: int = Field(default=200, ge=1)
    """Longest response, unless the client sets its own limit."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=(), max_length=4)
    """Stop sequences of a spoken response, such as the blank line before a list. At most four, as hosted APIs
    accept no more.
    """
    temperature: float = Field(default=0.0, ge=0, le=2)
    """Sampling temperature, unless the client sets its own. 0 is greedy decoding."""
    max_tool_rounds: ClassVar[int] = 8
    """Responses with tool calls within one answer: a caller waits for no more. The next response may call
    none; if it is empty, the caller hears the apology.
    """

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.instructions and self.instructions_from is not None:
            raise PydanticCustomError("two_prompts", "set instructions or instructions_from, not both")
        if self.python is not None and (self.instructions or self.instructions_from or self.greeting):
            message = "with python, instructions and greeting are the class's: leave them out here"
            raise PydanticCustomError("two_agents", message)
        return self


class LanguageConfig(Section):
    """`[languages.CODE]`: a further language of calls, by its ISO 639 code. Callers choose it by speaking it.
    Phrases that are left out have defaults in that language (English, German, Spanish).
    """

    apology: str | None = None
    """As in `[agent]`."""
    refusal: str | None = None
    """As in `[agent]`."""
    filler: str | None = None
    """As in `[agent]`."""
    correction: str | None = None
    """As in `[agent]`."""
    idle_prompts: tuple[str, ...] | None = None
    """As in `[agent]`."""
    goodbye: str | None = None
    """As in `[agent]`."""
    backchannel_phrases: tuple[Annotated[str, Field(min_length=1)], ...] | None = None
    """As in `[agent]`."""

    def to_agent(self, code: str, agent: AgentConfig) -> AgentConfig:
        """Return the agent's table with the phrases of this language."""
        own = {name: value for name in _PHRASES if (value := getattr(self, name)) is not None}
        spoken = AgentConfig(language=code, **own)
        return agent.model_copy(update={name: getattr(spoken, name) for name in _IN_LANGUAGE})


_PHRASES = ("apology", "refusal", "filler", "correction", "idle_prompts", "goodbye", "backchannel_phrases")
"""Keys of `[agent]` that each language has for itself."""
_IN_LANGUAGE = ("language", *_PHRASES)
