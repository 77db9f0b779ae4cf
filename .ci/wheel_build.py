"""How the wheel is built: `audio` and `llmcore` lie inside of `voiceagent` there, as `_audio` and `_llmcore`.

An environment has packages of other people too, any of which may be called `audio`. In the repository, and
so in an editable install, both folders stay where they are. What names them is found in the syntax tree:
imports, and strings that are exactly the name of one of their modules, or of a class or function in one. No
line moves.

The build backend is setuptools' own; it is here so that `tool.setuptools.cmdclass` finds the two commands
(PEP 517, in-tree backends).
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

CARRIED = ("audio", "llmcore")
_CARRIED = re.compile(rf"({'|'.join(CARRIED)})(\.|$)")
_REFERENCE = re.compile(r"(?P<module>\w+(\.\w+)+?)(:\w+|\.[A-Z]\w*)?")


class BuildPackages(build_py):
    """Copies the packages to what the wheel is made of, where two of them go into `voiceagent`."""

    def run(self) -> None:
        """Copy the packages. An editable install builds nothing: it uses the repository."""
        super().run()
        if not self.editable_mode:
            carry(Path(self.build_lib))


class TellOfPackages(egg_info):
    """Tells that the distribution has one top-level package, and that its source has this file."""

    def run(self) -> None:
        """Write what is told of the distribution."""
        super().run()
        (Path(self.egg_info) / "top_level.txt").write_text("voiceagent\n")

    def find_sources(self) -> None:
        """List what the archive of the source has: without this file no wheel could be built of it."""
        super().find_sources()
        self.filelist.append(".ci/wheel_build.py")


def carry(built: Path) -> None:
    """Move both folders into the `voiceagent` beside them, and rewrite what names them. Raises ValueError."""
    modules = {
        ".".join(path.relative_to(built).with_suffix("").parts).removesuffix(".__init__")
        for name in CARRIED
        for path in (built / name).rglob("*.py")
    }
    for name in CARRIED:
        into = built / f"voiceagent/_{name}"
        shutil.rmtree(into, ignore_errors=True)  # of an earlier build
        shutil.move(built / name, into)
    for path in (built / "voiceagent").rglob("*.py"):
        try:
            path.write_bytes(rewritten(path.read_bytes(), modules))
        except ValueError as error:
            raise ValueError(f"{path.relative_to(built)}: {error}") from None


def rewritten(source: bytes, modules: set[str]) -> bytes:
    """Return the source with the carried packages renamed; nothing else changes.

    modules: the full names of all modules that are carried. Raises ValueError where an import binds the name
    of the package itself, which is another one in the wheel.
    """
    lines = source.splitlines(keepends=True)
    for line, column, name in sorted(_names(ast.parse(source), modules), reverse=True):
        text = lines[line - 1]
        at = text.find(name.encode(), column)
        if at < 0:
            raise ValueError(f"line {line}: {name} does not stand in one piece there")
        lines[line - 1] = text[:at] + b"voiceagent._" + text[at:]
    return b"".join(lines)


def _names(tree: ast.Module, modules: set[str]) -> Iterator[tuple[int, int, str]]:
    """Line, least column in bytes, and text of all that names what is carried."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str() as module, level=0) if _CARRIED.match(module):
                yield node.lineno, node.col_offset, module
            case ast.Import():
                for alias in filter(lambda alias: _CARRIED.match(alias.name), node.names):
                    if alias.asname is None:
                        raise ValueError(f"line {node.lineno}: import from {alias.name}, or import it as")
                    yield alias.lineno, alias.col_offset, alias.name
            case ast.Constant(value=str() as text) if reference := _REFERENCE.fullmatch(text):
                if reference["module"] in modules:
                    yield node.lineno, node.col_offset, text
