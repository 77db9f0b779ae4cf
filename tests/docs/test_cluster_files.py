"""The files of `configs/cluster` are valid for parsers, our own code and, where installed, Ray."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from llmcore.engines.openai_engine import SESSION_HEADER
from voiceagent.config.tables import load
from voiceagent.telemetry.metrics import Metrics
from voiceagent.validation.errors import ConfigError

CLUSTER = Path(__file__).parents[2] / "configs/cluster"


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CLUSTER / name).read_text())
    return found


def served() -> list[dict[str, Any]]:
    """The configurations of Ray Serve: that of this machine and the one for Kubernetes."""
    return [document("serve.yaml"), yaml.safe_load(document("rayservice.yaml")["spec"]["serveConfigV2"])]


def test_a_gateway_takes_its_own_url_from_the_environment() -> None:
    config = load(CLUSTER / "gateway.toml")
    one = {"GATEWAY_URL": "https://one.example/"}
    assert config.cluster.gateway_url(one, config.source) == "https://one.example"
    with pytest.raises(ConfigError, match=r"cluster\.gateway_url_env = 'GATEWAY_URL': holds ''"):
        config.cluster.gateway_url({}, config.source)


def test_gateways_name_the_replicas_that_ray_serves() -> None:
    prefixes = [application["route_prefix"] for application in document("serve.yaml")["applications"]]
    port = document("serve.yaml")["http_options"]["port"]
    config = load(CLUSTER / "gateway.toml")
    assert config.llm.replicas == tuple(f"http://127.0.0.1:{port}{prefix}/v1" for prefix in prefixes)


@pytest.mark.parametrize("which", [0, 1])
def test_ray_serves_one_application_a_replica(which: int) -> None:
    applications = served()[which]["applications"]
    assert [one["name"] for one in applications] == ["llm-0", "llm-1"]
    assert {one["import_path"] for one in applications} == {"ray_llm:replica"}
    schema = pytest.importorskip("ray.serve.schema", reason="pip install 'voiceagent-server[cluster]'")
    schema.ServeDeploySchema.model_validate(served()[which])


@pytest.mark.parametrize("name", ["serve.yaml", "scaled.yaml"])
def test_ray_builds_the_applications_from_their_arguments(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    api = pytest.importorskip("ray.serve._private.api", reason="pip install 'voiceagent-server[cluster]'")
    monkeypatch.syspath_prepend(CLUSTER)
    for application in document(name)["applications"]:
        module, builder = application["import_path"].split(":")
        build = getattr(importlib.import_module(module), builder)
        built = api.call_user_app_builder_with_args_if_necessary(build, application["args"])
        assert type(built).__name__ == "Application"


@pytest.mark.parametrize("name", ["scaled.yaml", "prefill_decode.yaml"])
def test_ray_serves_one_application_for_all_replicas(name: str) -> None:
    (application,) = document(name)["applications"]
    assert application["name"] == "llm"
    schema = pytest.importorskip("ray.serve.schema", reason="pip install -e '.[cluster]'")
    schema.ServeDeploySchema.model_validate(document(name))


def test_rays_autoscaler_counts_the_calls_that_gateways_tell_of() -> None:
    arguments = document("scaled.yaml")["applications"][0]["args"]
    config = load(CLUSTER / "gateway.toml").cluster
    assert (arguments["redis_url"], arguments["reserve_calls"]) == (config.redis_url, config.reserve_calls)


def test_prefill_and_decode_have_one_model_and_a_connector_between_them() -> None:
    legs = document("prefill_decode.yaml")["applications"][0]["args"]
    prefill, decode = legs["prefill_config"], legs["decode_config"]
    assert prefill["model_loading_config"] == decode["model_loading_config"]
    for leg in (prefill, decode):
        assert leg["engine_kwargs"]["enable_prefix_caching"]
        assert leg["engine_kwargs"]["kv_transfer_config"]["kv_connector"] == "NixlConnector"


def test_routers_before_replicas_go_by_the_header_that_is_sent() -> None:
    router = document("production-stack.yaml")["routerSpec"]
    assert (router["routingLogic"], router["sessionKey"]) == ("session", SESSION_HEADER)


def test_the_autoscaler_asks_for_a_metric_and_a_capacity_that_there_are() -> None:
    (trigger,) = document("keda.yaml")["spec"]["triggers"]
    (metric,) = re.findall(r"voiceagent_\w+", trigger["metadata"]["query"])
    registry: CollectorRegistry = Metrics().registry
    assert f"\n{metric} ".encode() in generate_latest(registry)
    config = load(CLUSTER / "gateway.toml")
    assert int(trigger["metadata"]["threshold"]) == config.server.max_calls
    assert f"+ {config.cluster.reserve_calls}" in trigger["metadata"]["query"]
