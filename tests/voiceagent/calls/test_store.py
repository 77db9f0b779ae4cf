"""The store of calls, equal in SQLite and in a real PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from postgres_server import postgres_server

from voiceagent.calls.log.entries import Fact
from voiceagent.calls.retention import ClockStepDetector, Retention, expired
from voiceagent.calls.rows import CallFilter, CallRow, Cursor
from voiceagent.calls.store import CallStore, StoreError, sqlite_url
from voiceagent.calls.summary import CallSummary, Stage, ToolUse, Turn
from voiceagent.calls.tables import metadata

TURN = Turn(
    "item_1",
    "interrupted",
    "is there a pool",
    "Yes, there is.",
    "Yes,",
    (
        Stage("endpointing", 190_000, 0),
        Stage("recognition", 10_000, 0),
        Stage("llm_ttft", 50_000, 40_000),
        Stage("playout", 0, 0),
    ),
    ("llm_ttft", "total"),
    3.5,
)
TOOLS = (ToolUse("", "find_room", 2.0, 0.25, failed=True), ToolUse("", "book", 3.0, None))
SUMMARY = CallSummary("call_1", 1.8e9, 12.5, "the caller hung up", 40, 1, (TURN,), TOOLS)

UPGRADE = """
import sys
from voiceagent.calls.store import CallStore
print(flush=True)
sys.stdin.readline()
for url in sys.argv[1:]:
    CallStore(url).upgrade()
"""
"""A server that starts when it is told to."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        yield sqlite_url(tmp_path_factory.mktemp("store"))
        return
    with postgres_server() as server:
        yield server.url


@pytest.fixture
def store(url: str) -> Iterator[CallStore]:
    store = CallStore(url)
    store.upgrade()
    yield store
    for call in store.newest():
        store.delete(call.call_id)
    store.close()


def test_who_reads_a_new_database_before_its_tables_exist_waits_for_them(tmp_path: Path) -> None:
    store = CallStore(sqlite_url(tmp_path))
    store.expect_upgrade()
    with ThreadPoolExecutor() as readers:
        asked = readers.submit(store.newest)
        store.upgrade()
        assert asked.result() == []
    store.close()


def test_an_ended_call_is_known_with_turns_stages_and_tools(store: CallStore):
    store.began("call_1", 1.8e9, "/kept/call_1")
    running = store.get("call_1")
    assert running is not None
    assert (running.state, running.seconds) == ("running", None)
    store.ended(SUMMARY, "ended", "s3://kept/call_1", 1_000)
    ended = store.get("call_1")
    assert ended is not None
    assert (ended.state, ended.seconds, ended.place) == ("ended", 12.5, "s3://kept/call_1")
    assert (ended.responses, ended.interruptions, ended.failures) == (1, 1, 1)
    assert (ended.false_ends, ended.tool_failures) == (0, 1)
    assert ended.longest_wait_s == 0.25
    assert store.turns_of("call_1") == [TURN]
    assert store.tools_of("call_1") == list(TOOLS)


def test_a_call_in_which_nobody_waited_has_no_longest_wait(store: CallStore):
    typed = replace(TURN, stages=())
    store.ended(replace(SUMMARY, turns=(typed, typed)), "ended", "place", 1)
    ended = store.get("call_1")
    assert ended is not None
    assert (ended.responses, ended.longest_wait_s) == (2, None)


def test_calls_are_listed_newest_first(store: CallStore):
    for number in range(3):
        store.began(f"call_{number}", 1.8e9 + number, "")
    assert [call.call_id for call in store.newest(2)] == ["call_2", "call_1"]


CUT_OFF = replace(TURN, outcome="false_end", stages=())


