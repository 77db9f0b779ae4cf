"""The configuration file: its tables, and what checks them."""

from __future__ import annotations

import argparse
from pathlib import Path

_DEMO = Path("configs/demo.toml")


def add_config(parser: argparse.ArgumentParser) -> None:
    """Let a command be given its configuration, the demo's by default."""
    parser.add_argument("--config", type=Path, default=_DEMO, metavar="FILE", help=f"configuration ({_DEMO})")
