"""Calls, their turns with stages, and their tools."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "calls",
        sa.Column("call_id", sa.String(64), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("started_at", sa.Float, nullable=False),
        sa.Column("seconds", sa.Float),
        sa.Column("reason", sa.Text),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("turns", sa.Integer, nullable=False),
        sa.Column("interruptions", sa.Integer, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("longest_wait_us", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_calls_state", "calls", ["state"])
    op.create_index("ix_calls_started_at", "calls", ["started_at"])
    op.create_table(
        "turns",
        _call_id(),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("turn_id", sa.String(64), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("said", sa.Text, nullable=False),
        sa.Column("written", sa.Text, nullable=False),
        sa.Column("heard", sa.Text, nullable=False),
        sa.Column("waited_us", sa.BigInteger, nullable=False),
        sa.Column("over_budget", sa.Text, nullable=False),
        sa.Column("at_s", sa.Float, nullable=False),
    )
    op.create_table(
        "stages",
        _call_id(),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("duration_us", sa.BigInteger, nullable=False),
        sa.Column("hidden_us", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tools",
        _call_id(),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("at_s", sa.Float, nullable=False),
        sa.Column("took_s", sa.Float),
    )


def downgrade() -> None:
    """Drop the tables."""
    for table in ("tools", "stages", "turns", "calls"):
        op.drop_table(table)


def _call_id() -> sa.Column[str]:
    return sa.Column(
        "call_id", sa.String(64), sa.ForeignKey("calls.call_id", ondelete="CASCADE"), primary_key=True
    )
