"""Redis keys that gateways share, and Lua scripts for atomic updates."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from voiceagent.access.caller_counts import digest
from voiceagent.access.client_secrets import key_digest
from voiceagent.cluster.placing import GatewayReport, from_json

PREFIX = "voiceagent:cluster:"
GATEWAYS = f"{PREFIX}gateways"
ALL_GATEWAYS = f"{PREFIX}all"
"""Channel to which all gateways subscribe."""

ADD_CALL = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lease = tonumber(ARGV[2])
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  if redis.call('ZCARD', key) >= tonumber(ARGV[i + 2]) then return i end
end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now + lease, ARGV[1])
  redis.call('PEXPIRE', key, lease)
end
return 0
"""
"""Adds a call to each of the caller's names, unless one is at its limit.

KEYS: the caller's names. ARGV: the call, its lease in ms, the maximum calls of each name. Returns 0, or the
number (from 1) of the first name at its limit.
"""
COUNT_WRONG_KEY = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
if count >= tonumber(ARGV[2]) then
  local left = redis.call('PTTL', KEYS[1])
  redis.call('PUBLISH', ARGV[3], cjson.encode({blocked = ARGV[4], seconds = left / 1000}))
end
"""
"""Counts a failed authentication, and publishes a block at the limit.

KEYS: the address's counter. ARGV: window in ms, failures that block, channel to publish to, the address's
name there.
"""


class CallControl(NamedTuple):
    """Access to a call. url: its gateway's URL, "" if that has none of its own. secret: SHA-256 of the client
    secret that opened the call, "" if none did.
    """

    url: str = ""
    secret: str = ""


def gateway_channel(name: str) -> str:
    return f"{PREFIX}to:{name}"


def caller_key(name: str) -> str:
    return f"{PREFIX}caller:{digest(name):x}"


def wrong_keys_key(address: str) -> str:
    """Return the key of the counter of failed authentications of an address, given by its digest."""
    return f"{PREFIX}wrong_keys:{address}"


def client_secret_key(key: str) -> str:
    """Return the key of a client secret: its digest, which does not reveal it."""
    return f"{PREFIX}secret:{key_digest(key).hex()}"


def read_reports(texts: Iterable[bytes | None]) -> tuple[GatewayReport, ...]:
    """Parse the gateways' reports, skipping incomplete ones."""
    reports = []
    for text in filter(None, texts):
        with suppress(ValueError, TypeError):  # from a version with fewer fields
            reports.append(from_json(json.loads(text)))
    return tuple(reports)


def report_key(name: str) -> str:
    """Return the key of a gateway's report."""
    return f"{PREFIX}gateway:{name}"


def control_key(call_id: str) -> str:
    """Return the key of a call's `CallControl` in the store."""
    return f"{PREFIX}control:{call_id}"


def call_gateway_key(call_id: str) -> str:
    """Return the key of the name of a call's gateway."""
    return f"{PREFIX}call:{call_id}"
