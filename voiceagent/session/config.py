"""The tables of the configuration about a call's sound, in and out."""

from __future__ import annotations

from pydantic import Field

from voiceagent.validation.section import Duration, Section

SILENCE_TOLD_S = 3.0
"""What is waited for so long stands in the log, before anybody is silent for 5 s without a reason."""


class DeadlinesConfig(Section):
    """`[deadlines]`: how long a stage of a turn may take; after that the caller hears the apology.

    For an LLM that is asked and silent, `[resilience]` comes first: it asks the fallback. These hold whatever
    it is that hangs, and for as long as a request waits in line.
    """

    transcript_s: Duration = 4.5
    """From a pause to the settled words of the recognizer."""
    first_token_s: Duration = 12.0
    """From the request to the LLM, with its waiting in line and the fallback's try, to its first words."""
    token_s: Duration = 6.0
    """Between two pieces of what the LLM writes."""
    first_sound_s: Duration = 4.0
    """From a fragment of text to its first sound."""
    sound_s: Duration = 4.0
    """Between two pieces of a fragment's sound."""
    turn_model_s: Duration = 1.0
    """For the turn model's judgement; without it the silence alone ends the turn."""


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
