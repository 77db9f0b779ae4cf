"""Commands of engines, voices and weights: their arguments, and their functions, which import what they need,
so that `--help` is fast.
"""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from pathlib import Path

from voiceagent.config import add_command, add_config, take_config


def add_calibrate(calibrate: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent calibrate`."""
    add_config(calibrate, positional=True)
    what = 'turns of your callers, a line {"agent": "...", "parts": ["...", "..."]} each (those shipped)'
    calibrate.add_argument("--turns", type=Path, metavar="FILE.jsonl", help=what)
    calibrate.set_defaults(command=_calibrate)


def add_transcribe(transcribe: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent transcribe RECORDING...`."""
    transcribe.add_argument("recordings", nargs="+", type=Path, metavar="speech.wav", help="WAV files")
    add_config(transcribe)
    transcribe.add_argument("--json", action="store_true", help="print JSON, for machines")
    transcribe.set_defaults(command=_transcribe)


def add_adapt(adapt: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent adapt TABLE`."""
    what = "a file: on each line a WAV file, a tab, and its transcript"
    adapt.add_argument("recordings", type=Path, metavar="TABLE", help=what)
    out = "the file that is written, for recognizer.adapter (adapter.npz)"
    adapt.add_argument("--out", type=Path, default=Path("adapter.npz"), metavar="FILE", help=out)
    adapt.add_argument(
        "--model",
        type=Path,
        metavar="FOLDER",
        help="folder of a tiny Moonshine; the installed one by default",
    )
    adapt.add_argument(
        "--share",
        type=float,
        default=0.4,
        metavar="PART",
        help="share of the correction to apply (0.4); more makes other voices worse",
    )
    adapt.add_argument("--epochs", type=int, default=1, metavar="N", help="passes over the recordings (1)")
    adapt.set_defaults(command=_adapt)


def add_engines(engines: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent engines`."""
    engines.add_argument("name", nargs="?", help="an engine, to print its keys; left out, lists all engines")
    engines.set_defaults(command=_engines)


def add_weights(weights: argparse.ArgumentParser) -> None:
    """`voiceagent weights [NAME]`."""
    weights.add_argument(
        "name", nargs="?", help="weights to download, or to verify if they are stored; left out, lists all"
    )
    weights.set_defaults(command=_weights)


def add_voices(voices: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent voices [say NAME TEXT]`."""
    add_config(voices)
    voices.set_defaults(command=_voices)
    say = add_command(voices.add_subparsers(metavar="say"), "say", "write a text in one voice as a WAV file")
    say.add_argument("voice", metavar="NAME", help='a listed voice; "" for the usual one')
    say.add_argument("text", metavar="TEXT", help="to speak")
    out = "WAV file to write (voice.wav)"
    say.add_argument("-o", "--out", type=Path, default=Path("voice.wav"), metavar="FILE", help=out)
    config = "the configuration, also before `say`"
    say.add_argument("--config", type=Path, default=argparse.SUPPRESS, metavar="FILE", help=config)
    say.set_defaults(command=_say)


def add_convert(convert: argparse.ArgumentParser) -> None:
    """`voiceagent convert MODEL.gguf FOLDER`."""
    convert.add_argument("model", help="GGUF file, or weights:NAME/FILE of downloaded weights")
    convert.add_argument("folder", type=Path, help="folder to write, new or empty")
    convert.add_argument(
        "--to",
        choices=("checkpoint", "ctranslate2"),
        default="checkpoint",
        help="for vLLM and Transformers, in bfloat16 (checkpoint), or for CTranslate2, in int8",
    )
    convert.set_defaults(command=_convert)


def _calibrate(options: argparse.Namespace) -> None:
    from voiceagent.cli.calibrate import calibrate_llm
    from voiceagent.config.tables import load

    calibrate_llm(load(options.config), options.turns)


def _transcribe(options: argparse.Namespace) -> None:
    from voiceagent.cli.transcribe import transcribe
    from voiceagent.config.tables import load

    take_config(options, "recordings")
    transcribe(load(options.config), options.recordings, as_json=options.json)


def _adapt(options: argparse.Namespace) -> None:
    from audio.recognizers import RecognizerError
    from voiceagent.validation.errors import CommandFailed, reason_of

    if missing := [name for name in ("torch", "tqdm") if find_spec(name) is None]:
        raise CommandFailed(f"adapt needs {' and '.join(missing)}: pip install 'voiceagent-server[train]'")
    from audio.adaptation.adapt import adapt

    try:
        adapt(options.recordings, options.out, options.model, options.share, options.epochs)
    except OSError as error:
        raise CommandFailed(f"adapt: {error.filename}: {reason_of(error)}") from error
    except (ValueError, RecognizerError) as error:
        raise CommandFailed(f"adapt: {error}") from error


def _engines(options: argparse.Namespace) -> None:
    from voiceagent.config.engine_reference import engine_text

    if options.name:
        print(engine_text(options.name))
        return
    from rich.console import Console
    from rich.table import Table

    from voiceagent.engines.catalogue import KNOWN_ENGINES

    table = Table("stage", "engine", "installed", "needs", "licence")
    for known in KNOWN_ENGINES:
        installed = "yes" if known.installed() else "no"
        table.add_row(known.stage, known.name, installed, known.needs, known.licence)
    Console().print(table)
    for known in KNOWN_ENGINES:  # outside the table, which would truncate what users copy
        if not known.installed():
            print(f"{known.stage} {known.name}: {known.install}")
    print("Any other engine is named as package.module:Class, with its keyword arguments as keys beside it.")


def _weights(options: argparse.Namespace) -> None:
    from voiceagent.cli.weights import fetch_weights, print_weights

    if options.name is None:
        print_weights(os.environ)
    else:
        fetch_weights(options.name, os.environ)


def _voices(options: argparse.Namespace) -> None:
    from voiceagent.cli.voices import print_voices
    from voiceagent.config.tables import load

    print_voices(load(options.config))


def _say(options: argparse.Namespace) -> None:
    from voiceagent.cli.voices import say
    from voiceagent.config.tables import load

    say(load(options.config), options.voice, options.text, options.out)


def _convert(options: argparse.Namespace) -> None:
    from voiceagent.cli.weights import convert

    convert(options.model, options.folder, options.to, os.environ)