def known(store: CallStore) -> None:
    """A call of each kind, a minute after each other."""
    ends = {
        "quick": replace(
            SUMMARY, failures=0, turns=(replace(TURN, outcome="completed", stages=()),), tools=()
        ),
        "slow": replace(SUMMARY, failures=0, turns=(replace(TURN, outcome="completed"),), tools=()),
        "cut_off": replace(SUMMARY, failures=0, turns=(CUT_OFF,), tools=()),
        "failed": replace(SUMMARY, turns=(), tools=TOOLS),
    }
    for number, (name, summary) in enumerate(ends.items()):
        named = replace(summary, call_id=name, started_at=1.8e9 + 60 * number)
        store.ended(named, "broken" if name == "quick" else "ended", "place", 1)
    store.began("running", 1.8e9 + 600, "place")


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (CallFilter(), ["running", "failed", "cut_off", "slow", "quick"]),
        (CallFilter(slower_than_s=0.2), ["slow"]),
        (CallFilter(cut_off=True), ["cut_off"]),
        (CallFilter(interrupted=True), ["cut_off"]),
        (CallFilter(tool_failed=True), ["failed"]),
        (CallFilter(engine_failed=True), ["failed"]),
        (CallFilter(state="broken"), ["quick"]),
        (CallFilter(state="running"), ["running"]),
        (CallFilter(since=1.8e9 + 60, until=1.8e9 + 180), ["cut_off", "slow"]),
        (CallFilter(state="ended", cut_off=True, tool_failed=True), []),
    ],
)
def test_calls_are_found_by_what_went_wrong(store: CallStore, wanted: CallFilter, names: list[str]):
    known(store)
    assert [call.call_id for call in store.found(wanted, 10)] == names


OF_A_LINE = (Fact("line_call", "CA12"), Fact("from", "+15550100"), Fact("to", "+15550111"))


@pytest.mark.parametrize("told", ["+15550100", "CA12"])
def test_calls_are_found_by_what_their_phone_line_told(store: CallStore, told: str):
    store.ended(replace(SUMMARY, call_id="by_phone", facts=OF_A_LINE), "ended", "place", 1)
    store.ended(replace(SUMMARY, call_id="other", facts=(Fact("from", "+15550123"),)), "ended", "place", 1)
    assert [call.call_id for call in store.found(CallFilter(provider_value=told), 10)] == ["by_phone"]
    assert store.found(CallFilter(provider_value=told, cut_off=True), 10) == []
    assert store.facts_of("by_phone") == list(OF_A_LINE)


def test_of_a_deleted_call_nothing_that_its_line_told_is_left(store: CallStore):
    store.ended(replace(SUMMARY, facts=OF_A_LINE), "ended", "place", 1)
    store.delete("call_1")
    assert store.facts_of("call_1") == []


