"""The configuration file: its tables, their validation, and the configurations that are shipped."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

_OWN = Path("voiceagent.toml")
"""Written by `voiceagent init`."""
_DEMO = Path("configs/demo.toml")


def places(folder: str) -> tuple[Path, Path]:
    """Return the possible paths of a folder: in the repository, and where a wheel installs it."""
    return Path(__file__).parents[2] / folder, Path(sys.prefix) / "share/voiceagent" / folder


def shipped_configs() -> dict[str, Path]:
    """Return the shipped configurations by name, such as "demo"."""
    for place in places("configs"):
        if found := sorted(place.glob("*.toml")):
            return {path.stem: path for path in found}
    return {}


def default_config() -> Path:
    """Return `voiceagent.toml` of the working directory if it exists, else the demo's."""
    if _OWN.exists():
        return _OWN
    return _DEMO if _DEMO.exists() else shipped_configs().get("demo", _DEMO)


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, purpose: str
) -> argparse.ArgumentParser:
    """Add a subcommand; its help begins with `purpose`, as in the list of commands."""
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

    positional: accept `COMMAND FILE` too, as the last argument. A command with a list of files calls
    `take_config` instead.
    """
    what = "the configuration, a TOML file (voiceagent.toml if it is in this folder, else the demo's)"
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


def take_config(options: argparse.Namespace, files: str) -> None:
    """Take the configuration out of a command's list of files: `voiceagent talk my.toml question.wav`."""
    given: list[Path] = getattr(options, files)
    for path in [path for path in given if path.suffix == ".toml"]:
        given.remove(path)
        options.config = path
