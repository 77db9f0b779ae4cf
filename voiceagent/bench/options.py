"""Command line options shared by several benchmarks."""

from __future__ import annotations

import argparse
from pathlib import Path

from voiceagent.config import add_config


def add_material(parser: argparse.ArgumentParser, folder: Path) -> None:
    """Add the option of the folder of material, by default `folder`."""
    parser.add_argument(
        "--material",
        type=Path,
        default=folder,
        metavar="FOLDER",
        help="folder of callers' texts, in the files that voiceagent/bench/material.py names (the demo's)",
    )


def add_recordings(parser: argparse.ArgumentParser, material: Path) -> None:
    """Add the options of recordings, a configuration, and the voice of unrecorded questions."""
    add_material(parser, material)
    parser.add_argument(
        "recordings",
        nargs="*",
        type=Path,
        metavar="speech.wav",
        help="recordings of callers, or folders of them",
    )
    add_config(parser)
    parser.add_argument(
        "--voice",
        type=Path,
        metavar="FILE",
        help="configuration whose synthesizer speaks unrecorded text (that of --config)",
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed (1)")


def add_measurement(parser: argparse.ArgumentParser, material: Path) -> None:
    """Add the same options, and JSON output."""
    add_recordings(parser, material)
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")
