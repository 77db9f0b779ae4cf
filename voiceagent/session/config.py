"""The tables of the configuration about one call at work: its sound, its deadlines, its context."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.validation.section import Duration, Section

SILENCE_TOLD_S = 3.0
"""A wait longer than this is logged, so that no silence of 5 s is without its reason in the log."""


class DeadlinesConfig(Section):
    """`[deadlines]`: how long a stage of a turn may take; after that the caller hears the apology.

    For an LLM that is asked and silent, `[resilience]` comes first: it asks the fallback. These hold whatever
    it is that hangs, and for as long as a request waits in line.
    """

    transcript_s: Duration = 4.5
    """From a pause to the settled words of the recognizer."""
    first_token_s: Duration = 12.0
    """Maximum time from the LLM request to the first words or thoughts. It includes queueing and the attempt
    with the fallback.
    """
    token_s: Duration = 6.0
    """Between two pieces of what the LLM writes."""
    first_sound_s: Duration = 4.0
    """From a fragment of text to its first sound."""
    sound_s: Duration = 4.0
    """Between two pieces of a fragment's sound."""
    turn_model_s: Duration = 1.0
    """For the turn model's judgement; without it the silence alone ends the turn."""


class ContextSourceConfig(Section):
    """`[[context.sources]]`: what is asked about each turn: a function, or a resource of an MCP server."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    """Its name, in logs and metrics."""
    python: str | None = None
    """An `async` function, module:name, that is given the caller's words so far and gives texts."""
    mcp: str | None = None
    """Or the label of a server of `[[agent.mcp]]`, which has the resource `uri`."""
    uri: str = ""
    """Its URI, in which {words} stands for the caller's words."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.python is None) == (self.mcp is None):
            raise PydanticCustomError("two_ways", "set python, or mcp and uri")
        if (self.mcp is None) != (not self.uri):
            raise PydanticCustomError("no_uri", "mcp and uri belong together")
        return self


class ContextConfig(Section):
    """`[context]`: what a retriever finds for a turn, asked while the caller speaks; needs `make
    semantic-cache`. Without this table nothing is asked.

    An agent in code with `find_context` is a source too.
    """

    sources: tuple[ContextSourceConfig, ...] = ()
    """What is asked, beside the agent."""
    min_relevance: float = Field(default=0.3, ge=0, le=1)
    """Least likeness (cosine) of a passage to the caller's words; others are left out. 0 keeps all, and needs
    no embedding."""
    embedding: str = ""
    """Folder of the model that tells what texts mean, of MiniLM's shape, as the multilingual one; "" is the
    English one that is installed."""
    max_tokens: int = Field(default=400, ge=1)
    """Tokens of all passages of a turn together, about."""
    deadline_s: float = Field(default=0.3, gt=0)
    """How long a source may take; what comes later is left out, and the turn goes on."""


class PlayoutConfig(Section):
    """`[playout]`: how the agent's sound is paced."""

    lead_s: float = Field(default=0.06, ge=0.02, le=2)
    """How far ahead of real time sound is sent: more rides out a slow network, less is cut more cleanly."""


class EchoConfig(Section):
    """`[echo]`: cleaning the caller's sound, for lines whose remote does not (needs the extra `echo`)."""

    cancel: bool = False
    """Take the agent's own voice out, so that it does not interrupt itself on a speakerphone."""
    suppress_noise: bool = False
    """Take steady noise out."""
