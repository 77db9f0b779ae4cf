"""Numbers of false ends of turn and of failed tools per call, for filters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_COUNT = """
UPDATE calls SET false_ends = (
    SELECT count(*) FROM turns WHERE turns.call_id = calls.call_id AND turns.outcome = 'false_end'
)
"""


def upgrade() -> None:
    """Add the columns; earlier tool failures are unknown."""
    for name in ("false_ends", "tool_failures"):
        op.add_column("calls", sa.Column(name, sa.Integer, nullable=False, server_default="0"))
    op.add_column("tools", sa.Column("failed", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute(_COUNT)


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("tools", "failed")
    for name in ("tool_failures", "false_ends"):
        op.drop_column("calls", name)
