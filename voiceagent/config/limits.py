"""`[limits]`: all that a client can make grow, in one table; each part stands beside what is held to it."""

from __future__ import annotations

from voiceagent.conversation.config import ConversationLimits
from voiceagent.transports.limits import TransportLimits


class LimitsConfig(ConversationLimits, TransportLimits):
    """`[limits]`: what one client may take of the server; a refusal names the limit."""
