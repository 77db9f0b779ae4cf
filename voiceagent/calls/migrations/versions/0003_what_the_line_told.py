"""Metadata of the telephony provider, for filters: the caller's number, the provider's call id."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table; it is empty for earlier calls."""
    op.create_table(
        "facts",
        sa.Column(
            "call_id", sa.String(64), sa.ForeignKey("calls.call_id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_index("ix_facts_value", "facts", ["value"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("facts")
