"""The sources of context that a configuration names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from voiceagent.config.tables import Config
from voiceagent.mcp.config import McpServerConfig
from voiceagent.mcp.pool import McpPool
from voiceagent.server.context import build_context
from voiceagent.session.config import ContextConfig
from voiceagent.session.context import ContextSources
from voiceagent.telemetry.metrics import Metrics
from voiceagent.validation.errors import ConfigError

SHOP = McpServerConfig(label="shop", url="https://shop.example/mcp")


class Reads:
    """A connection to an MCP server that only reads."""

    async def read(self, uri: str) -> tuple[str, ...]:
        return (f"read {uri}",)


CODE = """
async def find(words):
    return f"about {words}"


def plain(words):
    return words
"""


@pytest.fixture(autouse=True)
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sources_of_a_test.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)


def built(*sources: dict[str, Any], **context: Any) -> ContextSources:
    table = ContextConfig.model_validate({"sources": sources, "min_relevance": 0.0} | context)
    config = Config.model_construct(context=table)
    config._source = Path(__file__)
    pool = McpPool(config.mcp, (SHOP,), {}, Path(__file__), lambda *_: Reads())  # type: ignore[arg-type,return-value]
    found = build_context(config, pool, Metrics())
    assert found is not None
    return found


async def test_a_function_is_asked() -> None:
    sources = built({"name": "manual", "python": "sources_of_a_test:find"})
    assert [one.text for one in await sources.find("the pool", {})] == ["about the pool"]


async def test_a_resource_is_asked_with_the_words_in_its_uri() -> None:
    sources = built({"name": "kb", "mcp": "shop", "uri": "kb://search/{words}"})
    assert [one.text for one in await sources.find("the pool?", {})] == ["read kb://search/the%20pool%3F"]


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        ([{"name": "a", "python": "sources_of_a_test:plain"}], "async def"),
        ([{"name": "a", "python": "sources_of_a_test:nothing"}], r"context\.sources\.a\.python"),
        ([{"name": "a", "mcp": "crm", "uri": "kb://x"}], "labels of agent.mcp: shop"),
        ([{"name": "a", "mcp": "shop", "uri": "kb://x"}] * 2, "names must differ"),
    ],
    ids=["no coroutine", "not there", "unknown server", "one name twice"],
)
def test_what_is_wrong_with_a_source_is_told(sources: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        built(*sources)


def test_nothing_is_asked_without_a_table() -> None:
    config = Config.model_construct()
    assert build_context(config, McpPool(config.mcp, (), {}, Path("none.toml")), Metrics()) is None
