"""`[calls]`: whether calls are kept, where, and what of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voiceagent.calls.log.texts import Words
from voiceagent.validation.section import Section


class CallsConfig(Section):
    """`[calls]`: needs the extra `calls`."""

    folder: str = ""
    """Where the logs and recordings of calls are kept; it is made if it is not there. "" keeps nothing."""
    record: Literal["wav", "opus", "none"] = "wav"
    """How their sound is kept. A minute is 6 MB of "wav" at 24 kHz, and 0.35 MB of "opus", which takes 0.13 s
    of the processor's time."""
    database: str = ""
    """What is known of each call, for `voiceagent calls`: the URL of a PostgreSQL, as
    "postgresql://user@host/name"; "" is an SQLite in the folder."""
    storage: str = ""
    """Where logs and recordings go when their call is over: a URL of fsspec's, as "s3://bucket/calls"; ""
    leaves them in the folder."""
    words: Words = "keep"
    """What is written of words and numbers: "keep" all, "redact" them to their shape ("Xxx 00"), or "omit"
    them. Only with "keep" can a call be replayed."""
    keep_days: float = Field(default=30, ge=0)
    """Calls older than that are deleted; 0 keeps them for good."""
    keep_gib: float = Field(default=0, ge=0)
    """Size of all kept calls, beyond which the oldest are deleted; 0 sets no limit."""
