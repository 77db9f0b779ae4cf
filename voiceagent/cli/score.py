"""`voiceagent score`: published scores of kept calls."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import zstandard
from rich.console import Console

from audio.detection.vad import SileroVad, VadError
from voiceagent.calls.call_speech import Reference, call_speech, parse_references
from voiceagent.calls.kept_call import LOG_NAME
from voiceagent.calls.log.event_log import LogError
from voiceagent.calls.log.logged_speech import logged_speech
from voiceagent.calls.places import PlaceError, names_at, read_at, read_log_at, recording_of
from voiceagent.cli.calls import find_call, open_store
from voiceagent.config.tables import Config
from voiceagent.scores.interaction import interaction_events
from voiceagent.scores.scorecard import CallSpeech, Figure, scorecard
from voiceagent.telemetry.terminal_table import print_table
from voiceagent.validation.errors import CommandFailed

INTERVALS = "Intervals of 95 %: Wilson's for shares, otherwise the bootstrap over calls."
_KEPT = "a folder of kept calls, an exported call, or an ID where [calls] folder is set"
_READ_ERRORS = (LogError, PlaceError, OSError, ValueError, KeyError, zipfile.BadZipFile, zstandard.ZstdError)


class _KeptFiles(NamedTuple):
    """Files of a call. recording: None without one."""

    name: str
    log: bytes
    recording: bytes | None


def score_calls(config: Config, calls: Sequence[str], said: Path | None, as_json: bool) -> None:
    """Score calls and print the result. Calls that cannot be read are named and left out.

    Args:
        config: configuration with `[calls]`.
        calls: folders, exported calls and IDs; all kept calls if empty.
        said: file of references.
        as_json: print JSON.

    Raises:
        CommandFailed: there is no call, it cannot be read, or the references are invalid.
    """
    references = _references(said)
    vad = SileroVad()
    speech, without_recording = [], 0
    for files in _files(config, calls):
        try:
            logged = logged_speech(files.log, files.name)
            if references is not None and logged.call_id not in references:
                continue
            known = None if references is None else references[logged.call_id]
            if files.recording is not None:
                vad.load()
            speech.append(call_speech(logged, files.recording, vad, known, config.agent.language))
        except (ValueError, VadError, LogError) as error:
            raise CommandFailed(f"{files.name}: {error}") from error
        without_recording += files.recording is None
    if not speech:
        raise CommandFailed(
            "there is no call to score" + (f" of which {said} says something" if said else "")
        )
    figures = scorecard(speech)
    if as_json:
        print(json.dumps(_as_json(speech, figures), indent=2))
    else:
        _print(speech, figures, without_recording)


def _references(said: Path | None) -> dict[str, list[Reference]] | None:
    if said is None:
        return None
    try:
        return parse_references(said.read_text(encoding="utf-8").splitlines(), str(said))
    except (OSError, ValueError) as error:
        raise CommandFailed(str(error)) from error


def _files(config: Config, calls: Sequence[str]) -> Iterator[_KeptFiles]:
    """Yield the files of each call. Raises CommandFailed."""
    if not calls and not config.calls.folder:
        raise CommandFailed(f"{config.source} keeps no calls; allowed: {_KEPT}")
    for what in calls or [str(config.calls_folder)]:
        path = Path(what)
        try:
            if path.is_dir():
                logs = sorted({log.parent for log in path.rglob(f"{LOG_NAME}*")})
                yield from (_at(str(place)) for place in logs)
            elif path.is_file():
                yield _exported(path)
            elif not config.calls.folder:
                raise CommandFailed(f"{what}: no such folder or file; allowed: {_KEPT}")
            else:
                with open_store(config) as store:
                    yield _at(find_call(store, what).place)
        except _READ_ERRORS as error:
            raise CommandFailed(f"{what}: {error}") from error


def _at(place: str) -> _KeptFiles:
    name = recording_of(names_at(place))
    return _KeptFiles(place, read_log_at(place), None if name is None else read_at(place, name))


def _exported(path: Path) -> _KeptFiles:
    with zipfile.ZipFile(path) as archive:
        name = recording_of(archive.namelist())
        return _KeptFiles(str(path), archive.read(LOG_NAME), None if name is None else archive.read(name))


def _print(speech: Sequence[CallSpeech], figures: Sequence[Figure], without_recording: int) -> None:
    heads = ("score", "defined by", "value", "95 % interval", "of", "in ticks of 200 ms")
    rows = [
        (
            figure.name,
            figure.source,
            _shown(figure.value, figure),
            "" if figure.interval is None else " to ".join(_shown(end, figure) for end in figure.interval),
            str(figure.count),
            "" if figure.on_ticks is None else _shown(figure.on_ticks, figure),
        )
        for figure in figures
    ]
    print_table(heads, rows, spare=("in ticks of 200 ms", "defined by"), right=2)
    minutes = sum(call.seconds for call in speech) / 60
    title = f"{len(speech)} calls of {minutes:.1f} minutes"
    if without_recording:
        title += f", {without_recording} of them by their logs, as they have no recording"
    Console().print(f"{title}. {INTERVALS}", markup=False, highlight=False)


def _shown(value: float | None, figure: Figure) -> str:
    if value is None:
        return "" if figure.count == 0 else "none"
    match figure.unit:
        case "s":
            return f"{value:.2f} s"
        case "share":
            return f"{value:.1%}"
        case _:
            return f"{value:.2f}"


def _as_json(speech: Sequence[CallSpeech], figures: Sequence[Figure]) -> dict[str, object]:
    return {
        "scores": [
            {**asdict(figure), "interval": None if figure.interval is None else list(figure.interval)}
            for figure in figures
        ],
        "calls": [
            {
                "call_id": call.call_id,
                "seconds": round(call.seconds, 3),
                "events": [
                    asdict(event) for event in interaction_events(call.caller, call.agent, call.seconds)
                ],
            }
            for call in speech
        ],
    }
