"""The configuration file: its tables, what checks them, and those files that come with the installation."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

_OWN = Path("voiceagent.toml")
"""What `voiceagent init` writes."""
_DEMO = Path("configs/demo.toml")


def places(folder: str) -> tuple[Path, Path]:
    """Where a folder of the distribution may be: in the repository, or where an installed wheel puts it."""
    return Path(__file__).parents[2] / folder, Path(sys.prefix) / "share/voiceagent" / folder


def shipped_configs() -> dict[str, Path]:
    """The configurations that come with the installation, by name, as "demo"."""
    for place in places("configs"):
        if found := sorted(place.glob("*.toml")):
            return {path.stem: path for path in found}
    return {}


def default_config() -> Path:
    """`voiceagent.toml` of the working directory; where there is none, the demo's, of a clone or of the
    installation."""
    if _OWN.exists():
        return _OWN
    return _DEMO if _DEMO.exists() else shipped_configs().get("demo", _DEMO)


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, purpose: str
) -> argparse.ArgumentParser:
    """One more command; its own help begins with what it is for, as the list of all tells it."""
    description = f"{purpose[0].upper()}{purpose[1:]}."
    return commands.add_parser(name, help=purpose, description=description)


class _StorePath(argparse.Action):
    """Argparse action that stores a path. With `type=Path`, argparse would also convert the default that
    stands for "not given".
    """

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        setattr(namespace, self.dest, Path(values))


def add_config(parser: argparse.ArgumentParser, positional: bool = False) -> None:
    """Add `--config FILE` to a command. The default is the demo's configuration.

    positional: accept `COMMAND FILE` too, for commands without other file arguments.
    """
    what = "the configuration, a TOML file (voiceagent.toml, where it is here, or the demo's)"
    parser.add_argument("--config", type=Path, default=default_config(), metavar="FILE", help=what)
    if positional:
        parser.add_argument(
            "config",
            nargs="?",
            default=argparse.SUPPRESS,
            action=_StorePath,
            metavar="FILE",
            help="as --config FILE",
        )
