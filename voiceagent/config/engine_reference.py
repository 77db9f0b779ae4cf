"""Reference of one engine: its own keys, read from its class.

A key's meaning is its attribute docstring, or its entry in the `Args:` of the class's docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from textwrap import dedent

from voiceagent.config.reference import Table, attribute_docstrings, keys_of, to_text
from voiceagent.config.renamed import RENAMED_OPTIONS
from voiceagent.engines.build import keyword_model
from voiceagent.engines.catalogue import KNOWN_ENGINES, KnownEngine
from voiceagent.validation.errors import CommandFailed
from voiceagent.validation.references import import_object

_ARGS = re.compile(r"^Args:\n((?:[ \t]+.*\n?|\n)+)", re.MULTILINE)
_ARGUMENT = re.compile(r"(\w+)(?: \([^)]*\))?: (.*)", re.DOTALL)
_WORKERS = "Processes of an engine that blocks."
_VOICES = "Voices by the names that clients and agents ask for; that of `agent.language` is usual."


def engine_text(name: str) -> str:
    """Return the keys of the engines called `name`, for a terminal. Raises CommandFailed."""
    found = [known for known in KNOWN_ENGINES if known.name == name]
    if not found:
        allowed = ", ".join(dict.fromkeys(known.name for known in KNOWN_ENGINES))
        raise CommandFailed(f"{name}: no such engine; allowed: {allowed}")
    return "\n\n".join(to_text(engine_table(known)) for known in found)


def engine_table(known: KnownEngine) -> Table:
    """Return the table of an engine, with its own keys. Raises CommandFailed if it cannot be imported."""
    try:
        engine_class = import_object(known.path)
    except ImportError as error:
        raise CommandFailed(f"{known.name}: not installed; install it with: {known.install}") from error
    meanings = {"workers": _WORKERS, "voices": _VOICES} | dict(_meanings(engine_class))
    refused = RENAMED_OPTIONS.get(known.name, {}) if known.stage == "llm" else {}
    keys = tuple(
        replace(key, meaning=meanings.get(key.name, ""))
        for key in keys_of(keyword_model(engine_class))
        if key.name not in refused
    )
    summary = (inspect.getdoc(engine_class) or "").split("\n\n")[0]
    return Table(known.name, f'[{known.stage}] engine = "{known.name}"', " ".join(summary.split()), keys)


def _meanings(engine_class: type) -> Iterator[tuple[str, str]]:
    """Yield keys and meanings; those of base classes first, so that a class can override them."""
    for each in reversed(engine_class.__mro__[:-1]):
        if "__doc__" in vars(each) and (match := _ARGS.search(f"{inspect.cleandoc(each.__doc__ or '')}\n")):
            for entry in re.split(r"\n(?=\S)", dedent(match[1]).strip()):
                if argument := _ARGUMENT.match(entry):
                    yield argument[1], " ".join(argument[2].split())
        yield from attribute_docstrings(each)
