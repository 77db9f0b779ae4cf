"""The tables of the configuration about a call's sound, in and out."""

from __future__ import annotations

from pydantic import Field

from voiceagent.validation.section import Section


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
