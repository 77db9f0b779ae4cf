"""Configuration tables of a running call: timeouts, context, playout, echo."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.validation.section import Duration, Section

LOG_WAIT_AFTER_S = 3.0
"""Waits longer than this are logged, so that every silence of 5 s has its reason in the log."""


class DeadlinesConfig(Section):
    """`[deadlines]`: timeouts of the stages of a turn, after which the caller hears the apology.

    For an LLM that does not answer, `[resilience]` acts earlier by asking the fallback. These hold for
    every stage and include queueing.
    """

    transcript_s: Duration = 4.5
    """Pause to settled transcript of the recognizer."""
    first_token_s: Duration = 12.0
    """LLM request to first text or thought. It includes queueing and the attempt with the fallback."""
    token_s: Duration = 6.0
    """Time between two pieces of the LLM's output."""
    first_sound_s: Duration = 4.0
    """Fragment of text to its first audio."""
    sound_s: Duration = 4.0
    """Time between two pieces of a fragment's audio."""
    turn_model_s: Duration = 1.0
    """Result of the turn model; without it the silence alone ends the turn."""


class ContextSourceConfig(Section):
    """`[[context.sources]]`: a source of context for each turn: a function, or a resource of an MCP
    server.
    """

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    """Its name, in logs and metrics."""
    python: str | None = None
    """An `async` function, `module:name`, that takes the caller's words so far and returns texts."""
    mcp: str | None = None
    """Instead, the label of a server of `[[agent.mcp]]` that has the resource `uri`."""
    uri: str = ""
    """URI of the resource; {words} stands for the caller's words."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.python is None) == (self.mcp is None):
            raise PydanticCustomError("two_ways", "set python, or mcp and uri")
        if (self.mcp is None) != (not self.uri):
            raise PydanticCustomError("no_uri", "mcp and uri belong together")
        return self


class ContextConfig(Section):
    """`[context]`: retrieval for each turn, started while the caller speaks; needs `make semantic-cache`.
    Off without this table.

    An agent in code with `find_context` is a source too.
    """

    sources: tuple[ContextSourceConfig, ...] = ()
    """Sources in addition to the agent."""
    min_relevance: float = Field(default=0.3, ge=0, le=1)
    """Minimum cosine similarity of a passage to the caller's words. 0 keeps all, and needs no embedding."""
    embedding: str = ""
    """Folder of the embedding model, of MiniLM's architecture, such as the multilingual one; "" is the
    installed English one.
    """
    max_tokens: int = Field(default=400, ge=1)
    """Approximate maximum tokens of all passages of a turn."""
    deadline_s: float = Field(default=0.3, gt=0)
    """Timeout of a source. The turn continues without late results."""


class PlayoutConfig(Section):
    """`[playout]`: pacing of the agent's audio."""

    lead_s: float = Field(default=0.06, ge=0.02, le=2)
    """Time ahead of real time at which audio is sent: more tolerates a slow network, less is cut more
    cleanly.
    """


class EchoConfig(Section):
    """`[echo]`: processing of the caller's audio, if the remote does none (needs the extra `echo`)."""

    cancel: bool = False
    """Remove the agent's own voice, so that it does not interrupt itself on a speakerphone."""
    suppress_noise: bool = False
    """Remove steady noise."""
