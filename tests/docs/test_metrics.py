"""The table of metrics and `docs/metrics.md`: complete, current, the only place that declares a metric."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from metric_reference import to_markdown

from voiceagent.telemetry.metric_table import METRICS

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "voiceagent/telemetry/metric_table.py"
CREATED_BY = {f"{kind}{made}" for kind in ("Counter", "Gauge", "Histogram") for made in ("", "MetricFamily")}


def trees() -> Iterator[tuple[Path, ast.Module]]:
    """Yield the modules of the server, without the benches."""
    for path in (ROOT / "voiceagent").rglob("*.py"):
        if "bench" not in path.parts and path != TABLE:
            yield path, ast.parse(path.read_text())


def test_page_is_what_the_table_generates() -> None:
    page = (ROOT / "docs/metrics.md").read_text()
    assert page == to_markdown(), "run: python tests/support/metric_reference.py docs/metrics.md"


def test_no_other_module_imports_the_classes_that_create_metrics() -> None:
    # they are parameters there
    typed = {ROOT / "voiceagent/session/publishing.py", ROOT / "voiceagent/server/engine_building.py"}
    imported = {
        (path, alias.name)
        for path, tree in trees()
        if path not in typed
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("prometheus_client")
        for alias in node.names
        if alias.name in CREATED_BY
    }
    assert not imported


def test_every_declared_metric_is_used_and_none_twice() -> None:
    names = [spec.name for specs in METRICS.values() for spec in specs]
    strings = {node.value for _, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    unused = [name for name in names if name not in strings and name.removeprefix("llm_") not in strings]
    assert len(names) == len(set(names))
    assert not unused


def test_every_metric_has_a_meaning_that_is_a_sentence() -> None:
    for specs in METRICS.values():
        for spec in specs:
            assert spec.meaning.endswith("."), spec
            assert spec.meaning[0].isupper() or spec.meaning[0].isdigit(), spec
