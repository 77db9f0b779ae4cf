"""A real Asterisk as a process of the test, with a phone that is a dialplan of its own.

`VOICEAGENT_ASTERISK` names the program where it is not in the PATH. Calls go through channels of kind Local:
one half is the phone, the other dials the agent. That needs no SIP.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL

import httpx
import pytest

PATIENCE_S = 30.0
PASSWORD = "made-for-tests"

_HTTP = """[general]
enabled = yes
bindaddr = 127.0.0.1
bindport = {port}
"""
_ARI = """[general]
enabled = yes
[voiceagent]
type = user
password = {password}
"""
_CLIENT = """[agent]
type = websocket_client
connection_type = per_call_config
uri = {url}
protocols = media
username = asterisk
password = {password}
connection_timeout = 5000
reconnect_attempts = 1
tls_enabled = no
"""
_MAIN = """[directories]
astetcdir => {folder}
astmoddir => {modules}
astvarlibdir => {folder}
astdbdir => {folder}
astkeydir => {folder}
astdatadir => {folder}
astagidir => {folder}
astspooldir => {folder}
astrundir => {folder}
astlogdir => {folder}
[options]
verbose = 3
"""


class Asterisk:
    """A running Asterisk. url: base of its ARI. folder: its files, and the recordings."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self._ari = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}/ari", auth=("voiceagent", PASSWORD), timeout=5.0
        )

    async def call(self, phone: str, dials: str) -> str:
        """Let a phone, an extension of its dialplan, call another extension. Return the channel's id."""
        endpoint = f"Local/{phone}@phones/n"
        wanted = {"endpoint": endpoint, "context": "agents", "extension": dials, "priority": 1}
        answer = await self._ari.post("/channels", json=wanted)
        answer.raise_for_status()
        return str(answer.json()["id"])

    async def channels(self) -> list[str]:
        """Return the names of all channels."""
        return [channel["name"] for channel in (await self._ari.get("/channels")).json()]

    async def until_idle(self) -> None:
        """Wait until no call is left."""
        async with asyncio.timeout(PATIENCE_S):
            while await self.channels():  # noqa: ASYNC110  over HTTP there is no event for it
                await asyncio.sleep(0.1)

    async def answers(self) -> bool:
        """Return True once its ARI does."""
        try:
            return (await self._ari.get("/asterisk/ping")).status_code == 200
        except httpx.TransportError:
            return False

    async def close(self) -> None:
        """Close the connections to it."""
        await self._ari.aclose()


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def asterisk(folder: Path, url: str, dialplan: str, port: int | None = None) -> AsyncIterator[Asterisk]:
    """Run Asterisk with a connection `agent` to this URL. dialplan: text of extensions.conf, with the
    contexts `phones` and `agents`. port: of its HTTP server.
    """
    program = shutil.which(os.environ.get("VOICEAGENT_ASTERISK", "asterisk"))
    if program is None:
        pytest.skip("asterisk is not installed, and VOICEAGENT_ASTERISK does not name it")
    port = port or free_port()
    files = {
        "asterisk.conf": _MAIN.format(folder=folder, modules=_modules(Path(program))),
        "modules.conf": "[modules]\nautoload = yes\n",
        "logger.conf": "[general]\n[logfiles]\nmessages.log => notice,warning,error,verbose\n",
        "http.conf": _HTTP.format(port=port),
        "ari.conf": _ARI.format(password=PASSWORD),
        "websocket_client.conf": _CLIENT.format(url=url, password=PASSWORD),
        "extensions.conf": dialplan,
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    server = Asterisk(folder, port)
    process = await asyncio.create_subprocess_exec(
        *(program, "-f", "-C", str(folder / "asterisk.conf")), stdout=DEVNULL, stderr=DEVNULL
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await server.answers():
                assert process.returncode is None, "asterisk did not start"
                await asyncio.sleep(0.1)
        yield server
    finally:
        await server.close()
        process.terminate()
        await process.wait()


def _modules(program: Path) -> Path:
    """Return the folder of an installation's modules: of its own prefix, or the distribution's."""
    own = program.resolve().parent.parent / "lib" / "asterisk" / "modules"
    return own if own.is_dir() else Path("/usr/lib/asterisk/modules")
