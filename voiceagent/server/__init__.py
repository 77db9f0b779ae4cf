"""The server's process: from a configuration to the last call's end."""
