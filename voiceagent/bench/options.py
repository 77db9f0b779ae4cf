"""Options that several measurements have."""

from __future__ import annotations

import argparse
from pathlib import Path

from voiceagent.config import add_config


def add_material(parser: argparse.ArgumentParser, folder: Path) -> None:
    """Let a measurement be given what callers say: the files of a folder, `folder` by default."""
    parser.add_argument(
        "--material",
        type=Path,
        default=folder,
        metavar="FOLDER",
        help="what callers say, in the files of voiceagent/bench/material.py (the demo's)",
    )


def add_recordings(parser: argparse.ArgumentParser, material: Path) -> None:
    """Let it be given recordings as well, a configuration, and who speaks what is not recorded."""
    add_material(parser, material)
    parser.add_argument(
        "recordings",
        nargs="*",
        type=Path,
        metavar="speech.wav",
        help="what the caller says: recordings, or folders of them",
    )
    add_config(parser)
    parser.add_argument(
        "--voice",
        type=Path,
        metavar="FILE",
        help="whose synthesizer, or its fallback, speaks what is not recorded (that of --config)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of all that is random (1)")


def add_measurement(parser: argparse.ArgumentParser, material: Path) -> None:
    """The same, and its results as JSON."""
    add_recordings(parser, material)
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")
