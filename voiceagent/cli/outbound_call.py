"""`voiceagent call`: lets a running server call a phone number, and prints the status of the call."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import httpx2

from audio.hosted.server import describe_error
from voiceagent.config.tables import Config
from voiceagent.transports.telephony.outbound.policies.progress import Status
from voiceagent.validation.errors import CommandFailed

POLL_S = 1.0
"""Interval between two requests for the status."""
TIMEOUT_S = 30.0


def server_of(config: Config | None, url: str, key_env: str | None) -> tuple[str, str]:
    """Return URL and API key of the running server, the key "" for none. Raise CommandFailed.

    config: of a server on this machine, None if there is a URL. key_env: variable with the key, None for the
    configuration's.
    """
    key_env = key_env or (None if config is None else config.server.api_keys_env)
    keys = re.split(r"[,\s]+", os.environ.get(key_env, "").strip()) if key_env else [""]
    if key_env and not keys[0]:
        raise CommandFailed(f"the environment variable {key_env} holds no API key")
    if config is not None:
        url = f"http://127.0.0.1:{config.server.port}"
    return url.rstrip("/"), keys[0]


def call(url: str, key: str, order: Mapping[str, str], once: str | None = None) -> None:
    """Place a call and print its status until it is over; Ctrl-C ends it. Raise CommandFailed if nobody
    answered.

    url, key: see `server_of`. order: fields of `POST /v1/calls`. once: its idempotency key, None for a new
    one: another run with the same key follows the first one's call.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    fields = {name: value for name, value in order.items() if value}
    with httpx2.Client(base_url=url, headers=headers, timeout=TIMEOUT_S) as client:
        placed = _ask(
            client, "POST", "/v1/calls", json=fields, headers={"Idempotency-Key": once or str(uuid4())}
        )
        print(f"{placed['id']}: {placed['from']} calls {placed['to']} through {placed['provider']}")
        try:
            status, shown = _follow(client, placed)
        except KeyboardInterrupt:
            _ask(client, "POST", f"/v1/calls/{placed['id']}/hangup")
            raise CommandFailed("interrupted; the call is being ended") from None
    if status.is_unanswered:
        raise CommandFailed(f"nobody answered: {shown}")


def _follow(client: httpx2.Client, call: Mapping[str, Any]) -> tuple[Status, str]:
    """Print each new status of a call, and return the last one and its line. Raise CommandFailed."""
    shown = ""
    while True:
        line = call["status"] + (f": {call['cause']}" if call["cause"] else "")
        if line != shown:
            print(line, flush=True)
            shown = line
        status = Status(call["status"])
        if status.is_final:
            return status, shown
        time.sleep(POLL_S)
        call = _ask(client, "GET", f"/v1/calls/{call['id']}/status")


def _ask(client: httpx2.Client, method: str, path: str, **content: Any) -> dict[str, Any]:
    """Return the JSON of an answer. Raise CommandFailed."""
    try:
        answer = client.request(method, path, **content)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise CommandFailed(f"{client.base_url}: no server answers there: {describe_error(error)}") from error
    try:
        said: dict[str, Any] = answer.json()
        if not answer.is_success:
            raise CommandFailed(f"the server refuses: {said['error']['message']}")
    except (ValueError, KeyError, TypeError) as error:
        raise CommandFailed(
            f"{client.base_url}{path}: HTTP {answer.status_code}: no answer of a voice agent"
        ) from error
    return said
