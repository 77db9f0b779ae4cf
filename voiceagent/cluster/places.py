"""Where things stand in the Redis that gateways share, and scripts that do several things there at once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from voiceagent.access.client_secrets import key_digest
from voiceagent.access.shares import digest
from voiceagent.cluster.placing import GatewayReport, from_json

PREFIX = "voiceagent:cluster:"
GATEWAYS = f"{PREFIX}gateways"
TO_ALL = f"{PREFIX}all"
"""The channel that all gateways hear."""

TAKE = """
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
"""KEYS: the caller's names. ARGV: the call, its lease in ms, the most calls of each name. Gives 0, or the
number of the name that has as many.
"""
COUNT_WRONG_KEY = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
if count >= tonumber(ARGV[2]) then
  local left = redis.call('PTTL', KEYS[1])
  redis.call('PUBLISH', ARGV[3], cjson.encode({blocked = ARGV[4], seconds = left / 1000}))
end
"""
"""KEYS: the address. ARGV: how long it is counted in ms, how many shut it out, where that is told, its name
there.
"""


class CallControl(NamedTuple):
    """Access to a call. url: its gateway's URL, "" if that has none of its own. secret: SHA-256 of the client
    secret that opened the call, "" if none did.
    """

    url: str = ""
    secret: str = ""


def to_one(name: str) -> str:
    """The channel that one gateway hears."""
    return f"{PREFIX}to:{name}"


def caller_place(name: str) -> str:
    """Where the calls of a caller stand, by one of his names."""
    return f"{PREFIX}caller:{digest(name):x}"


def wrong_keys_place(address: str) -> str:
    """Where the wrong keys of an address are counted; by its digest."""
    return f"{PREFIX}wrong_keys:{address}"


def secret_place(key: str) -> str:
    """From it nobody finds the key."""
    return f"{PREFIX}secret:{key_digest(key).hex()}"


def read_reports(told: Iterable[bytes | None]) -> tuple[GatewayReport, ...]:
    """The reports that stand in Redis."""
    reports = []
    for text in filter(None, told):
        with suppress(ValueError, TypeError):  # of a version that tells less
            reports.append(from_json(json.loads(text)))
    return tuple(reports)


def report_place(name: str) -> str:
    """Where a gateway's report stands in Redis."""
    return f"{PREFIX}gateway:{name}"


def control_place(call_id: str) -> str:
    """Return the key of a call's `CallControl` in the store."""
    return f"{PREFIX}control:{call_id}"


def call_place(call_id: str) -> str:
    """Where the gateway stands that has a call."""
    return f"{PREFIX}call:{call_id}"
