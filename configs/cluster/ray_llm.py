"""Replicas of an LLM on Ray Serve: each is an application of its own, so that each has a URL of its own.

Gateways name all of these URLs under `[llm] replicas` and keep a call where its KV cache is; Ray starts a
replica again that is lost, and replaces one in use without an open reply being cut. `replica` is what
`serve.yaml` and `rayservice.yaml` import. `scaled`, for `scaled.yaml`, is one application with one URL, whose
replicas follow the calls of the gateways.

`python ray_llm.py CONFIG PORT COUNT` runs a Ray for this machine alone: SIGHUP replaces all replicas, one
after the other, SIGTERM ends it.
"""

# No annotations from the future: Ray makes the `args` of its configuration what the hint of `replica` or
# `scaled` says, where that is a class.
import signal
import sys
from pathlib import Path
from typing import Any

import ray
from pydantic import BaseModel
from ray import serve

from voiceagent.config.tables import load
from voiceagent.server.llm_replica import replica_app


class ReplicaArguments(BaseModel):
    """config: a configuration; of its tables only `[llm]` is used. version: another one replaces it.

    max_surge_percent: 100 starts the new one beside the old, which must find room; with 0 the old one ends
    first, and nobody answers at its URL meanwhile.
    """

    config: str
    version: str = "1"
    max_surge_percent: int = 100
    max_ongoing_requests: int = 64
    num_cpus: float = 0.5
    num_gpus: float = 0.0


class ScaledArguments(ReplicaArguments):
    """redis_url: that of the gateways. Replicas = ceil((calls + reserve_calls) / calls_a_replica)."""

    redis_url: str
    calls_a_replica: float
    reserve_calls: int = 10
    min_replicas: int = 1
    max_replicas: int
    upscale_delay_s: float = 5.0
    downscale_delay_s: float = 300.0


def replica(arguments: ReplicaArguments) -> serve.Application:
    """One replica, which ends 30 s after its last reply at the latest when it is replaced."""
    return _deployment(arguments, num_replicas=1)


def scaled(arguments: ScaledArguments) -> serve.Application:
    """As many as the calls want. Ray's router keeps a call at one by the header that gateways send."""
    policy = {
        "policy_function": "voiceagent.cluster.replica_scaling:ReplicasForCalls",
        "policy_kwargs": arguments.model_dump(include={"redis_url", "calls_a_replica", "reserve_calls"}),
    }
    limits = arguments.model_dump(
        include={"min_replicas", "max_replicas", "upscale_delay_s", "downscale_delay_s"}
    )
    router = "ray.serve.experimental.consistent_hash_router:ConsistentHashRouter"
    return _deployment(
        arguments,
        autoscaling_config=limits | {"policy": policy},
        request_router_config={"request_router_class": router},
    )


def _deployment(arguments: ReplicaArguments, **options: Any) -> serve.Application:
    def build() -> Any:
        return replica_app(load(Path(arguments.config)))

    @serve.ingress(build)
    class LlmReplica:
        """The engine of `[llm]` behind OpenAI's chat completions; one of another version takes its place."""

        def __init__(self, version: str) -> None:
            self.version = version

    deployment = serve.deployment(
        LlmReplica,
        name="LlmReplica",
        max_surge_percent=arguments.max_surge_percent,
        max_ongoing_requests=arguments.max_ongoing_requests,
        ray_actor_options={"num_cpus": arguments.num_cpus, "num_gpus": arguments.num_gpus},
        health_check_period_s=1,
        graceful_shutdown_timeout_s=30,
        **options,
    )
    return deployment.bind(arguments.version)


def main(config: str, port: str, count: str) -> None:
    """Run replicas at http://127.0.0.1:PORT/llm-0/v1, /llm-1/v1 and so on."""
    signals = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    serve.start(http_options={"host": "127.0.0.1", "port": int(port)})
    version = 1
    while True:
        for index in range(int(count)):
            arguments = ReplicaArguments(config=config, version=str(version))
            serve.run(replica(arguments), name=f"llm-{index}", route_prefix=f"/llm-{index}")
        print(f"{count} replicas of version {version} on http://127.0.0.1:{port}", flush=True)
        if signal.sigwait(signals) != signal.SIGHUP:
            break
        version += 1
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
