"""The installation that a command runs from: checks its packages, and returns how its programs are called.

Another distribution may have a package with one of our names, and an installation need not be on the PATH.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from shutil import which


def shadowing_error() -> str:
    """Return an error if one of our packages is shadowed by another distribution's; "" if none is."""
    with suppress(PackageNotFoundError):
        found = f"voiceagent {version('voiceagent')}"
        return (
            f"{found} is another distribution, whose package has the name of ours: pip uninstall voiceagent"
        )
    ours = Path(__file__).parents[2]
    # A wheel has private names for them: .ci/wheel_build.py
    in_wheel = (ours / "voiceagent/_audio").is_dir()
    for name in () if in_wheel else ("audio", "llmcore"):
        spec = find_spec(name)
        if spec is None or spec.origin is None or not Path(spec.origin).is_relative_to(ours):
            found = str(Path(spec.origin).parent) if spec is not None and spec.origin else "it has no files"
            allowed = f"allowed: {ours / name}; install voiceagent-server in an environment of its own"
            return f"another package is called {name}: {found}; {allowed}"
    return ""


def command_of(program: str) -> str:
    """Return the command for a program of this installation: its name if the PATH finds it, else its path."""
    path = Path(sys.executable).with_name(program)
    if which(program) == str(path):
        return program
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