def test_pages_of_calls_have_each_call_once_though_they_began_together(store: CallStore):
    for number in range(7):
        store.began(f"call_{number}", 1.8e9 + number // 3, "")
    pages, behind = [], None
    while page := store.found(CallFilter(), 2, behind):
        pages += [[call.call_id for call in page]]
        behind = Cursor(page[-1].started_at, page[-1].call_id)
    assert [call_id for page in pages for call_id in page] == [
        call.call_id for call in store.found(CallFilter(), 100)
    ]
    assert [len(page) for page in pages] == [2, 2, 2, 1]


def test_to_tell_the_end_twice_changes_nothing(store: CallStore):
    for _ in range(2):
        store.ended(SUMMARY, "ended", "place", 1)
    assert len(store.newest()) == len(store.turns_of("call_1")) == 1


def test_a_call_that_is_known_does_not_begin_again(store: CallStore):
    store.ended(SUMMARY, "ended", "place", 1)
    store.began("call_1", 1.8e9, "place")
    assert store.newest()[0].state == "ended"


def test_words_that_a_database_does_not_take_are_stored_all_the_same(store: CallStore):
    odd = replace(TURN, said="a\0b", heard="\ud800")
    store.ended(replace(SUMMARY, turns=(odd,)), "ended", "place", 1)
    (turn,) = store.turns_of("call_1")
    assert (turn.said, turn.heard) == ("a\N{REPLACEMENT CHARACTER}b", "?")


def test_a_deleted_call_leaves_nothing(store: CallStore):
    store.ended(SUMMARY, "ended", "place", 1)
    store.delete("call_1")
    assert store.get("call_1") is None
    assert not store.turns_of("call_1")
    assert not store.tools_of("call_1")


def test_the_migrations_make_the_tables_that_the_store_uses(store: CallStore, url: str):
    dialect = url.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(dialect, poolclass=sa.NullPool)  # closed with its connection
    with engine.connect() as connection:
        assert not compare_metadata(MigrationContext.configure(connection), metadata)


def test_to_upgrade_again_changes_nothing(store: CallStore):
    store.ended(SUMMARY, "ended", "place", 1)
    store.upgrade()
    assert store.turns_of("call_1") == [TURN]


def test_servers_that_start_together_upgrade_one_after_the_other(tmp_path: Path):
    urls = [f"sqlite:///{tmp_path / str(number)}.db" for number in range(3)]
    command = [sys.executable, "-c", UPGRADE, *urls]
    pipes: dict[str, Any] = {"stdin": PIPE, "stdout": PIPE, "stderr": PIPE, "bufsize": 0}
    servers = [subprocess.Popen(command, **pipes) for _ in range(3)]
    for server in servers:
        server.stdout.readline()
    for server in servers:
        server.stdin.write(b"now\n")
    assert [server.communicate()[1] for server in servers] == [b"", b"", b""]


def test_a_deleted_word_is_in_no_file_of_sqlite(tmp_path: Path):
    store, reader = CallStore(sqlite_url(tmp_path)), CallStore(sqlite_url(tmp_path))
    store.upgrade()
    store.ended(SUMMARY, "ended", "place", 1)
    assert reader.turns_of("call_1")
    store.delete("call_1")
    assert not [path for path in tmp_path.iterdir() if b"is there a pool" in path.read_bytes()]
    store.close()
    reader.close()


def test_a_database_that_is_gone_is_told_of(tmp_path: Path):
    with pytest.raises(StoreError, match="unable to open"):
        CallStore(sqlite_url(tmp_path / "nowhere")).newest()
    with pytest.raises(StoreError, match="refused"):
        CallStore("postgresql://test@127.0.0.1:1/postgres").newest()


@pytest.mark.parametrize("url", ["nonsense", "oracle9://x"])
def test_what_is_no_database_is_refused(url: str):
    with pytest.raises(StoreError, match=url):
        CallStore(url)


def test_a_database_of_another_kind_is_refused_with_those_that_are_allowed():
    with pytest.raises(StoreError, match=r"mysql://x.*allowed are sqlite and postgresql"):
        CallStore("mysql://x")


def rows(*ages_days: float, state: str = "ended"):
    row = CallRow("", "ended", 0, 1, "", "", 100, 0, 0, 0, 0)
    store = [replace(row, call_id=str(age), started_at=-86_400 * age, state=state) for age in ages_days]
    return sorted(store, key=lambda row: -row.started_at)


def test_old_calls_expire_and_running_ones_do_not():
    kept = rows(0.5, 2, 40)
    assert [row.call_id for row in expired(kept, Retention(30, 0), 0)] == ["40"]
    assert not list(expired(rows(40, state="running"), Retention(30, 0), 0))
    assert not list(expired(kept, Retention(0, 0), 0))


def test_a_clock_that_was_set_forward_is_believed_when_it_has_stayed_so():
    clock = ClockStepDetector()
    looks = [(1000.0, 0.0), (4600.0, 3600.0), (3_000_000.0, 7200.0), (3_003_600.0, 10_800.0)]
    assert [clock.set_forward(*look) for look in looks] == [False, False, True, False]
    assert not clock.set_forward(10_000.0, 14_400.0), "set back nothing is old that was not"


def test_the_oldest_expire_that_are_too_many_bytes_together():
    assert [row.call_id for row in expired(rows(1, 2, 3, 4), Retention(0, 250), 0)] == ["3", "4"]
