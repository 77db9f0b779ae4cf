"""`[calls]`: whether calls are kept, where, and what of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from voiceagent.calls.log.texts import Words
from voiceagent.validation.section import Section


class CallsConfig(Section):
    """`[calls]`: kept calls, which can be listened to and replayed (needs the extra `calls`)."""

    folder: str = ""
    """Folder of the kept calls' logs and recordings. It is created if missing. "" keeps no calls."""
    record: Literal["wav", "opus", "none"] = "wav"
    """Format of recordings. A minute takes 6 MB as "wav" at 24 kHz and 0.35 MB as "opus", which costs 0.13 s
    of CPU time.
    """
    database: str = ""
    """PostgreSQL for the list of calls, as "postgresql://user@host/name". "" uses SQLite in the folder."""
    storage: str = ""
    """fsspec URL to which logs and recordings are moved after the call, such as "s3://bucket/calls". ""
    leaves them in the folder.
    """
    personal_data: Words = "keep"
    """Treatment of transcripts and numbers in the logs: "keep" them, "redact" them to their shape ("Xxx 00"),
    or "omit" them. Only kept ones can be replayed.
    """
    keep_days: float = Field(default=30, ge=0)
    """Age at which kept calls are deleted. 0 keeps them forever."""
    keep_gib: float = Field(default=0, ge=0)
    """Size of all kept calls above which the oldest are deleted. 0 sets no limit."""
