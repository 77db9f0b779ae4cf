"""The GPUs of this machine, by NVIDIA's library (NVML), where it and nvidia-ml-py are there, for Prometheus.

The functions are those of https://docs.nvidia.com/deploy/nvml-api (device queries) under the package's names.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric

log = structlog.get_logger()


class Nvml(Protocol):
    """The part of `pynvml` that is used. What its functions raise is its own NVMLError."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None:
        """Reach the driver."""

    def nvmlDeviceGetCount(self) -> int:
        """How many GPUs there are."""
        ...

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        """What stands for a GPU in the other functions."""

    def nvmlDeviceGetUtilizationRates(self, handle: Any) -> Any:
        """Gives `gpu`: in how many per cent of the last moments it computed."""

    def nvmlDeviceGetMemoryInfo(self, handle: Any) -> Any:
        """Gives `used` and `total`, in bytes."""


class GpuCollector:
    """Asks for the GPUs' figures whenever the page is read: some tens of microseconds each."""

    def __init__(self, nvml: Nvml, count: int) -> None:
        self._nvml = nvml
        self._handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]

    def collect(self) -> Iterator[Metric]:
        """How busy and how full each is; one that does not answer is left out."""
        busy = GaugeMetricFamily(
            "voiceagent_gpu_utilization",
            "Part of the last moments in which the GPU computed, 0 to 1.",
            labels=("gpu",),
        )
        full = GaugeMetricFamily(
            "voiceagent_gpu_memory_usage", "Part of the GPU's memory that is taken, 0 to 1.", labels=("gpu",)
        )
        for index, handle in enumerate(self._handles):
            try:
                utilization = self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
                memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
            except self._nvml.NVMLError as error:
                log.debug("gpu_silent", gpu=index, reason=str(error))
                continue
            busy.add_metric((str(index),), utilization)
            full.add_metric((str(index),), memory.used / memory.total)
        yield busy
        yield full


def watch_gpus(registry: CollectorRegistry, nvml: Nvml | None = None) -> int:
    """Show the GPUs of this machine from now on; how many there are, 0 where nothing can tell.

    nvml: left out, that of nvidia-ml-py, if it is installed.
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
