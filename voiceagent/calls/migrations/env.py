"""Alembic environment. The store passes its own connection."""

from __future__ import annotations

from alembic import context

from voiceagent.calls.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
