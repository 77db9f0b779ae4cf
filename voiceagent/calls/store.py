"""Database of calls: SQLite, or PostgreSQL by URL."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.util import CommandError

from voiceagent.calls import tables
from voiceagent.calls.log.entries import Fact
from voiceagent.calls.rows import (
    NOTHING_YET,
    CallFilter,
    CallRow,
    Cursor,
    call_values,
    conditions,
    fact_values,
    stage_values,
    to_call_row,
    to_turn,
    tool_values,
    turn_values,
)
from voiceagent.calls.summary import CallSummary, Stage, ToolUse, Turn
from voiceagent.conversation.latency import STAGES

MIGRATIONS = Path(__file__).with_name("migrations")
_UPGRADING = threading.Lock()  # Alembic keeps its state in globals
_ALONE = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "SELECT pg_advisory_xact_lock(7364829)"}
"""Statements that lock the database until the end of the transaction, for concurrent starts."""
_STAGE_ORDER: dict[str, int] = {name: place for place, name in enumerate(STAGES)}
CONNECT_S = 5
"""Timeout of a connection."""


def sqlite_url(folder: Path) -> str:
    """Return the URL of the default database in a folder."""
    return f"sqlite:///{folder / 'calls.db'}"


class StoreError(Exception):
    """The database cannot be used now. The text says why."""


class CallStore:
    """Calls in one database. url: in SQLAlchemy's form. Every method raises StoreError."""

    def __init__(self, url: str) -> None:
        try:
            parsed = sa.make_url(url)
            if parsed.get_backend_name() not in _ALONE:
                raise sa.exc.NoSuchModuleError(f"allowed are {' and '.join(_ALONE)}")
            waiting = {"timeout": CONNECT_S} if parsed.get_backend_name() == "sqlite" else {}
            if parsed.get_backend_name() == "postgresql":
                parsed, waiting = parsed.set(drivername="postgresql+psycopg"), {"connect_timeout": CONNECT_S}
            self._engine = sa.create_engine(parsed, connect_args=waiting, pool_pre_ping=True)
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ImportError) as error:
            raise StoreError(f"{url!r} is no database that can be used here: {error}") from error
        self._upgraded = threading.Event()
        self._upgraded.set()
        self._file: Path | None = None
        if parsed.get_backend_name() == "sqlite":
            self._file = Path(parsed.database or "")
            sa.event.listen(self._engine, "connect", _prepare_sqlite)

    def close(self) -> None:
        self._engine.dispose()

    def file_gone(self) -> bool:
        """Return True if the file of an SQLite database is missing. Writes to a deleted file would be lost;
        the next connection creates a new file, without tables.
        """
        gone = self._file is not None and not self._file.exists()
        if gone:
            self._engine.dispose()
        return gone

    def expect_upgrade(self) -> None:
        """Make other threads wait for the next `upgrade`: a new database has no tables before it."""
        self._upgraded.clear()

    def upgrade(self) -> None:
        """Migrate the database to the newest schema."""
        try:
            self._upgrade()
        finally:
            self._upgraded.set()

    def _upgrade(self) -> None:
        logging.getLogger("alembic").setLevel(logging.WARNING)  # it logs all its plugins at every start
        config = AlembicConfig()
        config.set_main_option("script_location", str(MIGRATIONS))
        with _UPGRADING, _Transaction(self._engine) as connection:
            config.attributes["connection"] = connection
            connection.exec_driver_sql(_ALONE[connection.dialect.name])
            try:
                command.upgrade(config, "head")
            except CommandError as error:
                raise StoreError(f"the database is of another version: {error}") from error

    def began(self, call_id: str, started_at: float, place: str) -> None:
        """Insert a running call; an existing row is left as it is."""
        row = {"call_id": call_id, "state": "running", "started_at": started_at, "place": place}
        with self._begin() as connection:
            known = sa.select(tables.calls.c.call_id).where(tables.calls.c.call_id == call_id)
            if connection.execute(known).first() is None:
                connection.execute(tables.calls.insert().values(**row, **NOTHING_YET))

    def ended(self, summary: CallSummary, state: str, place: str, size_bytes: int) -> None:
        """Replace the rows of a call by those of its summary."""
        with self._begin() as connection:
            self._delete(connection, [summary.call_id])
            connection.execute(tables.calls.insert().values(call_values(summary, state, place, size_bytes)))
            for table, rows in (
                (tables.turns, turn_values(summary)),
                (tables.stages, stage_values(summary)),
                (tables.tools, tool_values(summary)),
                (tables.facts, fact_values(summary)),
            ):
                if rows:
                    connection.execute(table.insert(), rows)

    def facts_of(self, call_id: str) -> list[Fact]:
        """Return the provider's metadata of a call, in order."""
        facts = tables.facts
        wanted = sa.select(facts).where(facts.c.call_id == call_id).order_by(facts.c.number)
        with self._begin() as connection:
            return [Fact(row["name"], row["value"]) for row in connection.execute(wanted).mappings()]

    def newest(self, limit: int | None = None) -> list[CallRow]:
        wanted = sa.select(tables.calls).order_by(tables.calls.c.started_at.desc()).limit(limit)
        with self._begin() as connection:
            return [to_call_row(row) for row in connection.execute(wanted).mappings()]

    def found(self, wanted: CallFilter, limit: int, behind: Cursor | None = None) -> list[CallRow]:
        """Return the newest calls that match, newest first. behind: the end of the previous page."""
        calls = tables.calls.c
        query = sa.select(tables.calls).order_by(calls.started_at.desc(), calls.call_id.desc()).limit(limit)
        if behind is not None:
            earlier = calls.started_at < behind.started_at
            tied = (calls.started_at == behind.started_at) & (calls.call_id < behind.call_id)
            query = query.where(earlier | tied)
        with self._begin() as connection:
            rows = connection.execute(query.where(*conditions(wanted))).mappings()
            return [to_call_row(row) for row in rows]

    def get(self, call_id: str) -> CallRow | None:
        """Return a call by id, or None."""
        wanted = sa.select(tables.calls).where(tables.calls.c.call_id == call_id)
        with self._begin() as connection:
            row = connection.execute(wanted).mappings().first()
            return None if row is None else to_call_row(row)

    def turns_of(self, call_id: str) -> list[Turn]:
        """Return the turns of a call, in order, each with its stages in the order of the pipeline."""
        turns, stages = tables.turns, tables.stages
        with self._begin() as connection:
            rows = connection.execute(
                sa.select(turns).where(turns.c.call_id == call_id).order_by(turns.c.number)
            ).mappings()
            of_turns: dict[int, list[Stage]] = {}
            for row in connection.execute(sa.select(stages).where(stages.c.call_id == call_id)).mappings():
                stage = Stage(row["name"], row["duration_us"], row["hidden_us"])
                of_turns.setdefault(row["number"], []).append(stage)
            for found in of_turns.values():  # rows come in the order of their names
                found.sort(key=lambda stage: _STAGE_ORDER.get(stage.name, len(STAGES)))
            return [to_turn(row, of_turns.get(row["number"], [])) for row in rows]

    def tools_of(self, call_id: str) -> list[ToolUse]:
        """Return the tools of a call, in order."""
        wanted = sa.select(tables.tools).where(tables.tools.c.call_id == call_id)
        with self._begin() as connection:
            rows = connection.execute(wanted.order_by(tables.tools.c.number)).mappings()
            return [ToolUse("", row["name"], row["at_s"], row["took_s"], row["failed"]) for row in rows]

    def delete(self, call_id: str) -> None:
        with self._begin() as connection:
            self._delete(connection, [call_id])
        if self._engine.dialect.name == "sqlite":  # whose write-ahead log still has the deleted rows
            with self._engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def _delete(self, connection: sa.Connection, call_ids: Sequence[str]) -> None:
        for table in (tables.facts, tables.tools, tables.stages, tables.turns, tables.calls):
            connection.execute(table.delete().where(table.c.call_id.in_(call_ids)))

    def _begin(self) -> _Transaction:
        if not self._upgraded.wait(CONNECT_S):
            raise StoreError("the database is being prepared")
        return _Transaction(self._engine)


class _Transaction:
    """Transaction whose database errors are raised as StoreError."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def __enter__(self) -> sa.Connection:
        try:
            self._connection = self._engine.connect()
            self._transaction = self._connection.begin()
        except sa.exc.SQLAlchemyError as error:
            raise StoreError(_message_of(error)) from error
        return self._connection

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            if error is None:
                self._transaction.commit()
            else:
                self._transaction.rollback()
        except sa.exc.SQLAlchemyError as failure:
            raise StoreError(_message_of(failure)) from failure
        finally:
            self._connection.close()
        if isinstance(error, sa.exc.SQLAlchemyError):
            raise StoreError(_message_of(error)) from error


def _message_of(error: sa.exc.SQLAlchemyError) -> str:
    """Return the database's message without the statement, which may have personal data."""
    original = getattr(error, "orig", None)
    return " ".join(str(original or error).split())


def _prepare_sqlite(connection: Any, _: object) -> None:
    """Let readers not wait for writers, and overwrite deleted data in the file."""
    for pragma in ("journal_mode=WAL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}")
