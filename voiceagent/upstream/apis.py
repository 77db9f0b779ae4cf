"""The translations by API, and their marks in logs. Pure."""

from __future__ import annotations

from collections.abc import Callable

from voiceagent.upstream.api import RealtimeApi, UpstreamApi
from voiceagent.upstream.config import ApiName
from voiceagent.upstream.live.api import LiveApi

WAITED = "waited"
"""Name of the logged event for the end of a `Wait`, whose name is its text."""


def new_api(name: str, new_id: Callable[[str], str], model: str = "", backend_model: str = "") -> UpstreamApi:
    """Return the translation for one call. model, backend_model: see `UpstreamConfig`; a replay has none."""
    return LiveApi(new_id, model, backend_model) if name == "live" else RealtimeApi()


def api_mark(name: ApiName) -> str:
    """Return the text of a log's first event, which names the API: "" for Realtime, as in older logs."""
    return "" if name == "realtime" else name
