"""Configuration tables of a running call: context and echo."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.validation.section import Section


class ContextSourceConfig(Section):
    """`[[context.sources]]`: context for each turn: a function, or a resource of an MCP server."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    """Name of the source in logs and metrics."""
    python: str | None = None
    """Async function, `module:name`, that takes the caller's transcript so far and returns texts."""
    mcp: str | None = None
    """Label of a server in `[[agent.mcp]]` that has the resource `uri`, instead of `python`."""
    uri: str = ""
    """URI of the resource. {words} stands for the caller's transcript."""

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
    """Sources that are asked in each turn, in addition to an agent's `find_context`."""
    min_relevance: float = Field(default=0.3, ge=0, le=1)
    """Lowest cosine similarity between a passage and the caller's turn, by the installed English model. 0
    keeps all passages and needs no model: set it for other languages.
    """
    max_tokens: int = Field(default=400, ge=1)
    """Maximum length of all passages of a turn together, in estimated tokens."""
    deadline_s: float = Field(default=0.3, gt=0)
    """Longest wait for a source. Later results are ignored."""


class EchoConfig(Section):
    """`[echo]`: echo cancellation and noise suppression, for lines without them (needs the extra `echo`)."""

    cancel: bool | Literal["auto"] = "auto"
    """Cancel the agent's own voice in the caller's audio, for speakerphones. "auto" does so from the moment
    at which an echo is measured, so that a line without one keeps its audio as it is; without the extra, such
    an echo is logged as `echo_not_cancelled`, and dropped where it is noticed. true cancels from the start of
    each call.
    """
    suppress_noise: bool = False
    """Suppress steady background noise. With it, slightly fewer words are misheard: in noise, across a room,
    and on clean lines.
    """
