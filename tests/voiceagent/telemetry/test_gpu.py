"""The GPUs' figures, from an NVML that a test makes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from prometheus_client import CollectorRegistry

from voiceagent.telemetry.gpu import register_gpu_metrics


class NvmlError(Exception):
    """Error of NVML."""


class MadeNvml:
    """GPUs as they are given: per cent busy, and bytes taken of how many; None for one that is lost."""

    NVMLError = NvmlError

    def __init__(self, *gpus: tuple[int, int, int] | None, driver: bool = True) -> None:
        self.gpus = gpus
        self.driver = driver

    def nvmlInit(self) -> None:
        if not self.driver:
            raise NvmlError("Driver Not Loaded")

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return SimpleNamespace(gpu=self._gpu(handle)[0], memory=0)

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        _, used, total = self._gpu(handle)
        return SimpleNamespace(used=used, total=total, free=total - used)

    def _gpu(self, handle: int) -> tuple[int, int, int]:
        gpu = self.gpus[handle]
        if gpu is None:
            raise NvmlError("GPU is lost")
        return gpu


def test_each_gpu_tells_how_busy_and_how_full_it_is() -> None:
    registry = CollectorRegistry()
    assert register_gpu_metrics(registry, MadeNvml((40, 30, 120), (100, 60, 80))) == 2
    value = registry.get_sample_value
    assert value("voiceagent_gpu_utilization", {"gpu": "0"}) == 0.4
    assert value("voiceagent_gpu_memory_usage", {"gpu": "1"}) == 0.75


def test_one_that_is_lost_is_left_out() -> None:
    registry = CollectorRegistry()
    register_gpu_metrics(registry, MadeNvml(None, (100, 60, 80)))
    assert registry.get_sample_value("voiceagent_gpu_utilization", {"gpu": "0"}) is None
    assert registry.get_sample_value("voiceagent_gpu_utilization", {"gpu": "1"}) == 1.0


def test_without_a_driver_or_a_gpu_nothing_is_shown() -> None:
    for nvml in (MadeNvml((1, 1, 1), driver=False), MadeNvml()):
        registry = CollectorRegistry()
        assert register_gpu_metrics(registry, nvml) == 0
        assert list(registry.collect()) == []
