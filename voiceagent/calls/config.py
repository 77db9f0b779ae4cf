"""`[calls]`: whether calls are kept, where, and what of them."""

from __future__ import annotations

from typing import Literal

from voiceagent.calls.event_log import Words
from voiceagent.validation.section import Section


class CallsConfig(Section):
    """`[calls]`: needs the extra `calls`."""

    folder: str = ""
    """Where the logs and recordings of calls are kept; it is made if it is not there. "" keeps nothing."""
    record: Literal["wav", "opus", "none"] = "wav"
    """How their sound is kept. A minute is 6 MB of "wav" at 24 kHz, and 0.35 MB of "opus", which takes 0.13 s
    of the processor's time."""
    words: Words = "keep"
    """What is written of words and numbers: "keep" all, "redact" them to their shape ("Xxx 00"), or "omit"
    them. Only with "keep" can a call be replayed."""
