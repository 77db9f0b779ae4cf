"""Bounds on the size of the code: the amount that a reader has to hold in mind at once."""

from __future__ import annotations

import ast
import gc
import re
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [path for package in ("audio", "llmcore", "voiceagent") for path in (ROOT / package).rglob("*.py")]
MAX_CHANGED = 10
"""Fields of one class that change after it was made."""
MAX_PARAMETERS = 8
"""Of a constructor. A frozen class is a value with named fields, and an engine's options are keys."""
OPTIONS = {"RemoteSettings", "VllmSettings", "WhisperRecognizer"}
SHORT_LINES, MAX_SHORT = 40, 18
MAX_LINES = 40
"""Of a function, but for its docstring."""
LISTS = {
    "voiceagent/calls/migrations/versions/0001_calls.py: upgrade",
}
"""Functions that list columns one after the other: parts of them would say no more."""


@pytest.fixture(scope="module", autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Parse in a quarter of the time: the collector would look at all trees again and again."""
    gc.disable()
    yield
    gc.enable()


Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
NESTING = ast.stmt | ast.ExceptHandler | ast.match_case
"""Nodes that may hold a definition. Expressions, most of a tree, hold none, and are not searched."""


def nested(node: ast.AST) -> Iterator[ast.AST]:
    return (each for each in ast.iter_child_nodes(node) if isinstance(each, NESTING))


def definitions_in(path: Path) -> tuple[Definition, ...]:
    """Return a file's module, classes and functions, the outer before the inner."""
    found: list[Definition] = []
    nodes: deque[ast.AST] = deque([ast.parse(path.read_text())])
    while nodes:
        node = nodes.popleft()
        nodes += nested(node)
        if isinstance(node, Definition):
            found.append(node)
    return tuple(found)


definitions = cache(definitions_in)


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for path in FILES:
        for node in definitions(path):
            if isinstance(node, ast.ClassDef):
                yield f"{path.relative_to(ROOT)}: {node.name}", node


def changed_fields(node: ast.ClassDef) -> set[str]:
    """Return the fields that the class' own methods assign, except its constructors."""
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        part.attr
        for method in methods
        if method.name not in ("__init__", "__post_init__")
        for part in ast.walk(method)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
        if isinstance(part.value, ast.Name) and part.value.id == "self"
    }


def parameters_of_a_changeable_record(node: ast.ClassDef) -> int:
    decorators = [ast.unparse(each) for each in node.decorator_list]
    if not any("dataclass" in each and "frozen=True" not in each for each in decorators):
        return 0
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    return sum(
        "init=False" not in ast.unparse(each) and "ClassVar" not in ast.unparse(each) for each in fields
    )


def test_no_class_changes_more_than_ten_of_its_fields() -> None:
    changed = {name: sorted(changed_fields(node)) for name, node in classes()}
    assert {name: fields for name, fields in changed.items() if len(fields) > MAX_CHANGED} == {}


def test_no_record_that_changes_has_more_than_eight_parameters() -> None:
    counted = {
        name: parameters_of_a_changeable_record(node) for name, node in classes() if node.name not in OPTIONS
    }
    assert {name: count for name, count in counted.items() if count > MAX_PARAMETERS} == {}


def test_every_exemption_is_needed() -> None:
    large = {node.name for _, node in classes() if parameters_of_a_changeable_record(node) > MAX_PARAMETERS}
    assert large == OPTIONS


def functions(node: ast.AST, around: str = "") -> Iterator[tuple[str, int]]:
    """Each function, named with what it stands in, and its lines."""
    for each in nested(node):
        name = f"{around}{getattr(each, 'name', '')}"
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            said = each.body[0] if ast.get_docstring(each) is not None else None
            told = 0 if said is None else (said.end_lineno or 0) - said.lineno + 1
            yield name, (each.end_lineno or 0) - each.lineno + 1 - told
        yield from functions(each, f"{name}." if name != around else around)


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{path.relative_to(ROOT)}: {name}": lines
        for path in FILES
        for name, lines in functions(definitions(path)[0])
        if lines > MAX_LINES
    }
    assert long.keys() == LISTS, long


def test_few_files_are_short() -> None:
    short = [
        path
        for path in FILES
        if path.name != "__init__.py" and "migrations" not in path.parts
        if len(path.read_text().splitlines()) < SHORT_LINES
    ]
    assert len(short) < MAX_SHORT, sorted(map(str, short))


QUESTION_WORDS = {"what", "who", "whether", "where", "how", "which", "when", "whose", "whoever"}


def test_a_docstring_begins_with_a_verb_or_a_noun() -> None:
    asking = [
        f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"
        for path in (*FILES, *(ROOT / "tests").rglob("*.py"))
        for node in definitions_in(path)
        if (text := ast.get_docstring(node)) and text.split()[0].lower() in QUESTION_WORDS
    ]
    assert asking == []


def test_docstrings_of_attributes_and_empty_functions_begin_so_too() -> None:
    asking = [
        f"{path.relative_to(ROOT)}:{statement.lineno}"
        for path in FILES
        for node in definitions(path)
        for statement in node.body
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(text := statement.value.value, str)
        and text.split()[0].lower() in QUESTION_WORDS | {"nothing", "nobody", "whatever"}
    ]
    assert asking == []


NOTE = re.compile(r"(?:^|[.;)]\s+)((?:[a-z]\w*|[A-Z_]{2,})(?:, [a-z]\w*)*): (?!//)")


def explained_names(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names that a docstring explains, as in "limit_s: longest wait.". A class with "Args:" may
    inherit them.
    """
    text = ast.get_docstring(node) or ""
    if isinstance(node, ast.ClassDef) and "Args:" in text:
        return set()
    return {name for names in NOTE.findall(text) for name in names.split(", ")}


def names_in(node: ast.AST) -> set[str]:
    """Return the names of parameters, fields, methods and texts in a function or class."""
    fields = ("arg", "id", "attr", "name", "value")
    found = (getattr(each, field, None) for each in ast.walk(node) for field in fields)
    return {name for name in found if isinstance(name, str)}


def test_a_docstring_explains_only_names_that_exist() -> None:
    unknown = [
        f"{path.relative_to(ROOT)}: {node.name} has no {name}"
        for path in FILES
        for node in definitions(path)
        if not isinstance(node, ast.Module) and (explained := explained_names(node))
        for name in explained - names_in(node)
    ]
    assert unknown == []
