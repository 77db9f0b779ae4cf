"""The I/O of one call: executes the conversation's commands, from the caller's audio to the agent's."""
