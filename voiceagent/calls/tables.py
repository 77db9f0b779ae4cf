"""Tables of the store; `migrations/` creates them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    false,
)

metadata = MetaData()


def _call_id() -> Column[str]:
    return Column("call_id", String(64), ForeignKey("calls.call_id", ondelete="CASCADE"), primary_key=True)


calls = Table(
    "calls",
    metadata,
    Column("call_id", String(64), primary_key=True),
    Column("state", String(16), nullable=False, index=True),  # running, ended, broken
    Column("started_at", Float, nullable=False, index=True),  # Unix seconds
    Column("seconds", Float),
    Column("reason", Text),
    Column("place", Text, nullable=False),  # of its files: a folder, or a URL that fsspec supports
    Column("bytes", BigInteger, nullable=False),
    Column("turns", Integer, nullable=False),  # of the agent: its responses
    Column("interruptions", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("longest_wait_us", BigInteger, nullable=False),
    Column("false_ends", Integer, nullable=False, server_default="0"),
    Column("tool_failures", Integer, nullable=False, server_default="0"),
    Column("end_code", String(16), nullable=False, server_default=""),
)

turns = Table(
    "turns",
    metadata,
    _call_id(),
    Column("number", Integer, primary_key=True),
    Column("turn_id", String(64), nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("said", Text, nullable=False),
    Column("written", Text, nullable=False),
    Column("heard", Text, nullable=False),
    Column("waited_us", BigInteger, nullable=False),
    Column("over_budget", Text, nullable=False),  # names, separated by commas
    Column("at_s", Float, nullable=False),
    Column("end_code", String(16), nullable=False, server_default=""),
    Column("interrupted_by", String(16), nullable=False, server_default=""),
)

stages = Table(
    "stages",
    metadata,
    _call_id(),
    Column("number", Integer, primary_key=True),  # of the turn
    Column("name", String(32), primary_key=True),
    Column("duration_us", BigInteger, nullable=False),
    Column("hidden_us", BigInteger, nullable=False),
)

facts = Table(
    "facts",
    metadata,
    _call_id(),
    Column("number", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("value", Text, nullable=False, index=True),
)

tools = Table(
    "tools",
    metadata,
    _call_id(),
    Column("number", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("at_s", Float, nullable=False),
    Column("took_s", Float),  # NULL without an output
    Column("failed", Boolean, nullable=False, server_default=false()),
)
