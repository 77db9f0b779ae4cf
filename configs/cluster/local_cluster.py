"""A whole cluster on this machine: a Redis, replicas of the LLM, gateways. `make cluster` runs it.

Replicas run on Ray Serve where it is installed, else each in a process of its own (`voiceagent llm`):
gateways see no difference. What is started has its log in the cluster's folder.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
START_S = 180.0
VOICEAGENT = "from voiceagent.cli.main import main; raise SystemExit(main())"


class LocalCluster:
    """Its processes, by name: redis, llm (Ray) or llm-0, llm-1, ..., gateway-0, gateway-1, ...

    folder: for its files. port: the first of eight free ones. gateway, replica: their configurations; the
    former's URLs of Redis and replicas are replaced by this cluster's. ray: whether replicas are on Ray
    Serve.
    """

    def __init__(
        self,
        folder: Path,
        port: int = 8081,
        gateway: Path = HERE / "gateway.toml",
        replica: Path = ROOT / "configs/demo.toml",
        replicas: int = 2,
        ray: bool = False,
    ) -> None:
        self.folder, self._port, self._replica, self._ray = folder, port, replica, ray
        self._replicas = replicas
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        urls = [self.replica_url(index) + "/v1" for index in range(replicas)]
        text = gateway.read_text().replace("redis://127.0.0.1:6390/0", self.redis_url)
        for index, url in enumerate(urls):
            text = text.replace(f"http://127.0.0.1:8100/llm-{index}/v1", url)
        self._gateway = folder / "gateway.toml"
        self._gateway.write_text(text)

    @property
    def redis_url(self) -> str:
        return f"redis://127.0.0.1:{self._port + 4}/0"

    def replica_url(self, index: int) -> str:
        """Of a replica, without /v1."""
        first = self._port + 5
        return f"http://127.0.0.1:{first}/llm-{index}" if self._ray else f"http://127.0.0.1:{first + index}"

    def gateway_address(self, index: int) -> str:
        """Host and port of a gateway."""
        return f"127.0.0.1:{self._port + index}"

    def start_redis(self) -> None:
        """Start Redis. Raises FileNotFoundError if there is no redis-server."""
        program = shutil.which("redis-server")
        if program is None:
            raise FileNotFoundError("redis-server is not installed: apt-get install redis-server")
        options = ("--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--dir", str(self.folder))
        self._start(
            "redis", [program, "--port", str(self._port + 4), *options], "Ready to accept connections"
        )

    def start_llm(self, index: int = 0) -> None:
        """One replica; on Ray all of them."""
        first = self._port + 5
        if self._ray:
            command: list[str | Path] = [
                sys.executable,
                HERE / "ray_llm.py",
                self._replica,
                str(first),
                str(self._replicas),
            ]
            self._start("llm", command, "replicas of version 1")
        else:
            options = ("llm", "--config", self._replica, "--port", str(first + index))
            self._start(f"llm-{index}", [sys.executable, "-c", VOICEAGENT, *options], "voiceagent llm on")

    def start_gateway(self, index: int, config: Path | None = None) -> None:
        """Start one gateway. config: its own configuration, in place of the one that all share."""
        options = ("serve", "--config", config or self._gateway, "--port", str(self._port + index))
        url = {"GATEWAY_URL": f"http://{self.gateway_address(index)}"}
        command: list[str | Path] = [sys.executable, "-c", VOICEAGENT, *options]
        self._start(f"gateway-{index}", command, " on http://", url)

    def start(self, gateways: int = 2) -> None:
        """Start everything, gateways last."""
        self.start_redis()
        for index in range(1 if self._ray else self._replicas):
            self.start_llm(index)
        for index in range(gateways):
            self.start_gateway(index)

    def stop(self) -> None:
        """End everything, gateways first; open calls are ended."""
        for name in sorted(self.processes):  # gateways, llm, redis
            self.end(name)

    def end(self, name: str, number: int = signal.SIGTERM) -> None:
        """Send a signal, a second SIGTERM where one is not enough, and wait for the end."""
        process = self.processes.pop(name)
        process.send_signal(number)
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            process.wait(60.0)

    def log(self, name: str) -> str:
        """All that a process has written."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _start(
        self, name: str, command: list[str | Path], ready: str, more: dict[str, str] | None = None
    ) -> None:
        """Start a process, and wait until it says that it is ready. Raises RuntimeError."""
        path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path), "RAY_USAGE_STATS_ENABLED": "0"}
        with (self.folder / f"{name}.log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment | (more or {}))
        self.processes[name] = process
        until_s = time.monotonic() + START_S
        while ready not in self.log(name):
            if process.poll() is not None or time.monotonic() > until_s:
                raise RuntimeError(f"{name} did not start:\n{self.log(name)[-2000:]}")
            time.sleep(0.1)


def main() -> None:
    """Run one until Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    on_ray = importlib.util.find_spec("ray") is not None
    with tempfile.TemporaryDirectory(prefix="cluster") as folder:
        cluster = LocalCluster(Path(folder), ray=on_ray)
        try:
            cluster.start()
            gateways = ", ".join(f"http://{cluster.gateway_address(index)}" for index in range(2))
            print(
                f"gateways {gateways}; replicas {'on Ray Serve' if on_ray else 'in processes'}; logs {folder}"
            )
            signal.pause()
        except KeyboardInterrupt:
            pass
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
