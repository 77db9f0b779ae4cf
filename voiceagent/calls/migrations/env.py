"""Alembic's way in: the store gives the connection."""

from __future__ import annotations

from alembic import context

from voiceagent.calls.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
