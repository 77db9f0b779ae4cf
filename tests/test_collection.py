"""Cost of reading the tests, which each of the processes that run them pays."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
LATE = {"anthropic", "transformers", "vllm"}
"""Packages whose import takes seconds, and that few tests need: `support/late_import.py`."""
LATE_MODULES = {
    "audio.adaptation.adapt",
    "audio.adaptation.network",
    "llmcore.engines.anthropic_engine",
    "llmcore.engines.anthropic_messages",
    "llmcore.engines.vllm_internals.scheduler",
    "llmcore.engines.vllm_internals.speculation",
    "small_whisper",
    "tiny_whisper",
}
"""Modules of ours that import these when they are imported themselves."""


def imported(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports, or looks for, when it is read."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{each.name}" for each in node.names))
        elif isinstance(node, ast.Assign | ast.Expr):
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.importorskip":
                    yield ast.literal_eval(call.args[0])


def test_no_file_of_tests_imports_a_slow_package_when_it_is_read() -> None:
    files = [path for path in TESTS.rglob("*.py") if not {"bench", "clients"} & set(path.parts)]
    early = [
        f"{path.relative_to(TESTS)}: {module}"
        for path in files
        for module in imported(path)
        if path.stem not in LATE_MODULES
        if module.partition(".")[0] in LATE or module in LATE_MODULES
    ]
    assert not early, f"import these by late_import.late: {early}"
