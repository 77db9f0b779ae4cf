"""One call: its events, its decisions, its transports."""

from importlib.metadata import version

__version__ = version("voiceagent-server")
