"""Metrics of this machine's GPUs by NVIDIA's library (NVML), if it and nvidia-ml-py are installed.

The functions are those of https://docs.nvidia.com/deploy/nvml-api (device queries) under the package's names.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from voiceagent.telemetry.metric_table import gauge_family

log = structlog.get_logger()


class Nvml(Protocol):
    """The used part of `pynvml`. Its functions raise NVMLError."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None:
        """Load the driver."""

    def nvmlDeviceGetCount(self) -> int:
        """Return the number of GPUs."""
        ...

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        """Return the handle of a GPU for the other functions."""

    def nvmlDeviceGetUtilizationRates(self, handle: Any) -> Any:
        """Return an object with `gpu`: percentage of the last sample period in which it computed."""

    def nvmlDeviceGetMemoryInfo(self, handle: Any) -> Any:
        """Return an object with `used` and `total`, in bytes."""


class GpuCollector:
    """Prometheus collector that queries the GPUs at each scrape: some tens of microseconds each."""

    def __init__(self, nvml: Nvml, count: int) -> None:
        self._nvml = nvml
        self._handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]

    def collect(self) -> Iterator[Metric]:
        """Yield utilization and memory use; a GPU whose query fails is left out."""
        busy = gauge_family("gpu_utilization")
        full = gauge_family("gpu_memory_usage")
        for index, handle in enumerate(self._handles):
            try:
                utilization = self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
                memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
            except self._nvml.NVMLError as error:
                log.debug("gpu_unreadable", gpu=index, reason=str(error))
                continue
            busy.add_metric((str(index),), utilization)
            full.add_metric((str(index),), memory.used / memory.total)
        yield busy
        yield full


def register_gpu_metrics(registry: CollectorRegistry, nvml: Nvml | None = None) -> int:
    """Register metrics for this machine's GPUs. Return their number, 0 if NVML is missing.

    nvml: defaults to nvidia-ml-py, if installed.
    """
    if nvml is None:
        try:
            nvml = import_module("pynvml")
        except ImportError:
            return 0
    try:
        nvml.nvmlInit()
        count = nvml.nvmlDeviceGetCount()
        collector = GpuCollector(nvml, count)
    except nvml.NVMLError as error:  # no driver, or no GPU
        log.debug("no_gpu", reason=str(error))
        return 0
    if count:
        registry.register(collector)
    return count
