"""The configuration file: its tables, and what checks them."""

from __future__ import annotations

import argparse
from pathlib import Path

from voiceagent.config.shipped import shipped_configs

_DEMO = Path("configs/demo.toml")


def add_config(parser: argparse.ArgumentParser) -> None:
    """Let a command be given its configuration, the demo's by default: the repository's, or the one that the
    wheel brought.
    """
    default = _DEMO if _DEMO.exists() else shipped_configs().get("demo", _DEMO)
    parser.add_argument(
        "--config", type=Path, default=default, metavar="FILE", help="configuration (the demo's)"
    )
