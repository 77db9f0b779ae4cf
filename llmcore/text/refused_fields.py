"""Fields of a request that a server does not know, found in its error texts.

The texts are those of OpenAI's newer models ("Unsupported parameter: 'max_tokens' is not supported with this
model"), Mistral ("extra_forbidden", with the field's place), Groq and Cerebras ("property 'x' is
unsupported"), Gemini ('Unknown name "stop"') and Azure ("Unrecognized request argument supplied: x").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

_RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The limit of a reply has two names; each is refused by servers that know the other one only."""
_DISPENSABLE = (*_RENAMED, "temperature", "stop", "stream_options")
"""Fields without which a request still means the same conversation."""
_UNKNOWN = re.compile(
    r"unsupported|not (currently )?supported|(does|do) not support|extra_forbidden|extra inputs"
    r"|not permitted|unrecognized|unexpected|unknown (name|field|param|arg|property)",
    re.IGNORECASE,
)


def refused_field(error: str, sent: Collection[str]) -> str | None:
    """Return the first of the sent fields that an error text calls unknown; None if it names none."""
    if not _UNKNOWN.search(error):
        return None
    places = {field: re.search(rf"\b{field}\b", error) for field in _DISPENSABLE if field in sent}
    named = {field: place.start() for field, place in places.items() if place is not None}
    return min(named, key=named.__getitem__, default=None)


def without_fields(body: Mapping[str, Any], refused: Collection[str]) -> dict[str, Any]:
    """Return a request's body without these fields; a limit goes under its other name if that is known."""
    kept = {field: value for field, value in body.items() if field not in refused}
    for field in refused:
        other = _RENAMED.get(field)
        if field in body and other is not None and other not in refused:
            kept[other] = body[field]
    return kept


def describe_refused_field(field: str, refused: Collection[str]) -> str:
    """Return a line for the log: what is sent in place of a refused field. refused: all of them."""
    other = _RENAMED.get(field)
    if other is not None and other not in refused:
        return f"it refuses {field}: sent as {other}"
    return f"it refuses {field}: left out"
