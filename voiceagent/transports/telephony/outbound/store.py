"""Outbound calls in a SQLite file.

Every operation is one transaction, so that several processes of a server can share the file. Operations take
about a millisecond and block: call them from a thread.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from voiceagent.transports.telephony.outbound.policies.limits import HOUR_S, DialLimits, DialRefused
from voiceagent.transports.telephony.outbound.policies.progress import Joining, OutboundCall, Status

BUSY_S = 5.0
"""Maximum wait for another process's transaction."""
SIGNATURE_DAYS = 7.0
"""Days for which signatures of webhooks are kept. Older replays concern calls that are long over."""
DAY_S = 86_400.0

_TABLES = """
CREATE TABLE IF NOT EXISTS calls (
    call_id TEXT PRIMARY KEY,
    placed_s REAL NOT NULL,
    is_over INTEGER NOT NULL,
    idempotency_key TEXT UNIQUE,
    request TEXT NOT NULL,
    document TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_running ON calls (is_over);
CREATE INDEX IF NOT EXISTS calls_placed ON calls (placed_s);
CREATE TABLE IF NOT EXISTS signatures (signature TEXT PRIMARY KEY, seen_s REAL NOT NULL);
CREATE TABLE IF NOT EXISTS campaigns (
    campaign_id TEXT PRIMARY KEY,
    is_over INTEGER NOT NULL,
    changed_s REAL NOT NULL,
    document TEXT NOT NULL
);
"""


class OutboundStore:
    """Store of outbound calls, opened at the first use. path: the SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None

    def close(self) -> None:
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._database = None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Lock the file for the block, and write all changes at its end or none. Raise OSError."""
        with self._lock:
            try:
                database = self._open()
                database.execute("BEGIN IMMEDIATE")
                try:
                    yield database
                except BaseException:
                    database.execute("ROLLBACK")
                    raise
                database.execute("COMMIT")
            except sqlite3.Error as error:
                raise OSError(f"{self._path}: {error}") from error

    def add(
        self, call: OutboundCall, limits: DialLimits, key: str, request: str
    ) -> tuple[OutboundCall, bool]:
        """Add a call if the limits allow it. Return it and True, or the earlier call with this idempotency
        key and False. key: "" for none. request: digest of the request. Raise DialRefused.
        """
        with self.transaction() as database:
            if key:
                found = database.execute(
                    "SELECT document, request FROM calls WHERE idempotency_key = ?", (key,)
                ).fetchone()
                if found is not None:
                    return _repeated(to_call(found[0]), found[1] == request), False
            running, placed = rates(database, call.created_s)
            limits.check_rate(running, placed, call.created_s)
            insert(database, call, key, request)
            return call, True

    def find(self, call_id: str) -> OutboundCall | None:
        with self.transaction() as database:
            return find_call(database, call_id)

    def change(
        self, call_id: str, change: Callable[[OutboundCall], OutboundCall | None]
    ) -> tuple[OutboundCall | None, OutboundCall | None]:
        """Change a call. Return it before and after; None if it is unknown or `change` returned None."""
        with self.transaction() as database:
            before = find_call(database, call_id)
            after = None if before is None else change(before)
            if after is not None and after != before:
                save(database, after)
            return before, after

    def delete(self, call_id: str) -> None:
        with self.transaction() as database:
            database.execute("DELETE FROM calls WHERE call_id = ?", (call_id,))

    def change_once(
        self, call_id: str, signature: str, now_s: float, change: Callable[[OutboundCall], OutboundCall]
    ) -> tuple[OutboundCall, OutboundCall] | None:
        """Change a call by a webhook with this signature, and return it before and after. None if the call is
        unknown, or a webhook with the signature has changed it. Fails as a whole, so that the provider's
        repetition counts.
        """
        with self.transaction() as database:
            database.execute("DELETE FROM signatures WHERE seen_s < ?", (now_s - SIGNATURE_DAYS * DAY_S,))
            added = database.execute("INSERT OR IGNORE INTO signatures VALUES (?, ?)", (signature, now_s))
            before = find_call(database, call_id)
            if added.rowcount == 0 or before is None:
                return None
            after = change(before)
            save(database, after)
            return before, after

    def change_running(self, change: Callable[[OutboundCall], OutboundCall]) -> list[OutboundCall]:
        """Change all calls that are not over. Return those that changed."""
        with self.transaction() as database:
            rows = database.execute("SELECT document FROM calls WHERE is_over = 0").fetchall()
            before = [to_call(document) for (document,) in rows]
            changed = [after for call in before if (after := change(call)) != call]
            for call in changed:
                save(database, call)
            return changed

    def delete_before(self, time_s: float) -> None:
        """Delete calls and campaigns that were over before this time."""
        with self.transaction() as database:
            database.execute("DELETE FROM calls WHERE is_over = 1 AND placed_s < ?", (time_s,))
            database.execute("DELETE FROM campaigns WHERE is_over = 1 AND changed_s < ?", (time_s,))

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            database = sqlite3.connect(
                self._path, BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=32
            )
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(_TABLES)
            self._database = database
        return self._database


def rates(database: sqlite3.Connection, now_s: float) -> tuple[int, list[float]]:
    """Return the number of calls that are not over, and the times of calls of the last hour."""
    (running,) = database.execute("SELECT COUNT(*) FROM calls WHERE is_over = 0").fetchone()
    rows = database.execute("SELECT placed_s FROM calls WHERE placed_s > ?", (now_s - HOUR_S,)).fetchall()
    return running, [placed_s for (placed_s,) in rows]


def running_numbers(database: sqlite3.Connection) -> set[str]:
    """Return the numbers of calls that are not over."""
    rows = database.execute("SELECT document FROM calls WHERE is_over = 0").fetchall()
    return {to_call(document).to for (document,) in rows}


def insert(database: sqlite3.Connection, call: OutboundCall, key: str, request: str) -> None:
    """Insert a call within a transaction. Arguments as for `OutboundStore.add`."""
    row = (call.call_id, call.created_s, call.status.is_final, key or None, request, _to_text(call))
    database.execute("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)", row)


def save(database: sqlite3.Connection, call: OutboundCall) -> None:
    """Update a call within a transaction."""
    row = (call.status.is_final, _to_text(call), call.call_id)
    database.execute("UPDATE calls SET is_over = ?, document = ? WHERE call_id = ?", row)


def to_call(document: str) -> OutboundCall:
    """Parse the stored form of a call."""
    fields: dict[str, Any] = json.loads(document)
    return OutboundCall(
        **{**fields, "status": Status(fields["status"]), "joining": Joining(fields.get("joining", ""))}
    )


def _to_text(call: OutboundCall) -> str:
    return json.dumps(asdict(call), ensure_ascii=False)


def find_call(database: sqlite3.Connection, call_id: str) -> OutboundCall | None:
    """Return the call with this id, within a transaction."""
    row = database.execute("SELECT document FROM calls WHERE call_id = ?", (call_id,)).fetchone()
    return None if row is None else to_call(row[0])


def _repeated(call: OutboundCall, is_same: bool) -> OutboundCall:
    """Return the call of an earlier request with the same key. Raise DialRefused if the requests differ."""
    if not is_same:
        message = f"the key belongs to another request, that of {call.call_id}; use a new key"
        raise DialRefused("idempotency_key_reused", message, 409)
    return call
