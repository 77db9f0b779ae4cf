"""Codes of the ends of calls and turns, and of interruptions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_COLUMNS = (("calls", "end_code"), ("turns", "end_code"), ("turns", "interrupted_by"))


def upgrade() -> None:
    """Add the columns; they are empty for earlier calls."""
    for table, name in _COLUMNS:
        op.add_column(table, sa.Column(name, sa.String(16), nullable=False, server_default=""))


def downgrade() -> None:
    """Drop the columns."""
    for table, name in reversed(_COLUMNS):
        op.drop_column(table, name)
