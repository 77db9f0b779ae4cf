"""What holds for all tests."""

import inspect

import pytest
from hypothesis import settings

# Machines are shared and noisy: how long an example takes says nothing about the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests run side by side, but those of vLLM where its one engine is.

    What runs on an event loop depends on when a shared machine lets it: such a test is tried once more when
    it fails, and the summary names it.
    """
    for item in items:
        if _needs_vllm(item):
            item.add_marker(pytest.mark.xdist_group("vllm"))
        if inspect.iscoroutinefunction(getattr(item, "function", None)):
            item.add_marker(pytest.mark.flaky(reruns=1))


def _needs_vllm(item: pytest.Item) -> bool:
    chosen = getattr(getattr(item, "callspec", None), "params", {}).values()
    return "vllm" in getattr(item, "fixturenames", ()) or any(
        isinstance(one, str) and one == "vllm" for one in chosen
    )
