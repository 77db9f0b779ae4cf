"""Reading of traces."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from voiceagent.bench.material import Conversation
from voiceagent.bench.trace import distribution, logs
from voiceagent.bench.trace.distribution import Distribution, Trace
from voiceagent.calls.log.event_log import CallLog, LogError, read_log
from voiceagent.validation.errors import CommandFailed
from voiceagent.validation.section import check


def read_trace(path: Path, conversations: Sequence[Conversation], seed: int) -> Trace:
    """Return the calls kept in a folder, or generated from a TOML file. Raises CommandFailed, ConfigError.

    conversations: callers' words for generated calls. seed: for generated calls.
    """
    if path.is_dir():
        trace = logs.trace_of([_read_log(each) for each in sorted(path.rglob("log.jsonl*"))])
        if not trace:
            raise CommandFailed(
                f"{path}: no kept call with words in it; allowed: a folder as [calls] keeps it"
            )
        return trace
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandFailed(
            f"{path}: cannot be read as TOML: {error}; allowed: a folder of kept calls, or a TOML file"
        ) from error
    return distribution.trace_of(check(Distribution, document, path), conversations, seed)


def _read_log(path: Path) -> CallLog:
    try:
        import zstandard  # noqa: PLC0415 - of the extra `calls`, without which none are kept
    except ImportError as error:
        raise CommandFailed("kept calls need zstandard: pip install 'voiceagent-server[calls]'") from error
    try:
        data = path.read_bytes()
        return read_log(zstandard.decompress(data) if path.suffix == ".zst" else data, str(path))
    except (LogError, OSError, zstandard.ZstdError) as error:
        raise CommandFailed(f"{path}: {error}") from error
