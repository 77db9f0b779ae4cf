"""How a command of the command line fails."""


class CommandFailed(Exception):
    """The command could not do what it was asked for; one line that says why."""
