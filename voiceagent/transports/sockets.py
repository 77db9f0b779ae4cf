"""Listening sockets."""

from __future__ import annotations

import errno
import socket

from voiceagent.validation.errors import CommandFailed, reason_of

SEND_BUFFER_BYTES = 131_072
"""Kernel send buffer of a connection, after which data stays in the outbox: about two seconds of PCM."""
MAX_PORT = 65_535
SILENT_PEER_MS = 30_000
"""Time that sent data may stay unacknowledged before the connection is dropped."""


def listen(host: str, port: int, purpose: str = "") -> socket.socket:
    """Return a listening socket. Fails before engines are started if the port is in use.

    purpose: suffix of "cannot listen" in the error. Raise CommandFailed.
    """
    if not 0 <= port <= MAX_PORT:
        raise CommandFailed(f"cannot listen{purpose}: port is {port}; allowed: 1 to {MAX_PORT}, or 0 for any")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        free = f"take another one (--port {port + 1}, or server.port)" if not purpose else "take another one"
        taken = f"port {port} on {host} is in use; end the program that has it, or {free}"
        why = taken if error.errno == errno.EADDRINUSE else reason_of(error)
        raise CommandFailed(f"cannot listen{purpose} on {host}:{port}: {why}") from error
    # Connections inherit these options. A small send buffer: a client that stops reading fills the bounded
    # outbox, not megabytes in the kernel. TCP_NODELAY: audio frames are sent without waiting for more data.
    # TCP_USER_TIMEOUT: dead networks are detected.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_PEER_MS)
    return listening
