"""The APIs by name: their translations, marks in logs and forms on a connection. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from voiceagent.upstream.api import RealtimeApi, UpstreamApi
from voiceagent.upstream.config import ApiName, UpstreamConfig
from voiceagent.upstream.live.api import LiveApi
from voiceagent.upstream.messages import LIVE_APPEND, REALTIME_APPEND

WAITED = "waited"
"""Name of the logged event for the end of a `Wait`, whose name is its text."""


@dataclass(frozen=True, slots=True)
class Wire:
    """The form of an API on a connection. path: of the URL. audio: event that appends audio. started: event
    that the first message is answered with, before others may follow; "" for none.
    """

    path: str
    audio: str
    started: str = ""


def new_wire(config: UpstreamConfig) -> Wire:
    """Return the form of the backend's API."""
    if config.api == "live":
        return Wire("live/sessions", LIVE_APPEND, "session.started")
    return Wire(f"realtime?model={quote(config.model_name)}", REALTIME_APPEND)


def new_api(name: str, new_id: Callable[[str], str], model: str = "", backend_model: str = "") -> UpstreamApi:
    """Return the translation for one call. model, backend_model: see `UpstreamConfig`; a replay has none."""
    return LiveApi(new_id, model, backend_model) if name == "live" else RealtimeApi()


def api_mark(name: ApiName) -> str:
    """Return the text of a log's first event, which names the API: "" for Realtime, as in older logs."""
    return "" if name == "realtime" else name
