"""`voiceagent replay`: replays a call, or a folder of calls, from logs and compares the results."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import zstandard

from voiceagent.calls.kept_call import LOG_NAME
from voiceagent.calls.log.event_log import CallLog, LogError, read_log
from voiceagent.calls.places import PlaceError, names_at, read_at, read_log_at, recording_of
from voiceagent.calls.replaying.replay import CannotReplay, replay
from voiceagent.cli.calls import find_call, open_store
from voiceagent.config.tables import Config
from voiceagent.upstream.replaying import replay_handler
from voiceagent.validation.errors import CommandFailed

LOG_FILES = ("**/*.jsonl", "**/*.jsonl.zst", "**/*.zip")


def replay_call(config: Config, what: str) -> None:
    """Replay one call: the id of a kept one, a log file, or an export.

    Raises CommandFailed with the first event whose commands differ; ConfigError.
    """
    log = find_log(config, what)
    try:
        departure = replay(log, begin=replay_handler)
    except CannotReplay as error:
        raise CommandFailed(f"{what}: {error}") from error
    if departure is not None:
        print(departure.diff())
        raise CommandFailed(f"{what}: departs at event {departure.number} of {len(log.records)}")
    print(f"{what}: the same commands to all {len(log.records)} events")


def replay_all(folder: Path, as_json: bool) -> None:
    """Replay all logs in a folder. Raises CommandFailed if one differs or cannot be replayed."""
    began_s = time.monotonic()
    failures: dict[str, str] = {}
    calls, events, call_s = 0, 0, 0.0
    for path in logs_in(folder):
        calls += 1
        try:
            log = read_log(_log_bytes(path), str(path))
            departure = replay(log, begin=replay_handler)
        except (LogError, CannotReplay, OSError) as error:
            failures[str(path)] = str(error)
            continue
        events += len(log.records)
        call_s += log.records[-1].clock_s - log.header.clock_s if log.records else 0.0
        if departure is not None:
            failures[str(path)] = departure.diff()
    seconds = time.monotonic() - began_s
    if as_json:
        summary = {
            "calls": calls,
            "events": events,
            "call_s": call_s,
            "seconds": seconds,
            "failures": failures,
        }
        print(json.dumps(summary, indent=2))
    else:
        for name, failure in failures.items():
            print(f"{name}\n{failure}\n")
        print(f"{calls} calls, {events} events, {call_s / 60:.1f} minutes, run again in {seconds:.1f} s")
    if failures:
        raise CommandFailed(f"{len(failures)} of {calls} calls do not replay")
    if not calls:
        raise CommandFailed(f"{folder}: no log of a call is there")


def find_log(config: Config, what: str) -> CallLog:
    """Return the log of a call by its id or file. Raises CommandFailed, ConfigError."""
    path = Path(what)
    try:
        if path.is_file():
            return read_log(_log_bytes(path), what)
        with open_store(config) as store:
            place = find_call(store, what).place
        return read_log(read_log_at(place), place)
    except (LogError, PlaceError, OSError) as error:
        raise CommandFailed(str(error)) from error


def find_recording(config: Config, what: str) -> bytes | None:
    """Return the recording of a call; None if it has none, or only a log was given.

    Raises CommandFailed, ConfigError.
    """
    path = Path(what)
    try:
        if path.is_file() and path.suffix == ".zip":
            return _recording_in(path)
        if path.is_file():
            name = recording_of(names_at(str(path.parent))) if path.name.startswith(LOG_NAME) else None
            return None if name is None else read_at(str(path.parent), name)
        with open_store(config) as store:
            place = find_call(store, what).place
        name = recording_of(names_at(place))
        return None if name is None else read_at(place, name)
    except (PlaceError, OSError, zipfile.BadZipFile) as error:
        raise CommandFailed(str(error)) from error


def _recording_in(export: Path) -> bytes | None:
    with zipfile.ZipFile(export) as archive:
        name = recording_of(archive.namelist())
        return None if name is None else archive.read(name)


def logs_in(folder: Path) -> Iterator[Path]:
    return (path for pattern in LOG_FILES for path in sorted(folder.glob(pattern)))


def _log_bytes(path: Path) -> bytes:
    """Return the lines of a log, compressed or not, or of an export. Raises LogError, OSError."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                return archive.read(LOG_NAME)
        data = path.read_bytes()
        return zstandard.decompress(data) if path.suffix == ".zst" else data
    except (zipfile.BadZipFile, KeyError, zstandard.ZstdError) as error:
        raise LogError(f"{path}: no log is in it: {error}") from error
