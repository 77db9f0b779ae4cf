"""The sockets that calls arrive at."""

from __future__ import annotations

import errno
import socket

from voiceagent.validation.errors import CommandFailed

SEND_BUFFER_BYTES = 131_072
"""What the kernel takes for a connection before ours must wait: about two seconds of PCM."""
SILENT_PEER_MS = 30_000
"""How long sent data may stay unacknowledged before a connection counts as gone."""


def listen(host: str, port: int, purpose: str = "") -> socket.socket:
    """A socket on the address; a port in use is known before any engine starts.

    purpose: what stands in the error behind "cannot listen". Raises CommandFailed.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        taken = f"port {port} on {host} is in use; end the program that has it, or choose another port"
        why = taken if error.errno == errno.EADDRINUSE else str(error)
        raise CommandFailed(f"cannot listen{purpose} on {host}:{port}: {why}") from error
    # Connections inherit these: a client that stops reading is to fill our bounded queue, not megabytes in
    # the kernel; one whose network is gone is to be given up; and sound is not to wait for more of it.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_PEER_MS)
    return listening
